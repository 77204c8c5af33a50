//! How much has to happen until the next snapshot. Pure.
//!
//! Two kinds of histories are worth one. Of a conversation most events are left out, so one is due when enough of those have come. Of a
//! fan-out nearly all stay, but are read back much quicker than from the journal; one is due when there are many more of them.
//! Taking one reads the last one and what came since, so all of them together read each event of the journal once, and each
//! event of a snapshot a bounded number of times.

use super::compact::is_passing;
use convoke_model::Stamped;

/// Fewer events than these are read as quickly as a snapshot is found.
const LEAST: u64 = 10_000;

/// What a snapshot has kept may be read again after so much of it has come anew: it is read so much quicker than a journal.
const QUICKER: u64 = 5;

/// Of events that stay, fewer than these are read in half a second. Reading them once more costs the run as much, so it is not done
/// for less.
const LEAST_LASTING: u64 = 250_000;

/// When the next snapshot is due.
#[derive(Debug, Clone)]
pub struct Pace {
    /// Events since the last one that it would leave out.
    passing: u64,
    /// All events since then.
    all: u64,
    /// What the last one has kept.
    kept: u64,
}

impl Pace {
    /// Since a snapshot that has kept so many events; since none, 0.
    pub fn after(kept: u64) -> Pace {
        Pace { passing: 0, all: 0, kept }
    }

    /// Counts what is on disk now.
    pub fn count(&mut self, events: &[Stamped]) {
        self.passing += events.iter().filter(|stamped| is_passing(&stamped.event)).count() as u64;
        self.all += events.len() as u64;
    }

    /// Whether the next one is worth its price.
    pub fn is_due(&self) -> bool {
        let shortens = self.passing >= LEAST.max(self.kept / QUICKER) && self.passing >= self.all / 2;
        shortens || self.all >= LEAST_LASTING.max(self.kept / QUICKER)
    }

    /// One is being taken.
    pub fn begin(&mut self) {
        (self.passing, self.all) = (0, 0);
    }

    /// It has kept so many events.
    pub fn kept(&mut self, events: u64) {
        self.kept = events;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Event, TaskId, Timestamp};

    fn many(event: &Event, count: u64) -> Vec<Stamped> {
        (1..=count).map(|seq| Stamped { seq, at: Timestamp(seq), event: event.clone() }).collect()
    }

    /// After how many events of this kind one is due that follows a snapshot of so many.
    fn due(event: &Event, kept: u64) -> u64 {
        let mut pace = Pace::after(kept);
        let thousand = many(event, 1_000);
        while !pace.is_due() {
            pace.count(&thousand);
        }
        pace.all
    }

    #[test]
    fn what_is_left_out_makes_one_due_sooner_than_what_stays() {
        let passing = Event::Blocked { task: TaskId("a".into()), on: "slots".into() };
        let lasting = Event::TaskWoken { task: TaskId("a".into()) };
        assert_eq!([0, 60_000, 120_000].map(|kept| due(&passing, kept)), [10_000, 12_000, 24_000]);
        assert_eq!([0, 500_000, 2_000_000].map(|kept| due(&lasting, kept)), [250_000, 250_000, 400_000]);
    }

    #[test]
    fn a_few_that_are_left_out_among_many_that_stay_are_no_reason() {
        let mut pace = Pace::after(0);
        pace.count(&many(&Event::TaskWoken { task: TaskId("a".into()) }, 40_000));
        pace.count(&many(&Event::Blocked { task: TaskId("a".into()), on: "slots".into() }, 12_000));
        assert!(!pace.is_due());
    }
}
