//! How long a receiver is left alone that could not be reached or asked for time.

use std::time::Duration;

/// After the first failure.
const FIRST: Duration = Duration::from_millis(500);

/// The longest wait, also where a receiver asks for more: it may be back earlier than it thought.
const LONGEST: Duration = Duration::from_secs(60);

/// Failures in a row, and what follows from them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// One more failure; the receiver may have said how long it wants to be left alone.
    pub fn fail(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10));
        self.failures = self.failures.saturating_add(1);
        doubled.max(asked.unwrap_or_default()).min(LONGEST)
    }

    /// It has taken something.
    pub fn succeed(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_begin_anew() {
        let mut backoff = Backoff::default();
        let millis = |backoff: &mut Backoff| backoff.fail(None).as_millis();
        assert_eq!([millis(&mut backoff), millis(&mut backoff), millis(&mut backoff)], [500, 1_000, 2_000]);
        assert_eq!(backoff.fail(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(backoff.fail(Some(Duration::from_secs(3_600))), LONGEST);
        for _ in 0..40 {
            backoff.fail(None);
        }
        assert_eq!(backoff.fail(None), LONGEST);
        backoff.succeed();
        assert_eq!(backoff.fail(None), FIRST);
    }
}
