//! Time as events carry it.
//!
//! A [`Timestamp`] is microseconds since the Unix epoch, but within one process it only moves forward: the engine
//! makes it from the wall clock once and from the monotonic clock ever after. Deciders know no other clock. Beside it: the machine's
//! boot clock (`uptime`), and how long a run was worked on (`worked`).

mod uptime;
mod worked;

pub use uptime::{Uptime, clock_offset, process_start};
pub use worked::Absences;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A moment of a run, in microseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time that has passed since `earlier`; zero if it lies ahead.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// RFC 3339 in UTC, to the millisecond.
    pub fn rfc3339(self) -> String {
        let (seconds, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let (days, second) = ((seconds / 86_400) as i64, seconds % 86_400);
        let (year, month, day) = civil_from_days(days);
        let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{:03}Z", micros / 1000)
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Timestamp;
    fn add(self, by: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(u64::try_from(by.as_micros()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

/// The proleptic Gregorian date of a day counted from 1970-01-01 (days of 400-year eras, years starting in March).
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_people_write_it() {
        assert_eq!(Timestamp(0).rfc3339(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp(951_782_400_123_000).rfc3339(), "2000-02-29T00:00:00.123Z");
        assert_eq!(Timestamp(1_794_700_800_000_000).rfc3339(), "2026-11-15T00:00:00.000Z");
    }

    #[test]
    fn a_moment_ahead_is_no_time_ago() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
        assert_eq!(Timestamp(5) + Duration::from_millis(2), Timestamp(2005));
    }
}
