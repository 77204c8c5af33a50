//! Runs through the engine as a library: the real loop, the real attempts, the scripted provider.

use super::compile;
use super::decide::started;
use crate::child::{Meter, Spent};
use crate::error::Error;
use crate::workflow;
use convoke_agent::{Attempts, NoPrograms, NoTools};
use convoke_engine::{Clock, Limits, Notice, Options, Outcome, Setup, Start, Watch, prepare};
use convoke_journal::{Journal, Memory, Owner, RunMeta, Sqlite, StateDir};
use convoke_model::{Event, JsonText, RunId, RunStatus};
use convoke_plan::Plan;
use convoke_providers::Registry;
use convoke_tools::{Environment, Processes};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

/// How long an agent that waits takes.
const LATENCY: &str = "{name: scripted, latency_ms: 50}";

/// A fan-out of agents that answer at once, nothing on disk, nobody watching.
pub fn fan_out(count: u32, limit: u32) -> Result<Spent, Error> {
    let plan = compile(&workflow::fan_out(workflow::AT_ONCE))?;
    let setup = setup(plan, json!({"count": count}), limit, Box::new(Memory::new()));
    drive(setup, drop)
}

/// Agents that wait, one for each item.
pub fn wait(count: u32, limit: u32, state: Option<PathBuf>) -> Result<Spent, Error> {
    let plan = compile(&workflow::flat(LATENCY))?;
    timed(plan, json!({"items": (0..count).collect::<Vec<_>>()}), limit, state)
}

/// The agents of a manifest, in seven departments, and one answer of all their outputs.
pub fn manifest(count: u32, limit: u32, strategy: &str, state: Option<PathBuf>) -> Result<Spent, Error> {
    let plan = compile(&workflow::departments(count, limit, strategy, LATENCY))?;
    timed(plan, json!({ "query": "How are we doing?", "context": "" }), limit, state)
}

/// A run with a journal in memory or on disk. The time is that until the run's end is in the journal.
fn timed(plan: Arc<Plan>, inputs: Value, limit: u32, state: Option<PathBuf>) -> Result<Spent, Error> {
    let journal: Box<dyn Journal> = match state {
        None => Box::new(Memory::new()),
        Some(folder) => Box::new(on_disk(folder, &plan)?),
    };
    let setup = setup(plan, inputs, limit, journal);
    let (started, (sender, ended)) = (Instant::now(), channel());
    let watching =
        |watch| drop(thread::spawn(move || sender.send(end_of_run(watch).map(|end| end - started))));
    let spent = drive(setup, watching)?;
    let missing = || Error::Odd("the end of the run was not told".into());
    Ok(Spent { wall: ended.recv().ok().flatten().ok_or_else(missing)?, ..spent })
}

/// The moment at which a watcher hears that the run's end is in the journal.
fn end_of_run(mut watch: Watch) -> Option<Instant> {
    loop {
        let Notice::Committed(events) = watch.blocking_recv()? else { continue };
        if events.iter().any(|event| matches!(event.event, Event::RunFinished { .. })) {
            return Some(Instant::now());
        }
    }
}

fn on_disk(folder: PathBuf, plan: &Plan) -> Result<Sqlite, Error> {
    let state = StateDir::open(folder)?;
    let meta = RunMeta { plan: JsonText::of(plan), source: JsonText::of("") };
    let owner =
        Owner { pid: std::process::id(), host: "measured".into(), boot: "measured".into(), start: None };
    Ok(Sqlite::create(&state, &RunId("measured".into()), &meta, &owner)?)
}

/// Drives a run as the command line does, on one thread, until its journal is closed.
fn drive(setup: Setup, watch: impl FnOnce(Watch)) -> Result<Spent, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().enable_io().build();
    let runtime = runtime.map_err(Error::io("start", "runtime".as_ref()))?;
    runtime.block_on(async {
        let (run, _handle, notices) = prepare(setup)?;
        watch(notices);
        let meter = Meter::start();
        let outcome = run.drive().await?;
        let spent = meter.spent();
        expect_success(&outcome)?;
        Ok(spent)
    })
}

/// What a measured run needs.
pub fn setup(plan: Arc<Plan>, inputs: Value, limit: u32, journal: Box<dyn Journal>) -> Setup {
    let providers = Registry::new(Default::default(), Arc::new(|_| None));
    let commands = Processes::new(Environment::new([], &[]));
    Setup {
        reusable: None,
        start: Start::Fresh(Box::new(started(&plan, inputs))),
        plan,
        journal,
        executor: Arc::new(Attempts::new(
            Arc::new(providers),
            Arc::new(commands),
            Arc::new(NoTools),
            Arc::new(NoPrograms),
        )),
        options: Options {
            max_concurrency: limit,
            interactive: false,
            patience: std::time::Duration::ZERO,
            pid: std::process::id(),
            host: "measured".into(),
            limits: Limits::default(),
        },
        leftovers: Arc::new(|_, _| {}),
        clock: Clock::starting_at(convoke_model::Timestamp(1)),
        capacity: None,
        projects: Default::default(),
    }
}

fn expect_success(outcome: &Outcome) -> Result<(), Error> {
    match outcome.status {
        RunStatus::Succeeded => Ok(()),
        _ => Err(Error::Odd(format!("a measured run ended so: {outcome:?}"))),
    }
}
