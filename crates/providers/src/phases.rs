//! How long each phase of an exchange may take: the connection, the first token, the pause between two pieces, and all
//! of it.
//!
//! The one place where providers watch the clock. Over the network the connection's own limit is the
//! client's (`connection`), because connections are shared between requests; here it only gets its name.

use crate::trouble::Trouble;
use convoke_model::{Class, Failure};
use std::time::Duration;
use tokio::time::timeout;

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

/// The failure of a phase that took longer than its limit.
pub fn timed_out(provider: &str, phase: Phase, limit: Duration) -> Failure {
    let message = format!("{provider}: timeout: {} within {} s", phase.words(), limit.as_secs_f64());
    Failure::new(Class::Timeout, message).reason(phase.reason())
}

/// Measures how long something takes.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(tokio::time::Instant);

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Stopwatch {
        Stopwatch(tokio::time::Instant::now())
    }

    /// Milliseconds since then.
    pub fn ms(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
