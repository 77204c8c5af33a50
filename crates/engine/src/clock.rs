//! The run's clock: the wall clock once, the machine's own clock ever after.
//!
//! Within a process it only moves forward, whatever happens to the date. Time in which the machine is suspended is added when the
//! run hears of it ([`Clock::wake_up`]), and not before: what follows from it is decided with that fact in hand. A resumed run
//! goes on by the machine's clock if its last owner lived in the same boot, so that a changed date fires no timer; after a boot by
//! the date, and never earlier than its last event. Tests move the clock with the runtime's own paused time.

use convoke_model::{Event, Stamped, Timestamp, Uptime};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// What the machine says about time, at the moment at which the clock is started.
#[derive(Clone)]
pub struct Machine {
    /// The date.
    pub wall: Timestamp,
    /// The boot clock.
    pub uptime: Uptime,
    /// How long the machine has been suspended since it booted, whenever it is asked. Never less than before.
    pub asleep: Arc<dyn Fn() -> Duration + Send + Sync>,
}

/// Suspensions shorter than this are none: the two clocks that tell of them are not read in the same instant.
const SHORTEST_SLEEP: Duration = Duration::from_millis(100);

/// Gives the time of a run.
#[derive(Clone)]
pub struct Clock {
    base: Timestamp,
    started: Instant,
    machine: Option<Machine>,
    /// Microseconds of suspension at the start, and those that were added since.
    asleep_before: Duration,
    slept: Arc<AtomicU64>,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("base", &self.base).field("slept", &self.slept).finish_non_exhaustive()
    }
}

impl Clock {
    /// A clock that shows `now` at this moment, of no machine.
    pub fn starting_at(now: Timestamp) -> Clock {
        let (started, slept) = (Instant::now(), Arc::default());
        Clock { base: now, started, machine: None, asleep_before: Duration::ZERO, slept }
    }

    /// A clock that starts from what the machine says.
    pub fn of(machine: Machine) -> Clock {
        let asleep_before = (machine.asleep)();
        Clock { asleep_before, machine: Some(machine.clone()), ..Clock::starting_at(machine.wall) }
    }

    /// The same clock for a run with this past. It shows what the clock of the last owner would show by now, if that lived in
    /// the same boot; and no time before the last event.
    pub fn after(self, history: &[Stamped]) -> Clock {
        let owned = history.iter().rev().find_map(|stamped| match &stamped.event {
            Event::RunOwned { uptime, .. } => Some((stamped.at, uptime.as_ref())),
            _ => None,
        });
        let since = owned.and_then(|(at, then)| Some(at + self.machine.as_ref()?.uptime.since(then?)?));
        let last = history.last().map(|event| event.at).unwrap_or_default();
        Clock { base: since.unwrap_or(self.base), ..self }.not_before(last)
    }

    fn not_before(self, earliest: Timestamp) -> Clock {
        Clock { base: self.base + earliest.since(self.now()), ..self }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        self.base + self.started.elapsed() + self.slept()
    }

    /// What the machine's clock says at a moment of this one.
    pub fn uptime(&self, at: Timestamp) -> Option<Uptime> {
        let Uptime { boot, micros } = self.machine.as_ref()?.uptime.clone();
        Some(Uptime { boot, micros: micros + at.since(self.base).as_micros() as u64 })
    }

    /// Adds the time for which the machine was suspended since this was last asked, and says how long that was.
    pub fn wake_up(&self) -> Option<Duration> {
        let asleep = (self.machine.as_ref()?.asleep)().saturating_sub(self.asleep_before);
        let more = asleep.checked_sub(self.slept()).filter(|more| *more >= SHORTEST_SLEEP)?;
        // One thread drives a run, so nothing comes in between.
        self.slept.store(asleep.as_micros() as u64, Ordering::SeqCst);
        Some(more)
    }

    /// The moment on the runtime's clock.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        self.started + at.since(self.base + self.slept())
    }

    fn slept(&self) -> Duration {
        Duration::from_micros(self.slept.load(Ordering::SeqCst))
    }
}
