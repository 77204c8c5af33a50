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
    fn only_readings_of_one_boot_are_compared() {
        let reading = |boot: &str, micros| Uptime { boot: boot.into(), micros };
        assert_eq!(reading("a", 9).since(&reading("a", 4)), Some(Duration::from_micros(5)));
        assert_eq!(reading("a", 4).since(&reading("a", 9)), None, "a clock that went back is another clock");
        assert_eq!(reading("b", 9).since(&reading("a", 4)), None);
        assert_eq!(reading("", 9).since(&reading("", 4)), None);
    }
}
