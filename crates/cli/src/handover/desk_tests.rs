//! Every order in which claims are won, lost and presented, an owner gives up and thieves begin.

use super::*;
use stateright::{Checker, Model, Property};

/// Thieves that may claim.
const THIEVES: usize = 3;

/// Claims that are ever made, so that there are finitely many states.
const FENCES: u64 = 4;

struct HandOver;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    desk: Desk,
    /// The claim that the table shows: whose, and its fence.
    claim: Option<(usize, u64)>,
    fences: u64,
    thieves: [Thief; THIEVES],
    /// Performed by the owner.
    here: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Thief {
    Idle,
    /// Has won this claim, which may be void by now, and says that it is ready.
    Ready(u64),
    /// Was told to begin; the word is on its way or the attempt runs, even if the thief was given up on.
    Begun,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    Claim(usize),
    /// The claim goes back on offer: its thief died, let go of it, or is taken for dead by others.
    Revert,
    /// The owner hears that a thief is ready, perhaps late.
    Present(usize),
    /// The owner's patience is over.
    Keep,
}

impl Model for HandOver {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let thieves = [Thief::Idle; THIEVES];
        vec![State { desk: Desk::default(), claim: None, fences: 0, thieves, here: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        if state.claim.is_some() {
            actions.push(Step::Revert);
        } else if state.fences < FENCES {
            actions.extend((0..THIEVES).map(Step::Claim));
        }
        actions.extend((0..THIEVES).map(Step::Present));
        actions.push(Step::Keep);
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut state = before.clone();
        match step {
            Step::Claim(thief) if state.thieves[thief] != Thief::Begun => {
                state.fences += 1;
                state.claim = Some((thief, state.fences));
                state.thieves[thief] = Thief::Ready(state.fences);
            }
            Step::Revert => state.claim = None,
            Step::Present(thief) => {
                let Thief::Ready(fence) = state.thieves[thief] else { return None };
                let held = state.claim.map(|(_, fence)| fence);
                state.thieves[thief] = if state.desk.give(fence, held) { Thief::Begun } else { Thief::Idle };
            }
            Step::Keep => state.here |= state.desk.keep(),
            Step::Claim(_) => return None,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn once(_: &HandOver, state: &State) -> bool {
            let begun = state.thieves.iter().filter(|thief| **thief == Thief::Begun).count();
            begun + usize::from(state.here) <= 1
        }
        fn elsewhere(_: &HandOver, state: &State) -> bool {
            state.thieves.contains(&Thief::Begun)
        }
        fn here(_: &HandOver, state: &State) -> bool {
            state.here
        }
        vec![
            Property::always("it is performed once at most", once),
            Property::sometimes("another process performs it", elsewhere),
            Property::sometimes("the owner performs it", here),
        ]
    }
}

#[test]
fn an_attempt_is_performed_here_or_there_and_never_twice() {
    HandOver.checker().spawn_bfs().join().assert_properties();
}
