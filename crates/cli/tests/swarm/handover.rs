//! How long a slot is on its way from one process to another that waits for it.

use super::lanes::{self, Lane, Shape};
use super::provider::{Manner, Provider, Request, Watch};
use crate::support::World;
use crate::support::journal::Events;
use std::time::Duration;

/// Two processes that share one slot, and how long it took to get from one to the other, each time, in order of length.
pub struct Handovers {
    /// From the end of an attempt in one process to the start of the next one in the other, by their journals. That is more
    /// than the slot's way: the end is written to disk before the slot is given back.
    by_the_journals: Vec<Duration>,
    /// From an answer to one process to the first byte of the other one's request: with everything that both do.
    by_the_provider: Vec<Duration>,
}

impl Handovers {
    /// Says what was measured. What 99 of 100 stay below, by the journals.
    pub fn tell(&self) -> Duration {
        assert!(self.by_the_journals.len() > 50, "the two take turns");
        let [journals, provider] = [&self.by_the_journals, &self.by_the_provider]
            .map(|times| [50, 99].map(|percent| percentile(times, percent)));
        eprintln!("{} handovers: p50, p99 {journals:?}", self.by_the_journals.len());
        eprintln!("and from the answer to the next request: {provider:?}");
        journals[1]
    }
}

pub fn measure(seed: u64, tasks: usize) -> Handovers {
    let shape = Shape { lanes: 2, tasks, limit: 1, lease: Duration::from_secs(10), conversing: None };
    let watch = Watch::new();
    let provider = Provider::start(watch, Manner { limit: 1, hold: (1, 5), seed, turns: false });
    let world = lanes::world(&shape, &provider.url());
    let mut both: Vec<_> = (0..2).map(|lane| Lane::start(&world, &shape, lane)).collect();
    crate::support::process::until("both runs end", || {
        both.iter_mut().for_each(|lane| lane.look(&world, &shape, false));
        both.iter().all(Lane::is_over)
    });
    let seen = provider.end();
    assert_eq!(seen.above, [], "one at a time");
    Handovers { by_the_journals: by_the_journals(&world), by_the_provider: by_the_provider(seen.requests) }
}

fn by_the_provider(mut requests: Vec<Request>) -> Vec<Duration> {
    requests.sort_by_key(|request| request.begin);
    let lane = |request: &Request| request.prompt.expect("nobody was cut off").lane;
    let pairs = requests.windows(2).filter(|pair| lane(&pair[0]) != lane(&pair[1]));
    sorted(pairs.map(|pair| pair[1].begin.saturating_sub(pair[0].end)).collect())
}

fn by_the_journals(world: &World) -> Vec<Duration> {
    let mut spans = Vec::new();
    for lane in 0..2 {
        let run = lanes::run_of(world, lane, 0).expect("each lane has a run");
        spans.extend(spans_of(&Events::of(world, &run), lane));
    }
    spans.sort_unstable();
    let others = spans.windows(2).filter(|pair| pair[0].2 != pair[1].2);
    sorted(others.map(|pair| pair[1].0.saturating_sub(pair[0].1)).collect())
}

/// Start, end and lane of every attempt.
fn spans_of(events: &Events, lane: usize) -> Vec<(u64, u64, usize)> {
    let times = |kind: &'static str| {
        let of_kind = events.0.iter().filter_map(move |event| {
            let body = event["event"].get(kind)?;
            Some((body["task"].as_str()?.to_owned(), event["at"].as_u64()?))
        });
        of_kind.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (starts, ends) = (times("attempt_started"), times("attempt_finished"));
    starts.into_iter().map(|(task, start)| (start, ends[&task], lane)).collect()
}

fn sorted(mut micros: Vec<u64>) -> Vec<Duration> {
    micros.sort_unstable();
    micros.into_iter().map(Duration::from_micros).collect()
}

/// What so many of a hundred stay below.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or_default()
}
