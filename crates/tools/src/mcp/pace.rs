//! How fast a server that keeps dying is started again. Pure: told the time, says when.

use std::time::Duration;
use tokio::time::Instant;

/// The wait before the second start; each further one doubles it.
const FIRST: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);
/// A start that was this long ago has nothing to do with the next one.
const GOOD: Duration = Duration::from_secs(60);

/// When a server was started.
#[derive(Debug, Default)]
pub struct Pace {
    last: Option<Instant>,
    in_a_row: u32,
}

impl Pace {
    /// When to start it, if it is wanted now.
    pub fn next(&mut self, now: Instant) -> Instant {
        let at = match self.last {
            None => now,
            Some(last) => {
                self.in_a_row =
                    if now.saturating_duration_since(last) >= GOOD { 1 } else { self.in_a_row + 1 };
                now.max(last + self.wait())
            }
        };
        self.last = Some(at);
        at
    }

    /// Whether it may be started again without a wait.
    pub fn is_due(&self, now: Instant) -> bool {
        let after = Pace { last: self.last, in_a_row: self.in_a_row + 1 };
        self.last.is_none_or(|last| now >= last + after.wait())
    }

    fn wait(&self) -> Duration {
        FIRST.saturating_mul(1 << (self.in_a_row - 1).min(16)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_come_further_and_further_apart_until_one_lasts() {
        let mut pace = Pace::default();
        let mut now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..9 {
            let at = pace.next(now);
            waits.push((at - now).as_millis());
            now = at;
        }
        assert_eq!(waits, [0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        now += Duration::from_secs(61);
        assert_eq!(pace.next(now), now);
        assert_eq!(pace.next(now) - now, Duration::from_millis(1000));
    }

    #[test]
    fn one_that_died_after_a_while_is_started_at_once() {
        let mut pace = Pace::default();
        let now = Instant::now();
        pace.next(now);
        let later = now + Duration::from_secs(10);
        assert_eq!(pace.next(later), later);
    }
}
