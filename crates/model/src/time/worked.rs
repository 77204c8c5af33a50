//! How long a run was worked on: the time on the clock without the time in which no process drove it or the machine slept.
//!
//! A fold over events. Every owner begins with the same few events, so whatever lies between the last event of one owner and the
//! first of the next is an absence, whether the first was interrupted, killed or parked.

use crate::{Event, Stamped, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The times in which no process drove a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absences {
    last: Option<Timestamp>,
    spans: Vec<(Timestamp, Timestamp)>,
}

impl Absences {
    /// Takes the next event.
    pub fn take(&mut self, stamped: &Stamped) {
        if let Event::MachineSlept { ms } = stamped.event {
            let asleep = Duration::from_millis(ms);
            self.spans.push((Timestamp(stamped.at.0.saturating_sub(asleep.as_micros() as u64)), stamped.at));
        }
        if let Some(last) = self.last.filter(|last| begins_an_owner(&stamped.event) && *last < stamped.at) {
            self.spans.push((last, stamped.at));
        }
        if matches!(stamped.event, Event::RunForked(_)) {
            // What lies before is another run's time.
            self.spans = vec![(Timestamp(0), stamped.at)];
        }
        self.last = Some(stamped.at);
    }

    /// How much of the time from one moment to another a process drove the run.
    pub fn worked(&self, from: Timestamp, to: Timestamp) -> Duration {
        let absent = |&(gone, back): &(Timestamp, Timestamp)| back.min(to).since(gone.max(from));
        to.since(from).saturating_sub(self.spans.iter().map(absent).sum())
    }
}

/// What an owner that takes a run over writes before anything else.
fn begins_an_owner(event: &Event) -> bool {
    matches!(
        event,
        Event::RunOwned { .. } | Event::RunReopened { .. } | Event::PlanChanged { .. } | Event::RunForked(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunReopened;

    fn at(second: u64) -> Timestamp {
        Timestamp(second * 1_000_000)
    }

    fn absences(events: &[(u64, Event)]) -> Absences {
        let mut absences = Absences::default();
        for (seq, (second, event)) in events.iter().enumerate() {
            absences.take(&Stamped { seq: seq as u64 + 1, at: at(*second), event: event.clone() });
        }
        absences
    }

    fn owned(epoch: u64) -> Event {
        Event::RunOwned { epoch, pid: 1, host: "h".into(), uptime: None }
    }

    fn note() -> Event {
        Event::Noted { task: None, code: "x".into(), message: "y".into() }
    }

    #[test]
    fn the_time_between_two_owners_is_nobodys() {
        let events = [(10, owned(1)), (14, note()), (100, owned(2)), (103, note()), (500, owned(3))];
        let absences = absences(&events);
        let seconds = |from, to| absences.worked(at(from), at(to)).as_secs();
        assert_eq!(seconds(10, 14), 4);
        assert_eq!(seconds(10, 103), 7);
        assert_eq!(seconds(12, 100), 2);
        assert_eq!(seconds(20, 90), 0, "wholly within an absence");
        assert_eq!(seconds(10, 501), 8);
    }

    #[test]
    fn a_run_that_is_opened_again_was_away_until_then() {
        let reopened = Event::RunReopened(RunReopened::default());
        let absences = absences(&[(0, owned(1)), (5, note()), (50, reopened), (50, owned(2)), (51, note())]);
        assert_eq!(absences.worked(at(0), at(51)).as_secs(), 6);
    }
}
