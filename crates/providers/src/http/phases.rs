//! How long each phase of an exchange may take: the connection, the first token, the pause between two pieces, and all
//! of it.
//!
//! The one place where providers watch the clock. Over the network the connection's own limit is the
//! client's (`connection`), because connections are shared between requests; here it only gets its name.

use crate::trouble::Trouble;
use convoke_model::{Class, Failure};
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// A part of an exchange that has a limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Until the other side has said that it is there.
    Connect,
    /// Until the answer begins.
    FirstToken,
    /// Between two pieces of the answer.
    Idle,
    /// All of it.
    Total,
}

impl Phase {
    fn reason(self) -> &'static str {
        match self {
            Phase::Connect => "connect_timeout",
            Phase::FirstToken => "first_token_timeout",
            Phase::Idle => "idle_timeout",
            Phase::Total => "request_timeout",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Phase::Connect => "it did not come up",
            Phase::FirstToken => "the answer did not begin",
            Phase::Idle => "the answer stalled",
            Phase::Total => "the request took too long",
        }
    }
}

/// Does some work within the limit of a phase.
pub async fn within<T>(phase: Phase, limit: Duration, work: impl Future<Output = T>) -> Result<T, Trouble> {
    timeout(limit, work).await.map_err(|_| Trouble::TimedOut(phase, limit))
}

/// The end of a phase that began when this was made, however many pieces of work it takes.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    phase: Phase,
    limit: Duration,
    at: Instant,
}

impl Deadline {
    /// A phase that begins now.
    pub fn new(phase: Phase, limit: Duration) -> Deadline {
        Deadline { phase, limit, at: Instant::now() + limit }
    }

    /// Does some more work of the phase.
    pub async fn meet<T>(&self, work: impl Future<Output = T>) -> Result<T, Trouble> {
        timeout_at(self.at, work).await.map_err(|_| Trouble::TimedOut(self.phase, self.limit))
    }
}

/// The failure of a phase that took longer than its limit.
pub fn timed_out(provider: &str, phase: Phase, limit: Duration) -> Failure {
    let message = format!("{provider}: timeout: {} within {} s", phase.words(), limit.as_secs_f64());
    Failure::new(Class::Timeout, message).reason(phase.reason())
}

/// Measures how long something takes.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Milliseconds since then.
    pub fn ms(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn a_phase_is_not_prolonged_by_each_piece_of_its_work() {
        let second = Duration::from_secs(1);
        let beginning = Deadline::new(Phase::FirstToken, second * 5);
        assert!(beginning.meet(sleep(second * 3)).await.is_ok());
        let trouble = beginning.meet(sleep(second * 3)).await.unwrap_err();
        assert!(matches!(trouble, Trouble::TimedOut(Phase::FirstToken, limit) if limit == second * 5));
    }
}
