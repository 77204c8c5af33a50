//! The wall clock, for names and messages. A run's own times are the engine's.

use convoke_model::Timestamp;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// A moment before another.
pub fn before(now: Timestamp, age: Duration) -> Timestamp {
    Timestamp(now.0.saturating_sub(u64::try_from(age.as_micros()).unwrap_or(u64::MAX)))
}
