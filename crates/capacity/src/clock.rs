//! The boot clock: it goes on while the machine sleeps, and no process can set it.
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
    /// The machine's boot clock.
    #[default]
    Boot,
    /// Nanoseconds that a test moves by hand.
    Manual(Arc<AtomicU64>),
}

/// A clock with the shift of this process's time namespace.
#[derive(Debug, Clone)]
pub struct BootClock {
    clock: Clock,
    offset: i64,
}

impl BootClock {
    /// Reads the shift once: a process cannot change the namespace it is in.
    pub fn new(clock: Clock) -> Self {
        let offset = fs::read_to_string("/proc/self/timens_offsets").map_or(0, |text| boot_offset(&text));
        Self { clock, offset }
    }

    /// Nanoseconds since the machine booted.
    pub fn now(&self) -> u64 {
        match &self.clock {
            Clock::Manual(time) => time.load(Ordering::SeqCst),
            Clock::Boot => {
                let time = clock_gettime(ClockId::Boottime);
                (time.tv_sec * 1_000_000_000 + time.tv_nsec).wrapping_sub(self.offset) as u64
            }
        }
    }

    /// The shift, in nanoseconds.
    pub fn offset(&self) -> i64 {
        self.offset
    }
}

/// The line `boottime SECONDS NANOSECONDS`.
fn boot_offset(text: &str) -> i64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("boottime"));
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
        assert_eq!(
            boot_offset("monotonic           0         0\nboottime            7       250\n"),
            7_000_000_250
        );
        assert_eq!(boot_offset("monotonic 0 0\nboottime -86400 0\n"), -86_400_000_000_000);
        assert_eq!(boot_offset(""), 0);
    }

    #[test]
    fn the_boot_clock_does_not_go_back() {
        let clock = BootClock::new(Clock::Boot);
        let (first, second) = (clock.now(), clock.now());
        assert!(first > 0 && second >= first);
    }
}
