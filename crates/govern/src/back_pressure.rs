//! Back-pressure: a resource pauses until a moment, and resumes a little at a time.
//!
//! A provider's `Retry-After` holds for every demand on the same resource, so one pause is for all of them. If all went at the
//! moment when it ends, the provider would see the same storm again. So for a while after that moment one demand goes at a
//! time, with gaps drawn from the seed. Gaps are only ever added: no demand goes earlier than the provider said.

use crate::chance::Chance;

/// Whether a resource grants anything.
#[derive(Debug, Default)]
pub(crate) struct BackPressure {
    paused_until: u64,
    /// After this there is no gap.
    spread_until: u64,
    /// The next demand may go at this moment.
    next: u64,
    /// The longest gap.
    gap: u64,
}

impl BackPressure {
    /// When the next demand may go, if not now.
    #[inline]
    pub fn blocked_until(&self, now: u64) -> Option<u64> {
        (now < self.next).then_some(self.next)
    }

    /// The moment that the provider named, while it lies ahead.
    pub fn paused_until(&self, now: u64) -> Option<u64> {
        (now < self.paused_until).then_some(self.paused_until)
    }

    /// Pauses until a moment, and spreads those that wait over a time after it. Never ends a pause earlier.
    pub fn pause(&mut self, until: u64, spread: u64, crowd: u64, chance: &mut Chance) {
        if until <= self.paused_until {
            return;
        }
        self.paused_until = until;
        self.spread_until = until.saturating_add(spread);
        self.gap = 2 * spread / crowd.max(1);
        self.next = until.saturating_add(chance.up_to(self.gap));
    }

    /// A demand goes.
    #[inline]
    pub fn pass(&mut self, now: u64, chance: &mut Chance) {
        if now < self.spread_until {
            self.next = now.saturating_add(chance.up_to(self.gap)).min(self.spread_until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_early_and_not_all_at_once() {
        let (mut pressure, mut chance) = (BackPressure::default(), Chance::new(7));
        pressure.pause(1_000, 800, 8, &mut chance);
        let (mut now, mut passed) = (0, Vec::new());
        while passed.len() < 12 {
            match pressure.blocked_until(now) {
                Some(next) => now = next,
                None => {
                    pressure.pass(now, &mut chance);
                    passed.push(now);
                }
            }
        }
        assert!(passed[0] >= 1_000, "{passed:?}");
        assert!(passed[7] > passed[0] + 100, "{passed:?}");
        assert!(passed[11] <= 1_800, "{passed:?}");
    }

    #[test]
    fn a_later_word_counts_and_an_earlier_one_does_not() {
        let (mut pressure, mut chance) = (BackPressure::default(), Chance::new(7));
        pressure.pause(1_000, 0, 1, &mut chance);
        pressure.pause(500, 0, 1, &mut chance);
        assert_eq!(pressure.blocked_until(999), Some(1_000));
        pressure.pause(2_000, 0, 1, &mut chance);
        assert_eq!((pressure.blocked_until(1_000), pressure.blocked_until(2_000)), (Some(2_000), None));
    }
}
