//! `convoke run`: a workflow file becomes a run.

use crate::args::RunArgs;
use crate::cassette::CassetteMode;
use crate::clock;
use crate::compiling;
use crate::config::Config;
use crate::config_snapshot;
use crate::console::Console;
use crate::driving::admission::Candidate;
use crate::driving::{self, Drive, Equipment};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::inputs;
use crate::plan_text;
use crate::reusing;
use crate::stored::{self, Stored};
use crate::subject::Subject;
use crate::view::format;
use crate::workspaces;
use convoke_engine::Start;
use convoke_failpoint::failpoint;
use convoke_journal::{Error, RunMeta, Sqlite, StateDir, run_id};
use convoke_model::{Base, BaseKind, JsonText, Payload, RunStarted};
use convoke_plan::Plan;
use convoke_plan::compile::check_inputs;
use convoke_plan::view::estimate;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// Checks everything that can be checked, then starts.
pub fn run(console: &Console, args: &RunArgs) -> Result<Exit, CommandFailure> {
    let given = inputs::given(&args.inputs)?;
    let subject = Subject::of(&args.file, given, args.inputs.down)?;
    begin(console, args, &subject)
}

/// The same for something that is known already.
fn begin(console: &Console, args: &RunArgs, subject: &Subject) -> Result<Exit, CommandFailure> {
    let strict = args.flags.strict || console.config.strict;
    let config = with_flags(&console.config, args);
    let compiled = subject.compile(&config, args.flags.provider.as_deref())?;
    let plan = compiling::accept(console, &subject.file, compiled, strict)?;
    if !args.dry_run && !args.print_manifest {
        subject.require_trust(&console.config, args.found, &plan)?;
    }
    begin_with(console, args, subject, plan)
}

/// Starts what was accepted, once everything else that can be checked is.
pub fn begin_with(
    console: &Console,
    args: &RunArgs,
    subject: &Subject,
    plan: Plan,
) -> Result<Exit, CommandFailure> {
    if args.print_manifest {
        return print_manifest(console, subject, &plan);
    }
    let named = check_inputs(plan.root(), &subject.given).map_err(|errors| inputs::refused(&errors))?;
    let inputs = inputs::with_files(console, &plan, named.clone())?;
    let config = &with_flags(&console.config, args);
    workspaces::require(console, &plan)?;
    let cassette = CassetteMode::of_run(&args.flags);
    let state = &stored::for_reading(console);
    let candidate =
        Candidate { plan: &plan, inputs: &inputs, config, state, cassette: &cassette, begun: false };
    if args.dry_run {
        return dry_run(console, args, &candidate, &named);
    }
    candidate.admit()?;
    failpoint!("run.admitted");
    let equipment = Equipment::for_plan(&plan, &cassette, &console.config)?;
    equipment.refuse_secrets_in(&inputs)?;
    start(console, args, subject, plan, inputs, equipment)
}

/// Prints what would run; saved, it runs by itself.
fn print_manifest(console: &Console, subject: &Subject, plan: &Plan) -> Result<Exit, CommandFailure> {
    match subject.manifest(plan)? {
        Ok(text) => {
            console.data(&text)?;
            Ok(Exit::Success)
        }
        Err(found) => {
            found.iter().for_each(|one| console.finding(one, true));
            Err(CommandFailure::explained(Exit::Refused))
        }
    }
}

/// The configuration, as the flags of a run change what is compiled.
pub fn with_flags(config: &Config, args: &RunArgs) -> Config {
    let (model_override, replies) = (args.flags.model.clone(), args.replies.clone());
    Config { asks_nobody: asks_nobody(args), model_override, replies, ..config.clone() }
}

/// Whether every answer comes from a file.
fn asks_nobody(args: &RunArgs) -> bool {
    args.replies.is_some() || args.flags.replay.is_some()
}

/// Says what would run, and spends nothing; refuses what a run would refuse. Standard output stays free: it is for results.
fn dry_run(
    console: &Console,
    args: &RunArgs,
    candidate: &Candidate<'_>,
    named: &Map<String, Value>,
) -> Result<Exit, CommandFailure> {
    candidate.is_priced()?;
    let Candidate { plan, inputs, .. } = candidate;
    let limit = driving::run_limit(&console.config, &args.flags, plan);
    console.complain(&plan_text::text(plan, limit, console.paint));
    console.complain(&format!("inputs: {}", serde_json::to_string(named).expect("inputs are JSON")));
    console.complain(&format!("at most {} at once", format::plural(limit.into(), "attempt")));
    driving::limit_remark(&console.config, &args.flags, plan)
        .iter()
        .for_each(|remark| console.complain(remark));
    console.complain(&driving::admission::words(&estimate(plan, inputs)));
    driving::destinations::line(plan, &console.config).iter().for_each(|line| console.complain(line));
    candidate.admit()?;
    if let Some(name) = &args.reuse {
        let state = stored::for_reading(console);
        let reusable = reusing::open(&state, name)?;
        console.complain(&reusing::Affects::of(&state, &reusable, plan, inputs)?.words());
    }
    console.complain("nothing was run (--dry-run)");
    Ok(Exit::Success)
}

fn start(
    console: &Console,
    args: &RunArgs,
    subject: &Subject,
    plan: Plan,
    inputs: Map<String, Value>,
    equipment: Equipment,
) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let reusable = args.reuse.as_deref().map(|name| reusing::open(&state, name)).transpose()?;
    if let Some(reusable) = &reusable {
        let again = reusing::Affects::of(&state, reusable, &plan, &inputs)?;
        again.permit(args.repeat_effects)?;
    }
    let folder = std::env::current_dir().map_err(|error| {
        CommandFailure::new(Exit::Refused, format!("the current folder cannot be used: {error}"))
    })?;
    let started = RunStarted {
        run: run_id(clock::now(), entropy()),
        workflow: plan.root().name.to_string(),
        file: subject.file.display().to_string(),
        folder: folder.display().to_string(),
        plan: plan.digest(),
        // However large the inputs are, the first event holds them: nothing else would find them again.
        inputs: Payload::Inline(JsonText::of(&inputs)),
        seed: entropy(),
        skip_gates: args.flags.skip_gates,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        metadata: metadata(&plan, args),
        configuration: config_snapshot::stated(&console.config),
        base: reusable.as_ref().map(|base| Base { run: base.run.clone(), how: BaseKind::Reuse }),
    };
    failpoint!("run.journal.before");
    let (journal, started) = create(&state, &plan, started)?;
    failpoint!("run.journal.made");
    let start = Start::Fresh(Box::new(started));
    let (plan, flags, of_run) = (Arc::new(plan), &args.flags, (state.clone(), journal.run().clone()));
    let ended = Drive { console, state, plan, journal, start, equipment, flags, reusable }.finish();
    if args.explain {
        let (state, run) = of_run;
        let events = Stored::open(&state, &run.0)?.events;
        console.complain(&reusing::explain::text(&convoke_engine::report::fold(&events)));
    }
    ended
}

/// The author's words, those of the command line on top, whether others may take part, and where the run's calls are
/// written to or come from.
fn metadata(plan: &Plan, args: &RunArgs) -> IndexMap<String, Value> {
    let mut all = plan.root().metadata.clone();
    all.extend(args.metadata.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))));
    if args.flags.share {
        all.insert("share".to_owned(), Value::from(true));
    }
    let cassette = CassetteMode::of_run(&args.flags);
    all.extend(
        cassette.memory().map(|(key, folder)| (key.to_owned(), Value::from(folder.display().to_string()))),
    );
    all
}

/// Makes the journal under a new name; two runs of one second collide once in a million.
///
/// What is to be the first event is stored with the journal, so that a crash before that event loses nothing.
fn create(
    state: &StateDir,
    plan: &Plan,
    mut started: RunStarted,
) -> Result<(Sqlite, RunStarted), CommandFailure> {
    let owner = stored::ourselves();
    let plan = JsonText::of(plan);
    for _ in 0..8 {
        let meta = RunMeta { plan: plan.clone(), source: JsonText::of(&started) };
        match Sqlite::create(state, &started.run, &meta, &owner) {
            Err(Error::RunExists { .. }) => started.run = run_id(clock::now(), entropy()),
            made => return Ok((made?, started)),
        }
    }
    Err(CommandFailure::new(Exit::State, "no free name for the run was found"))
}

/// An unpredictable number, from the keys that the standard library draws for its maps.
pub(super) fn entropy() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
