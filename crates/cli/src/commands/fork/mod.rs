//! `convoke fork`: a new run that begins with a copy of another one's events.
//!
//! Everything that can refuse it does so before the new run exists. From then on the fork is a run like every other one.

mod effects;
mod point;
mod set;

pub(crate) use effects::permit;

use crate::args::{ForkArgs, RunFlags};
use crate::cassette::{self, CassetteMode};
use crate::changes;
use crate::clock;
use crate::compiling;
use crate::config::{Config, Consent};
use crate::config_snapshot;
use crate::console::Console;
use crate::driving::admission::Candidate;
use crate::driving::{Drive, Equipment};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::stored::{self, Stored};
use crate::view::format;
use convoke_engine::{Changes, EngineError, Fork, Start, report};
use convoke_failpoint::failpoint;
use convoke_journal::{Error, RunMeta, Sqlite, StateDir, run_id};
use convoke_model::{
    Base, BaseKind, Blob, Event, JsonText, Payload, RunStarted, SetOutput, Stamped, Timestamp,
};
use convoke_plan::Plan;
use convoke_plan::compile::{GivenInput, check_inputs};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes the fork and drives it.
pub fn run(console: &Console, args: &ForkArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let base = Stored::open(&state, &args.run)?;
    let last = point::of(&base, args.at.as_deref())?;
    let prefix = base.reader.prefix(last)?;
    let meta = base.reader.meta()?;
    let before = Arc::new(changes::stored_plan(&state, &base.run, &meta, || Ok(prefix.events.clone()))?);
    let Some(Stamped { event: Event::RunStarted(begun), .. }) = prefix.events.first() else {
        return Err(CommandFailure::new(Exit::Refused, format!("run `{}` has not begun", base.run)));
    };
    let file = args.workflow.as_deref().map(absolute);
    let console = &console.for_folder(Path::new(&begun.folder), &Consent::Project)?;
    let config = Config { model_override: args.flags.model.clone(), ..console.config.clone() };
    let plan = match &file {
        Some(file) => compiled(console, file, &config, &args.flags)?,
        None => (*before).clone(),
    };
    enter(begun)?;
    let (set, blobs) = set::outputs(&base, &before, &prefix.events, &args.set)?;
    let inputs = given_inputs(console, args, begun, &plan)?;
    let request = Fork {
        run: base.run.clone(),
        seq: last,
        hash: prefix.hash,
        before: before.clone(),
        now: Arc::new(plan.clone()),
        set,
    };
    let base_of = Base { run: base.run.clone(), how: BaseKind::Fork { seq: last, hash: prefix.hash } };
    let cassette = CassetteMode::of_run(&args.flags);
    let started = RunStarted {
        run: run_id(clock::now(), entropy()),
        file: file.map_or_else(|| begun.file.clone(), |file| file.display().to_string()),
        plan: plan.digest(),
        inputs: Payload::Inline(JsonText::of(&inputs)),
        skip_gates: args.flags.skip_gates,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        metadata: metadata(begun, &args.flags, &cassette),
        configuration: config_snapshot::stated(&console.config),
        base: Some(base_of),
        ..(**begun).clone()
    };
    let mut history = prefix.events.clone();
    history[0].event = Event::RunStarted(Box::new(started.clone()));
    let opening = opening(&base, request, &history)?;
    effects::ask(&base, &before, &history, &opening, args.repeat_effects)?;
    tell(console, &base, last, &history, &opening);
    let mut plan = plan;
    let config = Config { asks_nobody: cassette.is_replay(), ..config };
    compiling::renew(&mut plan, &config, args.flags.provider.as_deref());
    Candidate {
        plan: &plan,
        inputs: &inputs,
        config: &config,
        state: &state,
        cassette: &cassette,
        begun: true,
    }
    .admit()?;
    failpoint!("fork.admitted");
    let equipment = Equipment::for_plan(&plan, &cassette, &console.config)?;
    equipment.refuse_secrets_in(&inputs)?;
    let journal = create(&state, &plan, started, (&base, &blobs), history, opening)?;
    failpoint!("fork.journal.made");
    console.say(&format!("run {} is a fork of {}", journal.run(), base.run));
    let start = Start::Resume(Changes::None);
    let (plan, flags) = (Arc::new(plan), &args.flags);
    Drive { console, state, plan, journal, start, equipment, flags, reusable: None }.finish()
}

fn compiled(
    console: &Console,
    file: &Path,
    config: &Config,
    flags: &RunFlags,
) -> Result<Plan, CommandFailure> {
    let compiled = compiling::compile_file(file, config, flags.provider.as_deref())?;
    compiling::accept(console, file, compiled, flags.strict || config.strict)
}

/// A file as it is found from the folder of the base, too.
fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn enter(begun: &RunStarted) -> Result<(), CommandFailure> {
    std::env::set_current_dir(&begun.folder).map_err(|error| {
        let words = format!(
            "run `{}` was started in `{}`, which cannot be entered: {error}",
            begun.run, begun.folder
        );
        CommandFailure::new(Exit::Refused, words)
    })
}

/// The inputs of the base, those of the command line on top.
fn given_inputs(
    console: &Console,
    args: &ForkArgs,
    begun: &RunStarted,
    plan: &Plan,
) -> Result<Map<String, Value>, CommandFailure> {
    let kept: Map<String, Value> = match &begun.inputs {
        Payload::Inline(inputs) => serde_json::from_str(inputs.as_str()).unwrap_or_default(),
        _ => Map::new(),
    };
    let given = inputs::given(&args.inputs)?;
    if given.is_empty() && args.workflow.is_none() {
        return Ok(kept);
    }
    let mut all: indexmap::IndexMap<String, GivenInput> =
        kept.into_iter().map(|(name, value)| (name, GivenInput::Json(value))).collect();
    if let (Some(declared), true) = (plan.root().inputs.as_ref(), args.workflow.is_some()) {
        // An input that the other workflow does not know any more is left behind.
        all.retain(|name, _| declared.contains_key(name));
    }
    all.extend(given);
    let all: Vec<_> = all.into_iter().collect();
    let named = check_inputs(plan.root(), &all).map_err(|errors| inputs::refused(&errors))?;
    inputs::with_files(console, plan, named)
}

/// The words of the base, without those about how its calls were recorded and shared.
fn metadata(
    begun: &RunStarted,
    flags: &RunFlags,
    cassette: &CassetteMode,
) -> indexmap::IndexMap<String, Value> {
    let mut all = begun.metadata.clone();
    for own in [cassette::RECORDED, cassette::REPLAYED, "share"] {
        all.shift_remove(own);
    }
    all.extend(flags.share.then(|| ("share".to_owned(), Value::from(true))));
    all.extend(
        cassette.memory().map(|(key, folder)| (key.to_owned(), Value::from(folder.display().to_string()))),
    );
    all
}

fn opening(base: &Stored, fork: Fork, history: &[Stamped]) -> Result<Vec<Event>, CommandFailure> {
    let opened = fork.opening(history, &|digest| base.reader.blob(digest).ok().flatten());
    opened.map_err(|error| match error {
        EngineError::Ended(ended) => {
            CommandFailure::new(Exit::Refused, format!("run `{}` cannot be forked there: {ended}", base.run))
                .hint("--at TASK begins before that task; --set and --workflow change what has been done")
        }
        other => other.into(),
    })
}

/// What is kept, and what that had cost.
fn tell(console: &Console, base: &Stored, last: u64, history: &[Stamped], opening: &[Event]) {
    let kept = format::plural(convoke_engine::done(history, opening).len() as u64, "finished task");
    let used = format::usage(&report::fold(history).usage);
    let used = used.map(|used| format!("; {used} of it spent by {}", base.run)).unwrap_or_default();
    let last_of = base.events.last().map_or(0, |event| event.seq);
    console.say(&format!("{kept} of {} kept, up to event {last} of {last_of}{used}", base.run));
}

/// Writes the copy and what follows it, as one run or none.
fn create(
    state: &StateDir,
    plan: &Plan,
    mut started: RunStarted,
    (base, blobs): (&Stored, &[Blob]),
    mut history: Vec<Stamped>,
    opening: Vec<Event>,
) -> Result<Sqlite, CommandFailure> {
    let (next, last) = (history.len() as u64 + 1, history.last().map_or(Timestamp(0), |event| event.at));
    let at = clock::now().max(last);
    let stamped = (next..).zip(opening).map(|(seq, event)| Stamped { seq, at, event });
    history.extend(stamped);
    let (owner, plan) = (stored::ourselves(), JsonText::of(plan));
    for _ in 0..8 {
        history[0].event = Event::RunStarted(Box::new(started.clone()));
        let meta = RunMeta { plan: plan.clone(), source: JsonText::of(&started) };
        match Sqlite::create_copy(state, &started.run, &meta, &owner, &history, (&base.reader, blobs)) {
            Err(Error::RunExists { .. }) => started.run = run_id(clock::now(), entropy()),
            made => return Ok(made?),
        }
    }
    Err(CommandFailure::new(Exit::State, "no free name for the run was found"))
}

pub(super) use super::run::entropy;

/// An output that was set, and its blob if it is large.
fn payload(task: convoke_model::TaskId, value: &Value) -> (SetOutput, Option<Blob>) {
    let (output, blob) = Payload::new(JsonText::of(value));
    (SetOutput { task, output }, blob)
}
