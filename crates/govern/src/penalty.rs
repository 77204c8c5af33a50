//! How badly things went lately: errors by weight, halved every minute.
//!
//! Whole thousandths and whole steps, so that the same calls give the same penalty on every machine.

use crate::adapt::Outcome;

/// Microseconds after which a penalty counts half.
const HALF_LIFE: u64 = 60_000_000;

/// From here on a penalty has its full effect.
const FULL: u64 = 4_000;

/// The shortest wait after a refusal that names none, in microseconds.
const SHORTEST: u64 = 500_000;

/// The longest.
const LONGEST: u64 = 60_000_000;

#[derive(Debug, Default)]
pub(crate) struct Penalty {
    thousandths: u64,
    at: u64,
}

impl Penalty {
    /// What is left of it.
    pub fn now(&mut self, now: u64) -> u64 {
        let halvings = now.saturating_sub(self.at) / HALF_LIFE;
        if halvings > 0 {
            self.thousandths = self.thousandths.checked_shr(halvings.min(64) as u32).unwrap_or(0);
            self.at += halvings * HALF_LIFE;
        }
        self.thousandths
    }

    pub fn add(&mut self, outcome: Outcome, now: u64) {
        let left = self.now(now);
        if left == 0 {
            self.at = now;
        }
        self.thousandths = left + weight(outcome);
    }

    /// By how much a limit is cut, in thousandths that are left: 700 for the first error, 500 in the worst case.
    pub fn keeps(&mut self, now: u64) -> u64 {
        700 - 200 * self.now(now).min(FULL) / FULL
    }

    /// How long to wait when nobody says: twice as long for each refusal that still weighs.
    pub fn wait(&mut self, now: u64) -> u64 {
        let steps = self.now(now) / weight(Outcome::RateLimited { retry_after: None });
        (SHORTEST << steps.min(10)).min(LONGEST)
    }
}

fn weight(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::RateLimited { .. } => 2_000,
        Outcome::Overloaded { .. } => 1_500,
        Outcome::TimedOut => 1_000,
        Outcome::Failed => 500,
        Outcome::Succeeded | Outcome::Unknown => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_weigh_by_kind_and_fade() {
        let mut penalty = Penalty::default();
        assert_eq!((penalty.keeps(0), penalty.wait(0)), (700, SHORTEST));
        penalty.add(Outcome::TimedOut, 7);
        assert_eq!(penalty.keeps(7), 650);
        penalty.add(Outcome::RateLimited { retry_after: None }, 7);
        penalty.add(Outcome::RateLimited { retry_after: None }, 7);
        assert_eq!((penalty.keeps(7), penalty.wait(7)), (500, 4 * SHORTEST));
        assert_eq!(penalty.now(7 + HALF_LIFE), 2_500);
        assert_eq!(penalty.now(7 + 100 * HALF_LIFE), 0);
    }
}
