//! How long attempts wait for their permits: until when each may, and who has waited too long.
//!
//! Only attempts are bounded. A call that waits in the middle of an attempt is bounded by the attempt's own timeouts.

use convoke_model::Timestamp;
use convoke_schedule::TaskIx;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// The bounds of those that wait.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    until: HashMap<TaskIx, (Timestamp, Duration)>,
    next: BTreeSet<(Timestamp, TaskIx)>,
}

impl Waits {
    /// An attempt begins to wait, and may so long.
    pub fn begin(&mut self, task: TaskIx, most: Duration, now: Timestamp) {
        self.end(task);
        let until = now + most;
        self.until.insert(task, (until, most));
        self.next.insert((until, task));
    }

    /// It waits no longer.
    pub fn end(&mut self, task: TaskIx) {
        if let Some((until, _)) = self.until.remove(&task) {
            self.next.remove(&(until, task));
        }
    }

    /// The next moment at which one has waited too long.
    pub fn next(&self) -> Option<Timestamp> {
        self.next.first().map(|(until, _)| *until)
    }

    /// Those that have waited too long, and how long they could.
    pub fn expired(&mut self, now: Timestamp) -> Vec<(TaskIx, Duration)> {
        let over: Vec<_> =
            self.next.iter().take_while(|(until, _)| *until <= now).map(|(_, task)| *task).collect();
        over.into_iter()
            .filter_map(|task| {
                let (_, most) = *self.until.get(&task)?;
                self.end(task);
                Some((task, most))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_no_longer_does_not_expire() {
        let (mut waits, second) = (Waits::default(), Duration::from_secs(1));
        (1..4).for_each(|task| waits.begin(TaskIx(task), task * second, Timestamp(0)));
        waits.end(TaskIx(1));
        assert_eq!(waits.next(), Some(Timestamp(2_000_000)));
        assert_eq!(waits.expired(Timestamp(1_999_999)), []);
        assert_eq!(waits.expired(Timestamp(2_000_000)), [(TaskIx(2), 2 * second)]);
        assert_eq!(waits.next(), Some(Timestamp(3_000_000)));
    }
}
