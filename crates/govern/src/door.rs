//! Open, or shut until a moment; and opened again a little at a time.
//!
//! What a provider asks for with `Retry-After` holds for everybody who uses the same resource, so it shuts one door for
//! all. If everybody went through the moment it opens, the provider would see the same storm again. So for a while after
//! that moment the door lets one through at a time, with gaps drawn from the seed. Gaps are only ever added: nobody goes
//! earlier than the provider said.

use crate::chance::Chance;

/// The way to a resource.
#[derive(Debug, Default)]
pub(crate) struct Door {
    shut_until: u64,
    /// After this it is simply open.
    spread_until: u64,
    /// The next one may go through at this moment.
    next: u64,
    /// The longest gap.
    gap: u64,
}

impl Door {
    /// When somebody may go through, if not now.
    #[inline]
    pub fn opens(&self, now: u64) -> Option<u64> {
        (now < self.next).then_some(self.next)
    }

    /// The moment that the provider named, while it lies ahead.
    pub fn shut_until(&self, now: u64) -> Option<u64> {
        (now < self.shut_until).then_some(self.shut_until)
    }

    /// Shuts it until a moment, and spreads those who wait over a time after it. Never opens a door earlier.
    pub fn shut(&mut self, until: u64, spread: u64, crowd: u64, chance: &mut Chance) {
        if until <= self.shut_until {
            return;
        }
        self.shut_until = until;
        self.spread_until = until.saturating_add(spread);
        self.gap = 2 * spread / crowd.max(1);
        self.next = until.saturating_add(chance.up_to(self.gap));
    }

    /// Somebody goes through.
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
        let (mut door, mut chance) = (Door::default(), Chance::new(7));
        door.shut(1_000, 800, 8, &mut chance);
        let (mut now, mut passed) = (0, Vec::new());
        while passed.len() < 12 {
            match door.opens(now) {
                Some(next) => now = next,
                None => {
                    door.pass(now, &mut chance);
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
        let (mut door, mut chance) = (Door::default(), Chance::new(7));
        door.shut(1_000, 0, 1, &mut chance);
        door.shut(500, 0, 1, &mut chance);
        assert_eq!(door.opens(999), Some(1_000));
        door.shut(2_000, 0, 1, &mut chance);
        assert_eq!((door.opens(1_000), door.opens(2_000)), (Some(2_000), None));
    }
}
