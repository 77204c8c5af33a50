//! Runs through the engine as a library: the real loop, the real attempts, the scripted provider.

use super::compile;
use super::decide::started;
use crate::child::{Meter, Spent};
use crate::error::Error;
use crate::workflow;
use convoke_agent::Attempts;
use convoke_engine::{Clock, Options, Outcome, Setup, Start, prepare};
use convoke_journal::{Journal, Memory, Owner, RunMeta, Sqlite, StateDir};
use convoke_model::{JsonText, RunId, RunStatus};
use convoke_plan::Plan;
use convoke_providers::Registry;
use convoke_tools::{Environment, Processes};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// How long an agent that waits takes.
const LATENCY: &str = "{name: scripted, latency_ms: 50}";

/// A fan-out of agents that answer at once, nothing on disk.
pub fn fan_out(count: u32, limit: u32) -> Result<Spent, Error> {
    let plan = compile(&workflow::fan_out(workflow::AT_ONCE))?;
    drive(plan, json!({"count": count}), limit, Box::new(Memory::new()))
}

/// Agents that wait, with a journal in memory or on disk.
pub fn wait(count: u32, limit: u32, state: Option<PathBuf>) -> Result<Spent, Error> {
    let plan = compile(&workflow::flat(LATENCY))?;
    let journal: Box<dyn Journal> = match state {
        None => Box::new(Memory::new()),
        Some(folder) => Box::new(on_disk(folder, &plan)?),
    };
    drive(plan, json!({"items": (0..count).collect::<Vec<_>>()}), limit, journal)
}

fn on_disk(folder: PathBuf, plan: &Plan) -> Result<Sqlite, Error> {
    let state = StateDir::open(folder)?;
    let meta = RunMeta { plan: JsonText::of(plan), source: JsonText::of("") };
    let owner = Owner { pid: std::process::id(), host: "measured".into(), boot: "measured".into() };
    Ok(Sqlite::create(&state, &RunId("measured".into()), &meta, &owner)?)
}

/// Drives a run as the command line does, on one thread; what is taken is the time of `drive` alone.
fn drive(plan: Arc<Plan>, inputs: Value, limit: u32, journal: Box<dyn Journal>) -> Result<Spent, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().enable_io().build();
    let runtime = runtime.map_err(Error::io("start", "runtime".as_ref()))?;
    runtime.block_on(async {
        let (run, _handle, _watch) = prepare(setup(plan, inputs, limit, journal))?;
        let meter = Meter::start();
        let outcome = run.drive().await?;
        let spent = meter.spent();
        expect_success(&outcome)?;
        Ok(spent)
    })
}

fn setup(plan: Arc<Plan>, inputs: Value, limit: u32, journal: Box<dyn Journal>) -> Setup {
    let providers = Registry::new(Default::default(), Arc::new(|_| None));
    let commands = Processes::new(Environment::new([], &[]));
    Setup {
        start: Start::Fresh(Box::new(started(&plan, inputs))),
        plan,
        journal,
        executor: Arc::new(Attempts::new(Arc::new(providers), Arc::new(commands))),
        options: Options {
            max_concurrency: limit,
            interactive: false,
            pid: std::process::id(),
            host: "measured".into(),
        },
        leftovers: Arc::new(|_, _| {}),
        clock: Clock::system(),
    }
}

fn expect_success(outcome: &Outcome) -> Result<(), Error> {
    match outcome.status {
        RunStatus::Succeeded => Ok(()),
        _ => Err(Error::Odd(format!("a measured run ended so: {outcome:?}"))),
    }
}
