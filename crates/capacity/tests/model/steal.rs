//! One offer: an owner, claimants, and processes that look for the dead. Each reads the word, and swaps it later if it is still
//! the same.

use stateright::{Model, Property};

#[derive(Clone, Debug)]
pub struct Steal {
    /// The first is the owner.
    pub processes: usize,
    pub kills: u8,
    pub revokes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Free,
    Offered,
    Claimed,
    Finished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Word {
    phase: Phase,
    who: usize,
    version: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    Claim,
    Finish,
    GiveBack,
    TakeBack,
    Revoke,
    Revert,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    alive: bool,
    /// What it is about to swap the word it has seen for.
    about: Option<(Change, Word)>,
    /// The word of its claim.
    claim: Option<Word>,
    /// It was told that its claim was finished.
    finished: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    word: Word,
    processes: Vec<Process>,
    kills: u8,
    revokes: u8,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Read(usize, Change),
    Swap(usize),
    Kill(usize),
}

impl Word {
    fn next(self, phase: Phase, who: usize) -> Self {
        Self { phase, who, version: self.version + 1 }
    }
}

impl World {
    /// Whether a process may try a change, given the word it sees now.
    fn may(&self, model: &Steal, index: usize, change: Change) -> bool {
        let dead = |who: usize| !self.processes[who].alive;
        let word = self.word;
        match change {
            Change::Claim => index != 0 && word.phase == Phase::Offered,
            Change::Finish | Change::GiveBack => self.processes[index].claim.is_some(),
            Change::TakeBack => {
                index == 0
                    && (word.phase == Phase::Offered || (word.phase == Phase::Claimed && dead(word.who)))
            }
            Change::Revoke => index == 0 && word.phase == Phase::Claimed && self.revokes < model.revokes,
            Change::Revert => word.phase == Phase::Claimed && dead(word.who),
        }
    }

    fn swap(&mut self, index: usize) {
        let (change, seen) = self.processes[index].about.take().expect("it has read the word");
        let to = match change {
            Change::Claim => seen.next(Phase::Claimed, index),
            Change::Finish => seen.next(Phase::Finished, index),
            Change::GiveBack | Change::Revert => seen.next(Phase::Offered, index),
            Change::TakeBack | Change::Revoke => seen.next(Phase::Free, index),
        };
        let swapped = self.word == seen;
        if swapped {
            self.word = to;
            self.revokes += u8::from(change == Change::Revoke);
        }
        let process = &mut self.processes[index];
        match change {
            Change::Claim if swapped => process.claim = Some(to),
            Change::Finish => (process.claim, process.finished) = (None, process.finished || swapped),
            Change::GiveBack => process.claim = None,
            _ => {}
        }
    }

    /// Live processes whose claim holds, as `holds` would say.
    fn holders(&self) -> usize {
        self.processes.iter().filter(|process| process.alive && process.claim == Some(self.word)).count()
    }
}

impl Model for Steal {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let process = Process { alive: true, about: None, claim: None, finished: false };
        let word = Word { phase: Phase::Offered, who: 0, version: 0 };
        vec![World { word, processes: vec![process; self.processes], kills: 0, revokes: 0 }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        const CHANGES: [Change; 6] = [
            Change::Claim,
            Change::Finish,
            Change::GiveBack,
            Change::TakeBack,
            Change::Revoke,
            Change::Revert,
        ];
        for (index, process) in world.processes.iter().enumerate().filter(|(_, process)| process.alive) {
            if world.kills < self.kills && index != 0 {
                actions.push(Action::Kill(index));
            }
            match process.about {
                Some(_) => actions.push(Action::Swap(index)),
                None => actions.extend(
                    CHANGES.iter().filter(|c| world.may(self, index, **c)).map(|c| Action::Read(index, *c)),
                ),
            }
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Read(index, change) => {
                let claim = world.processes[index].claim;
                // A claim is finished or given back against its own word, not against whatever is there now.
                let own = matches!(change, Change::Finish | Change::GiveBack);
                let seen = if own { claim? } else { world.word };
                world.processes[index].about = Some((change, seen));
            }
            Action::Swap(index) => world.swap(index),
            Action::Kill(index) => {
                world.kills += 1;
                world.processes[index] = Process {
                    alive: false,
                    about: None,
                    claim: None,
                    finished: world.processes[index].finished,
                };
            }
        }
        Some(world).filter(|world| world.word.version < 8)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one claim holds at a time", |_: &Self, world: &World| world.holders() <= 1),
            Property::always("finished once", |_: &Self, world: &World| {
                world.processes.iter().filter(|process| process.finished).count() <= 1
            }),
            Property::always("taken back is not finished", |_: &Self, world: &World| {
                world.word.phase != Phase::Free || world.processes.iter().all(|process| !process.finished)
            }),
            Property::always("whoever finished is who the word says", |_: &Self, world: &World| {
                world.word.phase != Phase::Finished
                    || world.processes[world.word.who].finished
                    || !world.processes[world.word.who].alive
            }),
            Property::sometimes("a dead claimant's claim is claimed again", |_: &Self, world: &World| {
                let dead = world.processes.iter().any(|process| !process.alive);
                dead && world.word.phase == Phase::Claimed && world.word.version >= 3 && world.holders() == 1
            }),
            Property::sometimes("a revoked claimant finds out", |_: &Self, world: &World| {
                world.revokes > 0
                    && world
                        .processes
                        .iter()
                        .any(|process| process.claim.is_some() && process.claim != Some(world.word))
            }),
        ]
    }
}
