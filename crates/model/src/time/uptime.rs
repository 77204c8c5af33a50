//! The machine's own clock: how long ago it booted, suspensions included. No process can set it, and a changed date leaves it alone.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A reading of the boot clock. Readings of one boot can be compared, others cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uptime {
    /// The boot's id.
    pub boot: String,
    /// Microseconds since then.
    pub micros: u64,
}

impl Uptime {
    /// The time from an earlier reading to this one; `None` if they cannot be compared.
    pub fn since(&self, earlier: &Uptime) -> Option<Duration> {
        let comparable = !self.boot.is_empty() && self.boot == earlier.boot;
        comparable.then(|| self.micros.checked_sub(earlier.micros)).flatten().map(Duration::from_micros)
    }
}

/// By how much the time namespace of a process shifts a clock (`monotonic` or `boottime`), from the text of
/// `/proc/self/timens_offsets`, in nanoseconds.
pub fn clock_offset(text: &str, clock: &str) -> i64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(clock));
    let mut numbers = line.unwrap_or("").split_whitespace().map(|word| word.parse::<i64>().unwrap_or(0));
    numbers.next().unwrap_or(0) * 1_000_000_000 + numbers.next().unwrap_or(0)
}

/// The start of a process as every time namespace tells it: the clock ticks since the boot that `/proc/PID/stat` has for a reader whose
/// namespace shifts clocks as the text of `/proc/self/timens_offsets` says.
pub fn process_start(ticks: u64, offsets: &str) -> u64 {
    // The kernel counts a hundred to a second for user space, whatever its own clock does.
    let shift = clock_offset(offsets, "boottime") / 10_000_000;
    ticks.saturating_add_signed(-shift)
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
    fn a_process_has_one_start_in_every_time_namespace() {
        assert_eq!(process_start(1_234, ""), 1_234);
        assert_eq!(process_start(10_001_234, "monotonic 50000 0\nboottime 100000 0\n"), 1_234);
        assert_eq!(process_start(234, "boottime -10 0\n"), 1_234);
    }

    #[test]
    fn only_readings_of_one_boot_are_compared() {
        let reading = |boot: &str, micros| Uptime { boot: boot.into(), micros };
        assert_eq!(reading("a", 9).since(&reading("a", 4)), Some(Duration::from_micros(5)));
        assert_eq!(reading("a", 4).since(&reading("a", 9)), None, "a clock that went back is another clock");
        assert_eq!(reading("b", 9).since(&reading("a", 4)), None);
        assert_eq!(reading("", 9).since(&reading("", 4)), None);
    }
}
