//! So much per window of time, as a provider that counts sees it.
//!
//! A provider counts a call at some moment between its grant and its end. So an amount counts from the grant until one
//! window after the moment by which the provider must have seen it. Then at no instant can any window of the provider's
//! hold more than the limit: at the latest grant among the calls of such a window all of them were counted here, and
//! the sum was within the limit. What is settled is kept in buckets of a 240th of the window, each counted until its
//! last amount is old enough; that wastes less than half a percent and never counts too little.

use crate::spec::{Counts, RateRules};
use std::collections::VecDeque;

const BUCKETS: u64 = 240;

#[derive(Debug)]
pub(crate) struct Rate {
    window: u64,
    grain: u64,
    pub counts: Counts,
    /// Granted, and not known to be counted by the provider.
    reserved: u64,
    /// When it stops to count, and how much; the oldest first.
    counted: VecDeque<(u64, u64)>,
    sum: u64,
}

impl Rate {
    pub fn new(rules: RateRules) -> Rate {
        let window = u64::try_from(rules.window.as_micros()).unwrap_or(u64::MAX);
        let grain = (window / BUCKETS).max(1);
        Rate { window, grain, counts: rules.counts, reserved: 0, counted: VecDeque::new(), sum: 0 }
    }

    pub fn used(&mut self, now: u64) -> u64 {
        while let Some(&(ends, count)) = self.counted.front().filter(|(ends, _)| *ends <= now) {
            debug_assert!(ends <= now);
            self.sum -= count;
            self.counted.pop_front();
        }
        self.reserved + self.sum
    }

    pub fn reserve(&mut self, count: u64) {
        self.reserved += count;
    }

    pub fn settle(&mut self, taken: u64, used: u64, now: u64) {
        self.reserved = self.reserved.checked_sub(taken).expect("what is settled was reserved");
        self.count(used, now);
    }

    /// The provider has counted this, at `now` or before.
    pub fn count(&mut self, count: u64, now: u64) {
        if count == 0 {
            return;
        }
        let ends = now.div_ceil(self.grain).saturating_mul(self.grain).saturating_add(self.window);
        self.sum += count;
        match self.counted.back_mut() {
            Some((last, total)) if *last >= ends => *total += count,
            _ => self.counted.push_back((ends, count)),
        }
    }

    /// When `count` fits, if no more than time has to pass.
    pub fn fits_at(&self, count: u64, room: u64) -> Option<u64> {
        let mut used = (self.reserved + self.sum).checked_add(count)?;
        for (ends, amount) in &self.counted {
            used -= amount;
            if used <= room {
                return Some(*ends);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const MINUTE: u64 = 60_000_000;

    fn rate() -> Rate {
        Rate::new(RateRules { window: Duration::from_secs(60), counts: Counts::Ends })
    }

    #[test]
    fn counts_until_a_window_after_the_end() {
        let mut rate = rate();
        rate.reserve(10);
        assert_eq!(rate.used(5 * MINUTE), 10, "a call that lasts may be counted at any moment");
        rate.settle(10, 7, 5 * MINUTE);
        assert_eq!(rate.used(6 * MINUTE - 1), 7);
        assert_eq!(rate.used(6 * MINUTE), 0);
    }

    #[test]
    fn says_when_there_is_room() {
        let mut rate = rate();
        for second in [0, 10, 20] {
            rate.reserve(4);
            rate.settle(4, 4, second * 1_000_000);
        }
        assert_eq!(rate.fits_at(6, 12), Some(MINUTE + 10_000_000));
        rate.reserve(8);
        assert_eq!(rate.fits_at(6, 12), None, "what is in flight has no known end");
    }

    #[test]
    fn stays_small() {
        let mut rate = rate();
        for moment in 0..100_000u64 {
            rate.count(1, moment * 1_000);
            rate.used(moment * 1_000);
        }
        assert!(rate.counted.len() <= 242, "{}", rate.counted.len());
    }
}
