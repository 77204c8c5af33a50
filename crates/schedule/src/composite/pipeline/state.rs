//! What a pipeline knows: flags, metadata, what was announced, and how far each of its phases has come. A fold of events.

use crate::state::TaskIx;
use convoke_model::hash::HashMap;
use convoke_model::{Class, Failure, Payload};
use convoke_plan::follows_from;
use indexmap::IndexMap;
use serde_json::Value;

/// What one workflow keeps for its later phases.
#[derive(Debug, Default)]
pub(crate) struct PipelineState {
    pub flags: IndexMap<String, bool>,
    pub metadata: IndexMap<String, Value>,
    /// Children whose answers have changed the project.
    pub patched: Vec<TaskIx>,
    /// Everything that was announced, in order.
    history: Vec<Announcement>,
    /// Where in it each phase has its own; long pipelines are asked this once for each phase.
    by_task: HashMap<TaskIx, Vec<usize>>,
    /// The kinds that have happened, and how often.
    kinds: HashMap<String, u32>,
    /// Hard failures in a row, up to now.
    pub hard: u32,
    /// The phases whose failure was one too many in a row, and how many these were.
    too_many: Vec<(TaskIx, u32)>,
}

/// Something that a phase announced.
#[derive(Debug, Clone)]
pub(crate) struct Announcement {
    pub task: TaskIx,
    /// In which of its tries.
    pub attempt: u32,
    pub kind: String,
    pub payload: Payload,
    /// It followed from a failure that its phase has got new tries for: it is told, and nothing follows from it.
    pub made_good: bool,
}

/// How far a phase has come, besides its children.
#[derive(Debug, Default)]
pub(crate) struct PhaseState {
    /// Where the edges come from that were taken, once it was decided that it starts.
    pub started: Option<Vec<TaskIx>>,
    /// Why it started, or why it does not.
    pub because: String,
    /// It was decided that it does not.
    pub skipped: bool,
    /// Files that were looked for, and whether they exist.
    pub files: IndexMap<String, bool>,
    /// Tries of before it had failed and was opened again; they no longer count against the limit.
    pub earlier: u32,
    /// What is recorded already of what its newest children came to.
    pub recorded: Recorded,
}

/// How the children of a phase stood when it was last looked at. No event says it, and a state without it comes to the
/// same: it only tells where nothing can have changed.
#[derive(Debug, Default)]
pub(crate) struct OpenWork {
    /// By the task that has handed work out, how many tasks below it have not ended.
    pub open: HashMap<TaskIx, u32>,
    /// A child has failed, and the others are being stopped: nothing is decided before they are.
    pub failing: bool,
}

/// What is recorded of an answer, so that a crash in the middle neither loses nor repeats anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub changed: bool,
    pub announced: usize,
    pub patched: bool,
}

impl PipelineState {
    pub fn flag(&self, key: &str) -> bool {
        self.flags.get(key).copied().unwrap_or(false)
    }

    pub fn happened(&self, kind: &str) -> bool {
        self.kinds.contains_key(kind)
    }

    /// Every kind that has happened, as often as it has, in order.
    pub fn happenings(&self) -> impl Iterator<Item = &str> {
        self.history.iter().filter(|said| !said.made_good).map(|said| said.kind.as_str())
    }

    /// Whether a phase has announced this.
    pub fn has_said(&self, task: TaskIx, kind: &str) -> bool {
        self.said_by(task).any(|said| said.kind == kind && !said.made_good)
    }

    pub fn history(&self) -> &[Announcement] {
        &self.history
    }

    pub fn said_by(&self, task: TaskIx) -> impl Iterator<Item = &Announcement> {
        self.by_task.get(&task).into_iter().flatten().map(|at| &self.history[*at])
    }

    pub fn announce(&mut self, said: Announcement) {
        self.by_task.entry(said.task).or_default().push(self.history.len());
        match self.kinds.get_mut(&said.kind) {
            Some(often) => *often += 1,
            None => drop(self.kinds.insert(said.kind.clone(), 1)),
        }
        self.history.push(said);
    }

    /// A phase gets new tries: what followed from how the earlier ones ended no longer counts. What they said themselves does.
    pub fn make_good(&mut self, task: TaskIx) {
        for at in self.by_task.get(&task).into_iter().flatten() {
            let said = &mut self.history[*at];
            if said.made_good || follows_from(&said.kind).is_none() {
                continue;
            }
            said.made_good = true;
            match self.kinds.get_mut(&said.kind) {
                Some(often) if *often > 1 => *often -= 1,
                _ => drop(self.kinds.remove(&said.kind)),
            }
        }
    }

    /// Null takes a value away.
    pub fn change(&mut self, flags: &IndexMap<String, bool>, metadata: &IndexMap<String, Value>) {
        self.flags.extend(flags.iter().map(|(key, value)| (key.clone(), *value)));
        for (key, value) in metadata {
            match value {
                Value::Null => drop(self.metadata.shift_remove(key)),
                value => drop(self.metadata.insert(key.clone(), value.clone())),
            }
        }
    }

    /// Counts hard failures in a row where they end: others may end in the same turn, before a decider runs.
    pub fn count_end(&mut self, task: TaskIx, failure: Option<&Failure>, limit: u32) {
        self.hard = if failure.is_some_and(is_hard) { self.hard + 1 } else { 0 };
        if limit > 0 && self.hard >= limit {
            self.too_many.push((task, self.hard));
        }
    }

    /// How many hard failures in a row a phase's failure was the last of, if these were too many.
    pub fn too_many(&self, task: TaskIx) -> Option<u32> {
        self.too_many.iter().rev().find(|(last, _)| *last == task).map(|(_, hard)| *hard)
    }
}

/// Finer words of failures in pipelines.
pub(crate) mod reason {
    /// What a phase gave was not accepted, and it has no further try.
    pub const VALIDATION_FAIL: &str = "validation_fail";
    /// The worker says that it failed, and that nothing can be done about it.
    pub const HARD: &str = "hard_failure";
    /// The worker says that it failed.
    pub const SOFT: &str = "soft_failure";
    /// The worker was stopped, and the phase was not.
    pub const STOPPED: &str = "stopped";
    /// Too many hard failures in a row.
    pub const TOO_MANY_HARD: &str = "hard_failures";
    /// The pipeline as a whole did not succeed.
    pub const PIPELINE: &str = "pipeline_failed";
}

/// Whether a failure is one that the next phases will meet as well. Decided by what the worker said and by the class, never
/// by words of a message: what is slow, busy or gone for a moment is no such thing.
pub(crate) fn is_hard(failure: &Failure) -> bool {
    match failure.reason.as_deref() {
        Some(reason::HARD) => true,
        Some(reason::SOFT | reason::VALIDATION_FAIL) => false,
        _ => is_hard_class(failure.class),
    }
}

pub(crate) fn is_hard_class(class: Class) -> bool {
    matches!(class, Class::Security | Class::Permission | Class::Fatal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_hard_failures_in_a_row_are_counted() {
        let mut kept = PipelineState::default();
        let denied = Failure::new(Class::Permission, "403");
        let slow = Failure::new(Class::Timeout, "forbidden network 403");
        kept.count_end(TaskIx(0), Some(&denied), 0);
        kept.count_end(TaskIx(0), Some(&denied), 0);
        assert_eq!(kept.hard, 2);
        kept.count_end(TaskIx(0), Some(&slow), 0);
        assert_eq!(kept.hard, 0);
        kept.count_end(TaskIx(0), Some(&denied), 0);
        kept.count_end(TaskIx(0), None, 0);
        assert_eq!(kept.hard, 0);
    }

    #[test]
    fn whoever_reaches_the_limit_is_remembered_whatever_ends_after_it() {
        let mut kept = PipelineState::default();
        let denied = Failure::new(Class::Permission, "403");
        kept.count_end(TaskIx(1), Some(&denied), 2);
        assert_eq!(kept.too_many(TaskIx(1)), None);
        kept.count_end(TaskIx(2), Some(&denied), 2);
        kept.count_end(TaskIx(3), Some(&denied), 2);
        kept.count_end(TaskIx(4), None, 2);
        // A pipeline that goes on behind them, and comes to the limit again.
        kept.count_end(TaskIx(5), Some(&denied), 2);
        kept.count_end(TaskIx(6), Some(&denied), 2);
        let found: Vec<_> = (1..=6).map(|task| kept.too_many(TaskIx(task))).collect();
        assert_eq!(found, [None, Some(2), Some(3), None, None, Some(2)]);
    }

    #[test]
    fn what_passes_by_itself_is_never_hard() {
        use Class::*;
        for class in [Timeout, RateLimit, Capacity, Transient, InvalidOutput, Refused, Conflict] {
            assert!(!is_hard(&Failure::new(class, "x")), "{class}");
        }
        assert!(is_hard(&Failure::new(Class::Timeout, "x").reason(reason::HARD)));
        assert!(!is_hard(&Failure::new(Class::Fatal, "x").reason(reason::SOFT)));
    }

    #[test]
    fn null_takes_a_value_away() {
        let mut kept = PipelineState::default();
        let metadata = |value: Value| IndexMap::from([("k".to_owned(), value)]);
        kept.change(&IndexMap::new(), &metadata(1.into()));
        kept.change(&IndexMap::new(), &metadata(Value::Null));
        assert!(kept.metadata.is_empty());
    }

    proptest! {
        #[test]
        fn no_message_makes_a_failure_hard(class in prop::sample::select(Class::ALL.to_vec()), message in ".*") {
            prop_assert_eq!(is_hard(&Failure::new(class, message)), is_hard(&Failure::new(class, "")));
        }
    }
}
