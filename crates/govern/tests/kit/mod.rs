//! A governor with few words: ask, grant, give back; and chance that prints its seed.
#![allow(dead_code, reason = "each test file uses a part of it")]

use convoke_govern::{Admission, Amount, Demand, Governor, Outcome, Rank, Refused, Used};
use convoke_model::Timestamp;

pub const NOW: Timestamp = Timestamp(1_000_000);

pub fn ask(governor: &mut Governor, key: u64, rank: Rank, needs: &[Amount]) -> Result<(), Refused> {
    governor.demand(Demand { key, rank, needs }, NOW)
}

/// Grants one permit, if a demand fits.
pub fn grant(governor: &mut Governor) -> Option<u64> {
    match governor.admit(NOW) {
        Admission::Granted(key) => Some(key),
        _ => None,
    }
}

pub fn free(governor: &mut Governor, key: u64) {
    governor.release(key, Used::AsReserved, Outcome::Unknown, NOW).expect("it holds a permit");
}

/// Numbers that look random and are the same each time.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    pub fn seeded(seed: u64) -> Dice {
        Dice(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
}
