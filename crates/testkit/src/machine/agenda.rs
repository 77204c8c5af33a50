//! What is yet to happen, in the order of time.

use super::attempt::Reply;
use convoke_engine::{RequestNo, What};
use convoke_model::Timestamp;
use convoke_schedule::TaskIx;
use std::collections::BTreeMap;

/// One process: the run that it drives, and how many drove it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Life {
    pub run: usize,
    pub number: u32,
}

/// What is yet to happen.
#[derive(Debug)]
pub(super) enum Happening {
    /// In a process, if it lives then.
    In(Life, Step),
    /// The service counts what a call uses.
    Counts(u64),
    /// The service has answered a call.
    Answers(u64),
    /// The process that drives a run is killed.
    Kill(usize),
    /// It is stopped for so many microseconds.
    Stop(usize, u64),
    /// It is told to let go of the run.
    Interrupt(usize),
    /// A new process takes a run up.
    Resume(usize),
    /// The table finds that a process is gone.
    Reclaim(Life),
    /// Time alone may let the table grant something.
    Moment,
}

/// What happens in a process. A process that is stopped does it when it goes on.
#[derive(Debug)]
pub(super) enum Step {
    Hears(What),
    /// Something may be due, though nothing was heard.
    Wakes,
    /// The turn that is under way is on disk.
    Committed,
    /// An attempt goes on: with its next call, or to its end.
    GoesOn(TaskIx, u32),
    /// An attempt that may make a call sends it.
    Sends(TaskIx, u32),
    /// The answer of the service reaches an attempt.
    Gets(TaskIx, u32, u64, Reply),
    /// The process looks at a lease that it was given.
    Fetches(RequestNo, u64),
    /// Time for a heartbeat.
    Beats,
    /// It looks at what others have learned.
    Looks,
    /// Attempts that have not ended since the process was told to let go are stopped.
    Grace,
}

#[derive(Debug, Default)]
pub(super) struct Agenda {
    order: u64,
    due: BTreeMap<(Timestamp, u64), Happening>,
    /// Heartbeats, apart from what happens for a reason.
    beats: BTreeMap<(Timestamp, u64), Happening>,
}

impl Agenda {
    /// Among things of one moment the first that was noted comes first.
    pub fn at(&mut self, at: Timestamp, what: Happening) {
        self.order += 1;
        let due = match what {
            Happening::In(_, Step::Beats) => &mut self.beats,
            _ => &mut self.due,
        };
        due.insert((at, self.order), what);
    }

    pub fn next(&mut self) -> Option<(Timestamp, Happening)> {
        let first = |due: &BTreeMap<(Timestamp, u64), _>| due.first_key_value().map(|(key, _)| *key);
        let due = match (first(&self.due), first(&self.beats)) {
            (Some(other), Some(beat)) if beat < other => &mut self.beats,
            (None, Some(_)) => &mut self.beats,
            _ => &mut self.due,
        };
        due.pop_first().map(|((at, _), what)| (at, what))
    }

    /// When the next thing happens that is no heartbeat.
    pub fn next_besides_beats(&self) -> Option<Timestamp> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }
}
