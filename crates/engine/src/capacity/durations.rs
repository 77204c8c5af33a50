//! How long steps take, kept across runs. Pure.
//!
//! A step is known by its hash, so one that does something else is another one. Means move with what was seen lately; steps
//! that no run has performed for long are forgotten, and there is room for so many only.

use convoke_model::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Steps that are remembered.
const MOST: usize = 512;

/// What was learned longer ago is forgotten.
const STALE: Duration = Duration::from_secs(30 * 86_400);

/// So many attempts are remembered as a mean: what came before them counts less and less.
const MEMORY: u64 = 32;

/// Below this, in milliseconds, steps do not differ.
const SHORTEST: u64 = 128;

/// A mean has changed if it moved by more than itself divided by this.
const CHANGE_DIVISOR: u64 = 4;

/// How long steps take, by their hash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Durations(pub BTreeMap<String, Known>);

/// How long one step takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Milliseconds, as a mean.
    pub ms: u64,
    /// Of so many attempts.
    pub count: u64,
    /// When it was last seen.
    pub at: Timestamp,
}

impl Durations {
    /// Adds what a run has seen. False if nothing has changed.
    pub fn learn(&mut self, seen: &Durations, now: Timestamp) -> bool {
        let mut changed = false;
        for (step, seen) in &seen.0 {
            changed |= self.0.get(step).is_none_or(|known| known.is_changed_by(seen));
            let known = self.0.get(step).map_or(*seen, |known| known.with(seen));
            self.0.insert(step.clone(), known);
        }
        if changed {
            self.forget(now);
        }
        changed
    }

    fn forget(&mut self, now: Timestamp) {
        self.0.retain(|_, known| now.since(known.at) <= STALE);
        while self.0.len() > MOST {
            let oldest = self.0.iter().min_by_key(|(_, known)| known.at).map(|(step, _)| step.clone());
            oldest.map(|step| self.0.remove(&step));
        }
    }
}

impl Known {
    /// About how long it takes: the next power of two, an eighth of a second at least. Steps that take about the same keep
    /// the order of the file, however they happened to differ.
    pub fn about(&self) -> Duration {
        Duration::from_millis(self.ms.max(SHORTEST).checked_next_power_of_two().unwrap_or(self.ms))
    }

    fn with(&self, seen: &Known) -> Known {
        let before = self.count.min(MEMORY.saturating_sub(seen.count).max(1));
        let count = before + seen.count;
        let ms = (self.ms.saturating_mul(before) + seen.ms.saturating_mul(seen.count)) / count.max(1);
        Known { ms, count: count.min(MEMORY), at: seen.at }
    }

    fn is_changed_by(&self, seen: &Known) -> bool {
        let is_old = seen.at.since(self.at) > STALE / 4;
        is_old || self.with(seen).ms.abs_diff(self.ms) > self.ms / CHANGE_DIVISOR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000;

    fn of(step: &str, ms: u64, count: u64, at: u64) -> Durations {
        Durations([(step.to_owned(), Known { ms, count, at: Timestamp(at) })].into())
    }

    #[test]
    fn means_move_with_what_is_seen_and_the_same_again_is_no_news() {
        let mut known = Durations::default();
        assert!(known.learn(&of("a", 1_000, 4, DAY), Timestamp(DAY)));
        assert!(!known.learn(&of("a", 1_100, 4, DAY), Timestamp(DAY)));
        assert!(known.learn(&of("a", 9_000, 4, DAY), Timestamp(DAY)));
        assert!((2_000..9_000).contains(&known.0["a"].ms), "{known:?}");
        for _ in 0..20 {
            known.learn(&of("a", 9_000, 8, DAY), Timestamp(DAY));
        }
        assert!(known.0["a"].ms > 8_500, "what is old counts less and less: {known:?}");
    }

    #[test]
    fn what_takes_about_the_same_is_the_same() {
        let about = |ms| Known { ms, count: 1, at: Timestamp(1) }.about().as_millis();
        assert_eq!(
            [about(3), about(90), about(700), about(1_000), about(1_100)],
            [128, 128, 1_024, 1_024, 2_048]
        );
    }

    #[test]
    fn there_is_room_for_so_many_and_what_is_old_goes() {
        let mut known = of("old", 1, 1, 1);
        for step in 0..2 * MOST as u64 {
            known.learn(&of(&format!("s{step}"), 5, 1, 60 * DAY + step), Timestamp(60 * DAY + step));
        }
        assert_eq!(known.0.len(), MOST);
        assert!(!known.0.contains_key("old") && known.0.contains_key(&format!("s{}", 2 * MOST - 1)));
    }
}
