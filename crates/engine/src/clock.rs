//! The run's clock: the wall clock once, the monotonic clock ever after.
//!
//! Within a process it only moves forward, whatever happens to the wall clock; a resumed run goes on no earlier than its
//! last event. Tests move it with the runtime's own paused time.

use convoke_model::Timestamp;
use tokio::time::Instant;

/// Gives the time of a run.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Timestamp,
    started: Instant,
}

impl Clock {
    /// A clock that shows `now` at this moment.
    pub fn starting_at(now: Timestamp) -> Clock {
        Clock { base: now, started: Instant::now() }
    }

    /// A clock that starts from the system's wall clock.
    pub fn system() -> Clock {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Clock::starting_at(Timestamp(wall.as_micros() as u64))
    }

    /// The same clock, moved forward so that it is not before `earliest`.
    pub fn not_before(self, earliest: Timestamp) -> Clock {
        Clock { base: self.base + earliest.since(self.now()), ..self }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.base + self.started.elapsed()
    }

    /// The moment on the runtime's clock.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        self.started + at.since(self.base)
    }
}
