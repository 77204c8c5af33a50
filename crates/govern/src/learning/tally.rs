//! How many of some calls were refused, and what may be concluded from that.
//!
//! Whole thousandths, so that the same calls give the same verdict on every machine.

/// Some calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub calls: u64,
    pub refused: u64,
}

impl Tally {
    pub fn add(&mut self, refused: bool) {
        self.calls += 1;
        self.refused += u64::from(refused);
    }

    /// As `add`; what happened many calls ago counts half, a quarter, and so on.
    pub fn add_fading(&mut self, refused: bool, many: u64) {
        self.add(refused);
        if self.calls >= 2 * many {
            (self.calls, self.refused) = (self.calls / 2, self.refused / 2);
        }
    }

    pub fn together(self, other: Tally) -> Tally {
        Tally { calls: self.calls + other.calls, refused: self.refused + other.refused }
    }

    /// Refused, in thousandths of all.
    pub fn thousandths(self) -> u64 {
        self.refused * 1_000 / self.calls.max(1)
    }

    /// How many of so many calls are refused if it goes on like this.
    pub fn expected(self, calls: u64) -> u64 {
        calls * self.refused / self.calls.max(1)
    }

    /// How many of so many calls may be refused by chance if it goes on like this: three standard deviations more than
    /// the mean.
    pub fn by_chance(self, calls: u64) -> u64 {
        let mean = calls * self.thousandths();
        (mean + 3 * (mean * 1_000).isqrt()) / 1_000
    }

    /// As one word.
    pub fn to_word(self) -> u64 {
        self.calls.min(u64::from(u32::MAX)) << 32 | self.refused.min(u64::from(u32::MAX))
    }

    pub fn of_word(word: u64) -> Tally {
        Tally { calls: word >> 32, refused: word & u64::from(u32::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_is_wide_for_many_and_nothing_for_none() {
        let (none, some) = (Tally { calls: 50, refused: 0 }, Tally { calls: 100, refused: 5 });
        assert_eq!((none.by_chance(60), none.thousandths()), (0, 0));
        assert_eq!((some.by_chance(60), some.expected(60), some.thousandths()), (8, 3, 50));
        assert_eq!(Tally::default().by_chance(60), 0);
    }

    #[test]
    fn what_is_long_ago_fades_and_words_keep_it() {
        let mut tally = Tally { calls: 511, refused: 100 };
        tally.add_fading(false, 256);
        assert_eq!(tally, Tally { calls: 256, refused: 50 });
        assert_eq!(Tally::of_word(tally.to_word()), tally);
    }
}
