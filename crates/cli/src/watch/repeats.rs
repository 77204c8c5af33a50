//! Repeated lines: the same event of many items of a fan-out is printed for some of them and counted for the rest.
//!
//! A run of ten thousand partitions that a budget ends skips most of them at one moment. Only items of one fan-out that
//! end without having run count here; failures are always told.

use crate::view::format;
use convoke_model::{CauseKind, Event, TaskId};

/// Items of one fan-out that are told one by one.
const TOLD: u64 = 20;

/// What was said last of the items of a fan-out.
#[derive(Debug, Default)]
pub struct Repeats {
    about: Option<(String, CauseKind)>,
    told: u64,
    held: u64,
}

impl Repeats {
    /// Whether an event is one too many of its kind, and only counted.
    pub fn holds(&mut self, event: &Event) -> bool {
        let Some(about) = about(event) else { return false };
        if self.about.as_ref() != Some(&about) {
            *self = Repeats { about: Some(about), ..Repeats::default() };
        }
        let holds = self.told >= TOLD;
        if holds {
            self.held += 1
        } else {
            self.told += 1
        }
        holds
    }

    /// Whether the line about those that are held is due before this event is told.
    pub fn ends_at(&self, event: &Event) -> bool {
        self.held > 0 && about(event) != self.about
    }

    /// The line about those that were held, once.
    pub fn line(&mut self) -> Option<String> {
        let held = std::mem::take(&mut self.held);
        let (of, kind) = self.about.as_ref().filter(|_| held > 0)?;
        Some(format!("{of}: {} more skipped: {}", format::count(held), kind.words()))
    }
}

/// The fan-out and the reason, of an item that is skipped.
fn about(event: &Event) -> Option<(String, CauseKind)> {
    match event {
        Event::TaskSkipped { task, cause } => Some((group(task)?.to_owned(), cause.kind)),
        _ => None,
    }
}

/// `scout` of `scout[rents]`; items of items count with their own.
fn group(task: &TaskId) -> Option<&str> {
    task.0.rsplit_once('[').map(|(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Cause;

    fn skipped(task: String, kind: CauseKind) -> Event {
        Event::TaskSkipped { task: TaskId(task.into()), cause: Cause { kind, task: None } }
    }

    #[test]
    fn many_of_one_kind_are_counted_and_said_once() {
        let mut repeats = Repeats::default();
        let item = |index: u64| skipped(format!("scout[{index}]"), CauseKind::LimitReached);
        let held = (0..10_000).filter(|index| repeats.holds(&item(*index))).count();
        assert_eq!(held, 10_000 - TOLD as usize);
        let other = skipped("late".to_owned(), CauseKind::NeedFailed);
        assert!(repeats.ends_at(&other) && !repeats.holds(&other) && !repeats.ends_at(&item(1)));
        assert_eq!(repeats.line().as_deref(), Some("scout: 9980 more skipped: a limit was reached"));
        assert_eq!(repeats.line(), None);
    }

    #[test]
    fn another_reason_or_another_fan_out_begins_anew() {
        let mut repeats = Repeats::default();
        let mut all = |node: &str, kind| {
            (0..TOLD).filter(|index| repeats.holds(&skipped(format!("{node}[{index}]"), kind))).count()
        };
        assert_eq!(all("a", CauseKind::LimitReached) + all("b", CauseKind::LimitReached), 0);
        assert_eq!(all("b", CauseKind::Stopped), 0);
    }
}
