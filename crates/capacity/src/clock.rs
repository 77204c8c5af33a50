//! The monotonic clock: no process can set it, and it stands still while the machine sleeps.
//!
//! All processes that share a table are on one machine and sleep together. A lease that was alive when the machine was suspended
//! is alive when it wakes up: on a clock that goes on meanwhile every lease of the table would have run out at once, and every
//! attempt would begin anew. A process that is stopped alone is found by the others, for which time goes on. Windows of rates and
//! pauses of services last at most so much longer.
//!
//! A time namespace shifts it for the processes inside; the shift is taken out again, so that all processes of the machine
//! read the same time from the shared table.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where the table's time comes from.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's monotonic clock.
    #[default]
    Machine,
    /// Nanoseconds that a test moves by hand.
    Manual(Arc<AtomicU64>),
}

/// A clock with the shift of this process's time namespace.
#[derive(Debug, Clone)]
pub struct MachineClock {
    clock: Clock,
    /// Of the monotonic clock, in nanoseconds.
    shift: i64,
    /// Of the boot clock, which start times of processes are on.
    offset: i64,
}

impl MachineClock {
    /// Reads the shift once: a process cannot change the namespace it is in.
    pub fn new(clock: Clock) -> Self {
        let text = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        Self { clock, shift: clock_offset(&text, "monotonic"), offset: clock_offset(&text, "boottime") }
    }

    /// Nanoseconds since the machine booted, without those that it slept.
    pub fn now(&self) -> u64 {
        match &self.clock {
            Clock::Manual(time) => time.load(Ordering::SeqCst),
            Clock::Machine => {
                let time = clock_gettime(ClockId::Monotonic);
                (time.tv_sec * 1_000_000_000 + time.tv_nsec).wrapping_sub(self.shift) as u64
            }
        }
    }

    /// The shift of the boot clock, in nanoseconds.
    pub fn offset(&self) -> i64 {
        self.offset
    }
}

/// The line `CLOCK SECONDS NANOSECONDS`.
fn clock_offset(text: &str, clock: &str) -> i64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(clock));
    let mut numbers = line.unwrap_or("").split_whitespace().map(|word| word.parse::<i64>().unwrap_or(0));
    numbers.next().unwrap_or(0) * 1_000_000_000 + numbers.next().unwrap_or(0)
}

/// As the table keeps durations.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shift_of_a_time_namespace_is_read() {
        let text = "monotonic           5         0\nboottime            7       250\n";
        assert_eq!(clock_offset(text, "boottime"), 7_000_000_250);
        assert_eq!(clock_offset(text, "monotonic"), 5_000_000_000);
        assert_eq!(clock_offset("monotonic 0 0\nboottime -86400 0\n", "boottime"), -86_400_000_000_000);
        assert_eq!(clock_offset("", "boottime"), 0);
    }

    #[test]
    fn the_clock_does_not_go_back() {
        let clock = MachineClock::new(Clock::Machine);
        let (first, second) = (clock.now(), clock.now());
        assert!(first > 0 && second >= first);
    }
}
