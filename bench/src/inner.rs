//! Jobs that a child of this program does: what has no command of its own.

mod decide;
pub mod engine;
mod floor;
mod serve;
mod shape;

use crate::child::Meter;
use crate::error::Error;
use crate::journals::{self, Growth};
use convoke_plan::Plan;
use convoke_plan::compile;
use convoke_plan::source::{SourceReadError, Sources};
pub use decide::started;
use serde::{Deserialize, Serialize};
pub use shape::Shape;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// A job.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Nothing: what it takes to start a program.
    Nothing,
    /// Tasks of the runtime that do nothing, in a `JoinSet`.
    Floor {
        /// How many.
        count: u32,
    },
    /// The pure half of a run: scheduler, governor, prompts; no runtime, no journal.
    Decide {
        /// How its tasks hang together.
        #[serde(default)]
        shape: Shape,
        /// How many.
        count: u32,
        /// At once.
        limit: u32,
    },
    /// A fan-out through the engine with the memory journal.
    FanOut {
        /// How many.
        count: u32,
        /// At once.
        limit: u32,
    },
    /// A model service, until standard input ends; says its address first.
    Serve {
        /// From a request to its answer.
        latency_ms: u64,
        /// Requests at once that it takes; what is more is told to come back in a second.
        most: Option<u64>,
        /// Of a thousand requests, so many are told so however few there are at once.
        #[serde(default)]
        faults: u64,
    },
    /// Agents of 50 ms through the engine.
    Wait {
        /// How many.
        count: u32,
        /// At once.
        limit: u32,
        /// The state folder; none means the memory journal.
        state: Option<PathBuf>,
    },
    /// Writing a long journal, for a look at how it is opened.
    WriteJournal {
        /// The state folder.
        state: PathBuf,
        /// What it is long of.
        growth: Growth,
        /// How many events.
        events: u64,
    },
    /// Opening a long journal.
    Open {
        /// The state folder.
        state: PathBuf,
        /// Whether its snapshots are used.
        snapshots: bool,
    },
    /// The agents of a manifest, 50 ms each, and how their outputs are merged.
    Manifest {
        /// How many.
        count: u32,
        /// At once.
        limit: u32,
        /// The strategy of the synthesis.
        strategy: String,
        /// The state folder; none means the memory journal.
        state: Option<PathBuf>,
    },
}

/// Does a job and says what it took, as JSON.
pub fn run(job: &str) -> Result<ExitCode, Error> {
    let job: Job = serde_json::from_str(job).map_err(|error| Error::Odd(format!("job `{job}`: {error}")))?;
    let spent = match job {
        Job::Nothing => Ok(Meter::start().spent()),
        Job::Floor { count } => floor::run(count),
        Job::Decide { shape, count, limit } => decide::run(shape, count, limit),
        Job::Serve { latency_ms, most, faults } => serve::run(latency_ms, most, faults),
        Job::FanOut { count, limit } => engine::fan_out(count, limit),
        Job::Open { state, snapshots } => journals::open(&state, snapshots),
        Job::WriteJournal { state, growth, events } => {
            journals::write(&state, growth, events)?;
            Ok(Default::default())
        }
        Job::Wait { count, limit, state } => engine::wait(count, limit, state),
        Job::Manifest { count, limit, strategy, state } => engine::manifest(count, limit, &strategy, state),
    }?;
    println!("{}", serde_json::to_string(&spent).expect("it is JSON"));
    Ok(ExitCode::SUCCESS)
}

/// The plan of a workflow that needs no other file.
pub fn compile(text: &str) -> Result<Arc<Plan>, Error> {
    // As many children as a shape has; how many a process allows is not what is counted.
    let caps = compile::Caps { relationship_children: u32::MAX, ..compile::Caps::default() };
    let options = compile::Options { caps, ..compile::Options::default() };
    let compiled = compile::compile("workflow.yaml", &OneFile(text), &options);
    let findings: Vec<_> = compiled.diagnostics.iter().map(|found| found.message.to_string()).collect();
    compiled.plan.map(Arc::new).ok_or_else(|| Error::Odd(format!("a workflow is refused: {findings:?}")))
}

struct OneFile<'a>(&'a str);

impl Sources for OneFile<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        (path == "workflow.yaml").then(|| self.0.as_bytes().to_vec()).ok_or(SourceReadError::NotFound)
    }

    fn env(&self, _name: &str) -> Option<String> {
        None
    }
}
