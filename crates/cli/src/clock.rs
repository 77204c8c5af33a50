//! The wall clock, for names and messages, and what the machine says about time. A run's own times are the engine's.

use crate::env;
use convoke_engine::{Clock, Machine};
use convoke_journal::{Error, Reader};
use convoke_model::{Event, Timestamp, Uptime, clock_offset};
use rustix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time now.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
    Timestamp(micros.saturating_add_signed(pretended_jump()))
}

/// What the machine says about time, for the clock of a run.
pub fn machine(boot: &str) -> Machine {
    let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    let shift = clock_offset(&offsets, "boottime") - clock_offset(&offsets, "monotonic");
    let awake = nanoseconds(ClockId::Monotonic) - clock_offset(&offsets, "monotonic");
    let asleep = move || asleep(shift) + pretended_sleep();
    let micros = (Duration::from_nanos(awake.unsigned_abs()) + asleep()).as_micros() as u64;
    Machine { wall: now(), uptime: Uptime { boot: boot.to_owned(), micros }, asleep: Arc::new(asleep) }
}

/// The clock of a run's owner as another process of this machine reads it: a changed date makes no answer late.
pub fn of_run(reader: &Reader, boot: &str) -> Result<Clock, Error> {
    let (mut owned, mut last) = (None, None);
    reader.read(1, &mut |stamped| match &stamped.event {
        Event::RunOwned { .. } => owned = Some(stamped),
        _ => last = Some(stamped),
    })?;
    let mut history: Vec<_> = owned.into_iter().chain(last).collect();
    history.sort_by_key(|stamped| stamped.seq);
    Ok(Clock::of(machine(boot)).after(&history))
}

/// How long the machine has been suspended since it booted: one clock goes on meanwhile and the other stands still. The second
/// is read last, so that a pause between the two makes this less and never more.
fn asleep(shift: i64) -> Duration {
    let with = nanoseconds(ClockId::Boottime) - shift;
    Duration::from_nanos((with - nanoseconds(ClockId::Monotonic)).max(0).unsigned_abs())
}

fn nanoseconds(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Tests of a program with debug assertions move the date, by microseconds: by so many seconds, or by as many as a file holds just now.
fn pretended_jump() -> i64 {
    let told = cfg!(debug_assertions).then(|| env::get_filled(env::TEST_CLOCK_JUMP)).flatten();
    let seconds = |text: &str| text.trim().parse::<i64>().ok();
    let jump = told.and_then(|told| {
        seconds(&told).or_else(|| std::fs::read_to_string(told).ok().as_deref().and_then(seconds))
    });
    jump.unwrap_or(0) * 1_000_000
}

/// The same for suspensions: a file holds how many seconds the machine has slept.
fn pretended_sleep() -> Duration {
    let file = cfg!(debug_assertions).then(|| env::get_filled(env::TEST_CLOCK_SLEPT)).flatten();
    let text = file.and_then(|file| std::fs::read_to_string(file).ok());
    Duration::from_secs(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0))
}

/// A moment before another.
pub fn before(now: Timestamp, age: Duration) -> Timestamp {
    Timestamp(now.0.saturating_sub(u64::try_from(age.as_micros()).unwrap_or(u64::MAX)))
}
