//! 300 agents against a service with a hidden limit of 40: how much of what it can do is used, and how often it says no.
//! By one process, or by several that share the machine. With `--random` the service takes any number and refuses some by
//! chance: how much of what 60 at once can do is done all the same.

use crate::child;
use crate::error::Error;
use crate::figure::Figure;
use crate::served::Served;
use crate::workflow;
use crate::workshop::Workshop;
use std::time::{Duration, Instant};

pub const NAME: &str = "storm";

const CALLS: u32 = 3_000;
const AGENTS: u32 = 300;
const HIDDEN: u64 = 40;
const LATENCY_MS: u64 = 200;

/// As many at once, where calls are refused by chance.
const AT_ONCE: u32 = 60;
const RANDOM_CALLS: u32 = 9_000;

pub fn run(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    match workshop.faults {
        Some(faults) => by_chance(workshop, faults),
        None => by_number(workshop),
    }
}

/// What has nothing to do with the number of calls costs less than fifteen in a hundred.
fn by_chance(workshop: &Workshop, faults: u64) -> Result<Vec<Figure>, Error> {
    let (mut goodput, mut refused) = (vec![], vec![]);
    for _ in 0..workshop.rounds.few {
        let service = Served::faulty(workshop, LATENCY_MS, faults)?;
        let calls = RANDOM_CALLS / workshop.processes;
        prepare(workshop, &service, calls)?;
        let wall = together(workshop, AT_ONCE, calls)?;
        let ideal = f64::from(calls * workshop.processes) / f64::from(AT_ONCE) * LATENCY_MS as f64 / 1e3;
        goodput.push(wall.as_secs_f64() / ideal);
        refused.push(service.end()?.refused as f64 / f64::from(RANDOM_CALLS) * 100.0);
        workshop.tidy();
    }
    Ok(vec![
        Figure::new(NAME, "by chance: over the time that 60 at once take", "×", goodput).at_most(1.0 / 0.85),
        Figure::new(NAME, "by chance: answered with 429, of those answered well", "%", refused),
    ])
}

/// The workflow and its items.
fn prepare(workshop: &Workshop, service: &Served, calls: u32) -> Result<(), Error> {
    let provider = format!("{{name: vllm, base_url: \"{}\"}}, default_model: m", service.base_url);
    workshop.write("storm.yaml", &workflow::patient(&provider))?;
    let items: Vec<_> = (0..calls).collect();
    workshop.write("items.json", &serde_json::json!({ "items": items }).to_string())
}

/// What the service can do is used to nine tenths at least, and it says no to a tenth of what it answers at most.
fn by_number(workshop: &Workshop) -> Result<Vec<Figure>, Error> {
    let (mut goodput, mut refused) = (vec![], vec![]);
    for _ in 0..workshop.rounds.few {
        let service = Served::start(workshop, LATENCY_MS, Some(HIDDEN))?;
        let calls = CALLS / workshop.processes;
        prepare(workshop, &service, calls)?;
        let wall = together(workshop, AGENTS, calls)?;
        let ideal = f64::from(calls * workshop.processes) / HIDDEN as f64 * LATENCY_MS as f64 / 1e3;
        goodput.push(wall.as_secs_f64() / ideal);
        refused.push(service.end()?.refused as f64 / f64::from(CALLS) * 100.0);
        workshop.tidy();
    }
    Ok(vec![
        Figure::new(NAME, "over the time that 40 at once take", "×", goodput).at_most(1.0 / 0.9),
        Figure::new(NAME, "answered with 429, of those answered well", "%", refused).at_most(10.0),
    ])
}

/// The time until all processes have done their part.
fn together(workshop: &Workshop, at_once: u32, calls: u32) -> Result<Duration, Error> {
    let args = ["--quiet", "run", "storm.yaml", "--input-file", "items.json"];
    let started = Instant::now();
    std::thread::scope(|scope| {
        let run = || child::run(&mut workshop.convoke(at_once, &args));
        let runs: Vec<_> = (0..workshop.processes).map(|_| scope.spawn(run)).collect();
        for run in runs {
            let (_, output) = run.join().expect("it does not panic")?;
            crate::workshop::expect_done(&output, calls)?;
        }
        Ok(started.elapsed())
    })
}
