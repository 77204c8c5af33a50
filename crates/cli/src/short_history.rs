//! All events of a run, for as long as they are few and this process has committed all of them.
//!
//! What is said of a run when it is over need not read its journal again then. The events are those that the engine's watchers
//! are told, shared and not copied.

use convoke_model::Stamped;
use std::sync::Arc;

/// The events of a run from its first one on, or none of them.
#[derive(Default)]
pub struct ShortHistory {
    batches: Vec<Arc<[Stamped]>>,
    /// The number of the last event that was heard of.
    last: u64,
    /// One is missing: another process has committed it, or they were too many.
    broken: bool,
}

impl ShortHistory {
    /// A journal of so many events is read in a few milliseconds.
    pub const MOST: u64 = 5_000;

    /// Takes what was committed now.
    pub fn take(&mut self, events: &Arc<[Stamped]>) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return };
        self.broken |= first.seq != self.last + 1 || last.seq > Self::MOST;
        self.last = last.seq;
        match self.broken {
            true => self.batches.clear(),
            false => self.batches.push(events.clone()),
        }
    }

    /// All events, in order; `None` where some are missing.
    pub fn events(&self) -> Option<impl Iterator<Item = &Stamped>> {
        (self.last > 0 && !self.broken).then(|| self.batches.iter().flat_map(|batch| batch.iter()))
    }

    /// Whether the run is known to have more events than are kept.
    pub fn is_long(&self) -> bool {
        self.last > Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Event, Timestamp};

    fn batch(numbers: std::ops::RangeInclusive<u64>) -> Arc<[Stamped]> {
        let stamped =
            |seq| Stamped { seq, at: Timestamp(seq), event: Event::RunParked { waiting: Vec::new() } };
        numbers.map(stamped).collect()
    }

    fn numbers(batches: &[Arc<[Stamped]>]) -> Option<Vec<u64>> {
        let mut history = ShortHistory::default();
        batches.iter().for_each(|batch| history.take(batch));
        history.events().map(|events| events.map(|event| event.seq).collect())
    }

    #[test]
    fn a_history_is_whole_or_none() {
        assert_eq!(numbers(&[batch(1..=2), batch(3..=3)]), Some(vec![1, 2, 3]));
        assert_eq!(numbers(&[]), None);
        assert_eq!(numbers(&[batch(4..=5)]), None, "another process has begun it");
        assert_eq!(numbers(&[batch(1..=2), batch(4..=5)]), None, "one is missing");
        assert_eq!(numbers(&[batch(1..=ShortHistory::MOST + 1)]), None, "they are many");
    }
}
