//! Money or tokens that are spent once.
//!
//! Reserved at the worst case before a call, settled at what it cost. A budget of a day is full again at midnight UTC;
//! what is settled later is spent on the later day. A budget that only watches counts what was spent and reserves
//! nothing.

/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

#[derive(Debug)]
pub(crate) struct Budget {
    daily: bool,
    pub audit: bool,
    day: u64,
    pub spent: u64,
    pub reserved: u64,
}

impl Budget {
    pub fn new(daily: bool, audit: bool) -> Budget {
        Budget { daily, audit, day: 0, spent: 0, reserved: 0 }
    }

    pub fn used(&mut self, now: u64) -> u64 {
        self.turn_page(now);
        if self.audit { 0 } else { self.spent.saturating_add(self.reserved) }
    }

    /// What is gone for good, or until midnight.
    pub fn spent(&mut self, now: u64) -> u64 {
        self.turn_page(now);
        self.spent
    }

    pub fn reserve(&mut self, count: u64) {
        if !self.audit {
            self.reserved += count;
        }
    }

    pub fn settle(&mut self, taken: u64, used: u64, now: u64) {
        if !self.audit {
            self.reserved = self.reserved.checked_sub(taken).expect("what is settled was reserved");
        }
        self.spend(used, now);
    }

    pub fn spend(&mut self, count: u64, now: u64) {
        self.turn_page(now);
        self.spent = self.spent.saturating_add(count);
    }

    pub fn fits_at(&self, count: u64, room: u64, now: u64) -> Option<u64> {
        let fits = self.daily && self.reserved.saturating_add(count) <= room;
        fits.then(|| (now / DAY + 1) * DAY)
    }

    fn turn_page(&mut self, now: u64) {
        if self.daily && now / DAY > self.day {
            self.day = now / DAY;
            self.spent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_at_midnight() {
        let mut budget = Budget::new(true, false);
        budget.reserve(10);
        budget.settle(10, 9, 5 * DAY - 1);
        assert_eq!(budget.used(5 * DAY - 1), 9);
        assert_eq!(budget.fits_at(5, 10, 5 * DAY - 1), Some(5 * DAY));
        assert_eq!(budget.used(5 * DAY), 0);
    }

    #[test]
    fn a_watching_budget_reserves_nothing() {
        let mut budget = Budget::new(false, true);
        budget.reserve(10);
        budget.settle(10, 9, 1);
        assert_eq!((budget.used(1), budget.spent(1)), (0, 9));
    }
}
