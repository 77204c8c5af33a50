//! Every order in which claims are won, lost and presented, the owner stops waiting and claimants begin.

use super::*;
use stateright::{Checker, Model, Property};

/// Processes that may claim.
const CLAIMANTS: usize = 3;

/// Claims that are ever made, so that there are finitely many states.
const FENCES: u64 = 4;

struct HandOver;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    offer: ClaimState,
    /// The claim in the table: the claimant, and its fence.
    claim: Option<(usize, u64)>,
    fences: u64,
    claimants: [Claimant; CLAIMANTS],
    /// Performed by the owner.
    here: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Claimant {
    Idle,
    /// Has won this claim, which may be void by now, and says that it is ready.
    Ready(u64),
    /// Was told to begin: `Go` is on its way or the attempt runs, even if the owner has given the claimant up.
    Begun,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    Claim(usize),
    /// The claim goes back on offer: its claimant died, gave it back, or is taken for dead by others.
    Revert,
    /// The owner receives `Ready`, perhaps late.
    Present(usize),
    /// The owner stops waiting.
    Keep,
}

impl Model for HandOver {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let claimants = [Claimant::Idle; CLAIMANTS];
        vec![State { offer: ClaimState::default(), claim: None, fences: 0, claimants, here: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        if state.claim.is_some() {
            actions.push(Step::Revert);
        } else if state.fences < FENCES {
            actions.extend((0..CLAIMANTS).map(Step::Claim));
        }
        actions.extend((0..CLAIMANTS).map(Step::Present));
        actions.push(Step::Keep);
    }

    fn next_state(&self, before: &State, step: Step) -> Option<State> {
        let mut state = before.clone();
        match step {
            Step::Claim(claimant) if state.claimants[claimant] != Claimant::Begun => {
                state.fences += 1;
                state.claim = Some((claimant, state.fences));
                state.claimants[claimant] = Claimant::Ready(state.fences);
            }
            Step::Revert => state.claim = None,
            Step::Present(claimant) => {
                let Claimant::Ready(fence) = state.claimants[claimant] else { return None };
                let held = state.claim.map(|(_, fence)| fence);
                state.claimants[claimant] =
                    if state.offer.grant(fence, held) { Claimant::Begun } else { Claimant::Idle };
            }
            Step::Keep => state.here |= state.offer.keep(),
            Step::Claim(_) => return None,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn once(_: &HandOver, state: &State) -> bool {
            let begun = state.claimants.iter().filter(|claimant| **claimant == Claimant::Begun).count();
            begun + usize::from(state.here) <= 1
        }
        fn elsewhere(_: &HandOver, state: &State) -> bool {
            state.claimants.contains(&Claimant::Begun)
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
