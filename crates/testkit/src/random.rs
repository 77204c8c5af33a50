//! A small generator of numbers, so that a failing seed says everything.

/// Numbers from a seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence that belongs to a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end.max(1)
    }

    /// Whether something of this probability (in percent) happens.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}
