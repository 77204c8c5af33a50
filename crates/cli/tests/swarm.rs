//! The swarm: many real processes of one state directory against a provider that counts, with stops and kills thrown in.
//!
//! Limits are promises: never more requests at once than the limit, at any instant, whichever process is stopped or killed; what is
//! free is used; what a dead process held is back at once; no task is lost and none is done twice without need.
//!
//!     CONVOKE_SWARM_SECONDS=600 cargo nextest run -p convoke swarm:: --no-capture
//!
//! goes on for ten minutes (unless told, one run in each of eight lanes). The mixed one has conversations, a limit of the
//! model's, and processes that perform attempts of others' runs. A failure names its seed; CONVOKE_SEED=N makes the
//! same troubles again, as far as the machine allows.
#![allow(clippy::print_stderr, reason = "a random test must say its seed, and a measurement its figures")]

use crate::support;
mod handover;
mod judge;
mod lanes;
mod mixed;
mod provider;
mod samples;
mod trials;
mod trouble;
mod utilisation;

use convoke_capacity::{Capacity, Counters, Identity, Options, Snapshot};
use judge::Found;
use lanes::{Kind, Lane, Shape, Trouble};
use provider::{Manner, Prompt, Provider, Request, Seen, Watch};
use samples::{Sample, Sampler};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use support::World;
use support::journal::Events;
use support::random::{fresh_seed, number};
use trouble::TroubleMaker;
use utilisation::Utilisation;

/// Eight processes of three hundred agents.
fn shape() -> Shape {
    Shape { lanes: 8, tasks: 300, limit: 40, lease: Duration::from_secs(2), conversing: None }
}

/// What a process may be given while it is stopped: it has this many demands in the queue of the machine at most.
const MOST_GAINED: usize = 4;

/// What the table gives away is used at once by a program that was built to be fast. One that was not, on a machine that
/// builds and tests other things meanwhile, takes its time from grant to request.
const LEAST_IN_FLIGHT: f64 = if cfg!(debug_assertions) { 0.75 } else { 0.95 };

#[test]
fn limits_hold_whoever_is_stopped_or_killed() {
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    let seconds = number("CONVOKE_SWARM_SECONDS").unwrap_or(0);
    eprintln!("CONVOKE_SEED={seed}, {seconds} s");
    let swarm = Swarm::run(seed, Duration::from_secs(seconds));
    let figures = swarm.figures();
    eprintln!("{figures:#?}");
    swarm.judge(&figures);
}

#[test]
#[ignore = "a measurement"]
fn a_slot_goes_from_one_process_to_another_within_50_ms() {
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    eprintln!("CONVOKE_SEED={seed}");
    // Builds and other tests run beside this one; what is measured is ours in the best of a few rounds.
    let rounds = (0..3).map(|round| handover::measure(seed + round, 150).tell());
    let most = rounds.into_iter().find(|most| *most < Duration::from_millis(50));
    assert!(most.is_some(), "no round was within 50 ms");
}

/// All that is known of a swarm that has come to its end.
struct Swarm {
    world: World,
    shape: Shape,
    seen: Seen,
    samples: Vec<Sample>,
    troubles: Vec<Trouble>,
    table: Snapshot,
}

/// What is told of it.
#[derive(Debug)]
#[allow(dead_code, reason = "they are printed")]
struct Figures {
    limit: usize,
    peak: usize,
    stops: usize,
    kills: usize,
    seconds: f64,
    utilisation: Utilisation,
    slowest_to_get_back: Option<Duration>,
    gotten_back: usize,
    most_gained_while_stopped: usize,
    found: Found,
    counters: Counters,
}

impl Swarm {
    fn run(seed: u64, time: Duration) -> Swarm {
        let (shape, watch) = (shape(), Watch::new());
        let provider =
            Provider::start(watch, Manner { limit: shape.limit, hold: (20, 200), seed, turns: false });
        let world = lanes::world(&shape, &provider.url());
        let sampler = Sampler::start(watch, table_of(&world));
        let end = watch.now() + time.as_micros() as u64;
        let mut lanes: Vec<_> = (0..shape.lanes).map(|lane| Lane::start(&world, &shape, lane)).collect();
        let mut maker = TroubleMaker::new(seed, watch);
        maker.drive(&mut lanes, &world, &shape, watch, end);
        let samples = sampler.end();
        let table = what_is_left(&table_of(&world));
        Swarm { world, shape, seen: provider.end(), samples, troubles: maker.troubles, table }
    }

    fn figures(&self) -> Figures {
        let requests = judge::by_prompt(&self.seen);
        let back = judge::times_to_get_back(&self.troubles, &self.samples);
        let time = |edge: Option<&Sample>| edge.map_or(0.0, |sample| sample.at as f64 / 1e6);
        Figures {
            limit: self.shape.limit,
            peak: self.seen.peak,
            stops: judge::count(&self.troubles, Kind::Stop),
            kills: judge::count(&self.troubles, Kind::Kill),
            seconds: time(self.samples.last()) - time(self.samples.first()),
            utilisation: utilisation::measure(&self.seen.requests, &self.samples, self.shape.limit),
            slowest_to_get_back: back.iter().max().copied(),
            gotten_back: back.len(),
            most_gained_while_stopped: judge::most_gained(&self.troubles, &self.samples),
            found: self.judge_runs(&requests),
            counters: self.table.counters,
        }
    }

    /// Each run by itself.
    fn judge_runs(&self, requests: &HashMap<Prompt, Vec<Request>>) -> Found {
        let mut all = Found::default();
        for lane in 0..self.shape.lanes {
            let runs = lanes::runs_of(&self.world, lane);
            for (round, run) in runs.iter().rev().enumerate() {
                let events = Events::of(&self.world, run);
                let found = judge::judge_run((lane, round), &events, &self.shape, requests, &self.troubles);
                all.add(&found);
            }
        }
        all
    }

    fn judge(&self, figures: &Figures) {
        assert_eq!(self.seen.above, [], "the limit is {}", self.shape.limit);
        assert!(figures.found.tasks >= self.shape.lanes * self.shape.tasks, "every lane had a run");
        let slowest = figures.slowest_to_get_back.unwrap_or_default();
        // Within a second on a machine that has time; what must hold on every machine is that it comes back.
        assert!(slowest < Duration::from_secs(30), "what a dead process held was back after {slowest:?}");
        // How much of the limit is in use depends on how fast the machine is: from a free place to its grant, and from a grant to its
        // request, a program takes its time. The long version judges both; it is meant for an idle machine.
        if number("CONVOKE_SWARM_SECONDS").is_some() {
            let (of_the_table, in_flight) =
                (figures.utilisation.of_the_table, figures.utilisation.at_the_provider);
            assert!(of_the_table > 0.95 && in_flight > LEAST_IN_FLIGHT, "{:?}", figures.utilisation);
        }
        let gained = figures.most_gained_while_stopped;
        assert!(gained <= MOST_GAINED, "a stopped process was given {gained}");
        let counters = &self.table.counters;
        assert_eq!((counters.double_releases, counters.double_consumes), (0, 0), "{counters:?}");
        assert_eq!(
            (self.table.leases.len(), self.table.waiters.len()),
            (0, 0),
            "nothing is left: {:?}",
            self.table
        );
    }
}

fn table_of(world: &World) -> std::path::PathBuf {
    world.state().join("capacity")
}

/// The table once all processes have gone, and the next one has cleared up.
fn what_is_left(path: &Path) -> Snapshot {
    let table = Capacity::open(path, &Identity::default(), Options::default()).expect("it can be opened");
    table.reclaim().expect("nobody is in it");
    table.snapshot()
}
