//! Conversations under a model's limit, performed by processes with room: owners that share, and workers that claim from them.
//! All of them are stopped and killed.

use super::judge;
use super::lanes::{self, Kind, Lane, Shape, Trouble};
use super::provider::{Manner, Provider, Watch};
use crate::support::World;
use crate::support::journal::Events;
use crate::support::process::Process;
use crate::support::random::{Random, fresh_seed, number};
use crate::swarm::{table_of, what_is_left};
use rustix::process::Signal;
use std::time::Duration;

/// Calls to the model at once.
const CALLS: usize = 12;

/// Processes that only work for others.
const WORKERS: usize = 2;

/// How often processes are looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// How long everything may take after the last run has begun, in microseconds.
const LONGEST: u64 = 240_000_000;

fn shape() -> Shape {
    let lease = Duration::from_secs(2);
    Shape { lanes: 3, tasks: 60, limit: 30, lease, conversing: Some(CALLS) }
}

/// A worker, or the one after it.
struct Worker {
    process: Process,
    stopped_until: Option<u64>,
}

impl Worker {
    fn start(world: &World) -> Worker {
        let process = world.start(&["-q", "work", "--at-once", "8", "--idle-seconds", "600"]);
        Worker { process, stopped_until: None }
    }

    fn go_on(&mut self, watch: Watch) {
        if self.stopped_until.take_if(|until| watch.now() >= *until).is_some() {
            self.process.signal(Signal::CONT);
        }
    }

    /// Stops it for so long, or kills it.
    fn suffer(&mut self, world: &World, watch: Watch, length: Option<u64>) {
        match length {
            Some(length) if self.stopped_until.is_none() => {
                self.process.signal(Signal::STOP);
                self.stopped_until = Some(watch.now() + length);
            }
            Some(_) => {}
            None => {
                self.process.kill();
                *self = Worker::start(world);
            }
        }
    }

    fn dismiss(mut self) {
        self.process.kill();
    }
}

struct Mixed {
    world: World,
    shape: Shape,
    watch: Watch,
    random: Random,
    lanes: Vec<Lane>,
    workers: Vec<Worker>,
    troubles: Vec<Trouble>,
    stops: usize,
    kills: usize,
}

impl Mixed {
    /// Lets everything happen until all runs have ended.
    fn drive(&mut self, until: u64) {
        let mut next = self.watch.now();
        while self.lanes.iter().any(|lane| !lane.is_over()) {
            let now = self.watch.now();
            assert!(now < until + LONGEST, "some runs do not end");
            for lane in &mut self.lanes {
                lane.go_on(self.watch);
                lane.look(&self.world, &self.shape, now < until);
            }
            self.workers.iter_mut().for_each(|worker| worker.go_on(self.watch));
            if now >= next {
                self.trouble();
                next = now + 1000 * (150 + self.random.below(550));
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// One of all processes is stopped, for longer than a lease now and then; or killed, one time in five.
    fn trouble(&mut self) {
        let lease = self.shape.lease.as_millis() as u64;
        let long = if self.random.below(4) == 0 { lease + lease / 4 } else { 200 };
        let length = (self.random.below(5) != 0).then(|| 1000 * (long + self.random.below(lease)));
        *(if length.is_some() { &mut self.stops } else { &mut self.kills }) += 1;
        let who = self.random.below((self.lanes.len() + self.workers.len()) as u64) as usize;
        match (who.checked_sub(self.lanes.len()), length) {
            (Some(worker), length) => self.workers[worker].suffer(&self.world, self.watch, length),
            (None, Some(length)) => self.troubles.extend(self.lanes[who].stop(self.watch, length)),
            (None, None) => self.troubles.extend(self.lanes[who].kill(&self.world, &self.shape, self.watch)),
        }
    }

    /// Each run by its journal: every task has ended once, and unknown ends have a reason.
    fn judge_runs(&self) -> (usize, usize, usize) {
        let (mut runs, mut taken, mut lost) = (0, 0, 0);
        for lane in 0..self.shape.lanes {
            for run in lanes::runs_of(&self.world, lane) {
                let events = Events::of(&self.world, &run);
                assert_eq!(
                    events.attempts("attempt_finished").len(),
                    self.shape.tasks,
                    "run {run}: each once"
                );
                assert_eq!(events.finished().len(), self.shape.tasks, "run {run}: each of them");
                assert_eq!(events.count("attempt_failed"), 0, "run {run}: no attempt fails");
                assert_eq!(events.count("run_finished"), 1, "run {run} ends once");
                (runs, taken) = (runs + 1, taken + events.count("attempt_taken"));
                lost += events.count("attempt_lost");
            }
        }
        (runs, taken, lost)
    }
}

#[test]
fn a_models_limit_holds_in_conversations_whoever_performs_them_and_is_stopped_or_killed() {
    let seed = number("CONVOKE_SEED").unwrap_or_else(fresh_seed);
    let seconds = number("CONVOKE_SWARM_SECONDS").unwrap_or(0);
    eprintln!("CONVOKE_SEED={seed}, {seconds} s");
    let (shape, watch) = (shape(), Watch::new());
    let provider = Provider::start(watch, Manner { limit: CALLS, hold: (20, 120), seed, turns: true });
    let world = lanes::world(&shape, &provider.url());
    let workers = (0..WORKERS).map(|_| Worker::start(&world)).collect();
    let lanes = (0..shape.lanes).map(|lane| Lane::start(&world, &shape, lane)).collect();
    let random = Random(seed ^ 0xace5);
    let (troubles, stops, kills) = (Vec::new(), 0, 0);
    let mut mixed = Mixed { world, shape, watch, random, lanes, workers, troubles, stops, kills };
    mixed.drive(watch.now() + seconds * 1_000_000);
    std::mem::take(&mut mixed.workers).into_iter().for_each(Worker::dismiss);
    let table = what_is_left(&table_of(&mixed.world));
    let seen = provider.end();
    let (runs, taken, lost) = mixed.judge_runs();
    eprintln!(
        "{runs} runs, {} requests, at most {} at once of {CALLS}; {} stops, {} kills ({} of owners); {taken} taken, {lost} lost",
        seen.requests.len(),
        seen.peak,
        mixed.stops,
        mixed.kills,
        judge::count(&mixed.troubles, Kind::Kill),
    );
    assert_eq!(seen.above, [], "the limit is {CALLS}");
    assert!(runs >= mixed.shape.lanes && taken > 0, "everybody had a part in it");
    assert!(seen.requests.len() >= 2 * runs * mixed.shape.tasks, "each has two turns");
    let counters = &table.counters;
    assert_eq!((counters.double_releases, counters.double_consumes), (0, 0), "{counters:?}");
    assert_eq!((table.leases.len(), table.waiters.len()), (0, 0), "nothing is left: {table:?}");
}
