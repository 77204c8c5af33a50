//! How long attempts and their calls wait for permits: until when each may, and which have waited too long.
//!
//! A task waits for one thing at a time: for the permit of its next attempt, or for that of a call in the middle of one.

use convoke_model::Timestamp;
use convoke_model::hash::HashMap;
use convoke_schedule::TaskIx;
use std::collections::BTreeSet;
use std::time::Duration;

/// Why a wait has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Bound {
    /// `max_wait`, for everything that is waited for.
    MaxWait,
    /// A breaker is waited for no longer than its rules say.
    Breaker,
}

/// The bounds of those that wait.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    until: HashMap<(TaskIx, Bound), (Timestamp, Duration)>,
    next: BTreeSet<(Timestamp, TaskIx, Bound)>,
}

impl Waits {
    /// An attempt, or a call of it, begins to wait, and may so long.
    pub fn begin(&mut self, task: TaskIx, bound: Bound, most: Duration, now: Timestamp) {
        self.end_one(task, bound);
        let until = now + most;
        self.until.insert((task, bound), (until, most));
        self.next.insert((until, task, bound));
    }

    /// Resumes a wait under this bound: one that has begun keeps its end, else it begins now.
    pub fn resume(&mut self, task: TaskIx, bound: Bound, most: Duration, now: Timestamp) {
        if !self.until.contains_key(&(task, bound)) {
            self.begin(task, bound, most, now);
        }
    }

    /// It waits no longer.
    pub fn end(&mut self, task: TaskIx) {
        [Bound::MaxWait, Bound::Breaker].into_iter().for_each(|bound| self.end_one(task, bound));
    }

    fn end_one(&mut self, task: TaskIx, bound: Bound) {
        if let Some((until, _)) = self.until.remove(&(task, bound)) {
            self.next.remove(&(until, task, bound));
        }
    }

    /// The next moment at which one has waited too long.
    pub fn next(&self) -> Option<Timestamp> {
        self.next.first().map(|(until, ..)| *until)
    }

    /// Those that have waited too long, by which bound, and how long they could.
    pub fn expired(&mut self, now: Timestamp) -> Vec<(TaskIx, Bound, Duration)> {
        let over: Vec<_> = self.next.iter().take_while(|(until, ..)| *until <= now).copied().collect();
        over.into_iter()
            .filter_map(|(_, task, bound)| {
                let (_, most) = *self.until.get(&(task, bound))?;
                self.end_one(task, bound);
                Some((task, bound, most))
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
        (1..4).for_each(|task| waits.begin(TaskIx(task), Bound::MaxWait, task * second, Timestamp(0)));
        waits.end(TaskIx(1));
        assert_eq!(waits.next(), Some(Timestamp(2_000_000)));
        assert_eq!(waits.expired(Timestamp(1_999_999)), []);
        assert_eq!(waits.expired(Timestamp(2_000_000)), [(TaskIx(2), Bound::MaxWait, 2 * second)]);
        assert_eq!(waits.next(), Some(Timestamp(3_000_000)));
        waits.begin(TaskIx(3), Bound::Breaker, second, Timestamp(0));
        waits.resume(TaskIx(3), Bound::Breaker, second, Timestamp(500_000));
        assert_eq!(waits.next(), Some(Timestamp(1_000_000)), "it has waited for that long already");
        waits.end(TaskIx(3));
        assert_eq!(waits.next(), None);
    }
}
