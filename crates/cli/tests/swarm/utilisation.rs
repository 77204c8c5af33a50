//! How much of the limit is made use of while work waits.
//!
//! At the moment of each picture of the table, made use of is
//!
//! - every request in flight at the provider whose process is not stopped,
//! - every lease in time of a process that is stopped, whatever its requests do: no other process may have it,
//! - every lease in quarantine, for the same reason,
//!
//! and never more than the limit. What a process holds and does not send with (its journal is written, its request is made)
//! is not made use of, nor is what a dead process held until it is found. A moment counts for the time until the next
//! picture, if work waits in every process that lives and is not stopped, and no stopped process has the tables in its hands:
//! then no lease can be granted.

use super::provider::Request;
use super::samples::Sample;

/// Averages over time, from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
#[allow(dead_code, reason = "some are only printed")]
pub struct Utilisation {
    /// Requests in flight, and what the stopped and the quarantined keep.
    pub at_the_provider: f64,
    /// Of that, what the stopped and the quarantined keep.
    pub kept: f64,
    /// Leases out, of the limit: what the table has given away.
    pub of_the_table: f64,
    /// Seconds that counted.
    pub seconds: f64,
    /// Seconds with a stopped process inside the table.
    pub stuck: f64,
}

/// Pictures further apart than this were not taken in time, and say nothing of the time between.
const LONGEST: u64 = 200_000;

pub fn measure(requests: &[Request], samples: &[Sample], limit: usize) -> Utilisation {
    let mut flights = Flights::of(requests);
    let (mut used, mut kept, mut given, mut time, mut stuck) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for pair in samples.windows(2) {
        let (sample, length) = (&pair[0], (pair[1].at - pair[0].at).min(LONGEST) as f64 / 1e6);
        flights.advance(sample.at);
        stuck += if sample.stuck { length } else { 0.0 };
        if sample.stuck || sample.torn || !sample.is_full_of_work() {
            continue;
        }
        used += (in_flight(sample, &flights) + sample.kept()).min(limit) as f64 * length;
        kept += sample.kept() as f64 * length;
        given += sample.out().min(limit) as f64 * length;
        time += length;
    }
    let share = |amount: f64| if time > 0.0 { amount / time / limit as f64 } else { 0.0 };
    Utilisation {
        at_the_provider: share(used),
        kept: share(kept),
        of_the_table: share(given),
        seconds: time,
        stuck,
    }
}

/// Requests of processes that are not stopped.
fn in_flight(sample: &Sample, flights: &Flights) -> usize {
    let stopped = sample.instances.values().filter(|part| part.stopped).filter_map(|part| part.lane);
    flights.all() - stopped.map(|lane| flights.of_lane(lane)).sum::<usize>()
}

/// Requests in flight by lane, at a moment that only moves forward.
struct Flights {
    changes: Vec<(u64, usize, i64)>,
    next: usize,
    now: Vec<i64>,
}

impl Flights {
    fn of(requests: &[Request]) -> Flights {
        let named = requests.iter().filter_map(|request| Some((request.prompt?.lane, request)));
        let mut changes: Vec<_> =
            named.flat_map(|(lane, request)| [(request.begin, lane, 1), (request.end, lane, -1)]).collect();
        changes.sort_unstable();
        let lanes = changes.iter().map(|(_, lane, _)| lane + 1).max().unwrap_or(0);
        Flights { changes, next: 0, now: vec![0; lanes] }
    }

    fn advance(&mut self, until: u64) {
        while let Some((_, lane, change)) = self.changes.get(self.next).filter(|(at, ..)| *at <= until) {
            self.now[*lane] += change;
            self.next += 1;
        }
    }

    fn of_lane(&self, lane: usize) -> usize {
        self.now.get(lane).map_or(0, |count| usize::try_from(*count).expect("what ends has begun"))
    }

    fn all(&self) -> usize {
        (0..self.now.len()).map(|lane| self.of_lane(lane)).sum()
    }
}
