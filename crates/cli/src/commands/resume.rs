//! `convoke resume`: an old run goes on where it stopped.

use crate::args::{GoalBounds, ResumeArgs, RunFlags};
use crate::cassette::CassetteMode;
use crate::changes::{self, Current};
use crate::compiling;
use crate::config::{Config, Consent};
use crate::config_snapshot;
use crate::console::Console;
use crate::driving::admission::Candidate;
use crate::driving::{Drive, Equipment, destinations};
use crate::env;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::goal_request;
use crate::retrying::{self, Again};
use crate::stored;
use convoke_engine::{Changes, Start};
use convoke_failpoint::failpoint;
use convoke_journal::{Error, Index, Journal, Search, Sqlite, StateDir, StoppedOwner};
use convoke_model::{BaseKind, Payload, RunId, RunStarted, RunStatus};
use convoke_plan::Plan;
use convoke_plan::compile::with_addresses_of;
use convoke_schedule::Reusable;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// Finds the run and continues it.
pub fn run(console: &Console, args: &ResumeArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_writing(console)?;
    let run = match &args.run {
        Some(name) => stored::find(&state, name)?,
        // What is done again may have ended well.
        None if !args.retry.is_empty() => stored::last_here(&state)?,
        None => newest_here(&state)?,
    };
    let again = Again { tasks: &args.retry, repeat_effects: args.repeat_effects };
    let terms = Terms { accept: args.accept_changes, bounds: &args.bounds, again, flags: &args.flags };
    resume_run(console, state, &run, &terms)
}

/// On what terms a run goes on.
pub struct Terms<'a> {
    /// With the workflow as it is now.
    pub accept: bool,
    /// How far a goal may go from here on. Stating it is accepting it.
    pub bounds: &'a GoalBounds,
    /// What is done again though it has ended.
    pub again: Again<'a>,
    /// What `run` takes too.
    pub flags: &'a RunFlags,
}

impl Terms<'_> {
    fn look(&self, console: &Console, file: &str, before: &Plan) -> Result<Current, CommandFailure> {
        if file != goal_request::FILE {
            self.bounds.require_none(file)?;
        } else if let Some(anew) = goal_request::anew(console, before, self.bounds, self.accept)? {
            return Ok(anew);
        }
        changes::look(console, file, before, self.flags)
    }

    fn accepts(&self) -> bool {
        self.accept || self.bounds.stated().is_some()
    }
}

/// The newest unfinished run that was started in this folder.
fn newest_here(state: &StateDir) -> Result<RunId, CommandFailure> {
    let folder = stored::folder();
    let search = Search { folder: Some(folder), ..Search::default() };
    let rows = stored::search_runs(state, &search)?;
    let mut here = rows.iter();
    if let Some(row) = here.clone().find(|row| !row.status.is_end()) {
        return Ok(row.id.clone());
    }
    let failure = CommandFailure::new(Exit::Usage, "no run of this folder is unfinished");
    Err(match here.next() {
        Some(row) if row.status == RunStatus::Succeeded => {
            failure.hint(format!("the last run, {}, succeeded: there is nothing to resume", row.id))
        }
        Some(row) => {
            let status = row.status.word().replace('_', " ");
            failure.hint(format!("the last run ended as {status}; to resume it: convoke resume {}", row.id))
        }
        None => failure.hint("`convoke runs` lists the runs of every folder"),
    })
}

/// The run's journal, for this process to write. A run is taken from an owner that has said nothing for longer than its lease.
fn own(console: &Console, state: &StateDir, run: &RunId) -> Result<Sqlite, CommandFailure> {
    let (owner, lease) = (stored::ourselves(), console.config.lease);
    let holder = match Sqlite::open_owner(state, run, &owner) {
        Err(Error::Owned { holder, .. })
            if holder.silent_for(&owner).is_some_and(|silence| silence >= lease) =>
        {
            holder
        }
        opened => return Ok(opened?),
    };
    let taken = Sqlite::take_over(state, run, &owner, lease, stopped_owner())?;
    let silence = holder.silent_for(&owner).unwrap_or_default().as_secs();
    let ended = match taken.ended {
        true => "; it was stopped, so it was ended",
        false => "",
    };
    console.warn(&format!(
        "{holder} has said nothing for {silence} s; run `{run}` is taken over from it{ended}"
    ));
    Ok(taken.journal)
}

/// Tests of a program with debug assertions leave a stopped owner to be refused when it goes on.
fn stopped_owner() -> StoppedOwner {
    match cfg!(debug_assertions) && env::get_filled(env::TEST_STOPPED_OWNER).is_some() {
        true => StoppedOwner::FindsOut,
        false => StoppedOwner::Ends,
    }
}

/// Takes the run over and drives it.
pub fn resume_run(
    console: &Console,
    state: StateDir,
    run: &RunId,
    terms: &Terms<'_>,
) -> Result<Exit, CommandFailure> {
    let flags = terms.flags;
    let cassette = CassetteMode::of_resume(flags)?;
    let journal = own(console, &state, run)?;
    if let Some(unchecked) = journal.unchecked_end() {
        console.warn(&unchecked.to_string());
    }
    failpoint!("resume.owned");
    let started = how_it_started(&journal, run)?;
    let console = &console.for_folder(Path::new(&started.folder), &Consent::Project)?;
    Index::expect_changes(&state, run);
    failpoint!("resume.listed");
    enter_folder(&started, run)?;
    let before = changes::stored_plan(&state, run, &journal.meta()?, || journal.read_all())?;
    let prompts_went = destinations::of(&before);
    let retried = retrying::of(&journal, run, &before, &terms.again)?;
    let (mut plan, changed) = plan_now(console, (&state, &journal), terms, &started.file, before)?;
    let changed = match (retried, changed) {
        (Some(_), Changes::Accept { .. }) => {
            let words = "with other bounds a run goes on as a whole: --retry stands alone";
            return Err(CommandFailure::new(Exit::Usage, words));
        }
        (retried, changed) => retried.unwrap_or(changed),
    };
    let cassette = cassette.or_as_started(&started.metadata);
    let model_override = flags.model.clone();
    let config = Config { asks_nobody: cassette.is_replay(), model_override, ..console.config.clone() };
    compiling::renew(&mut plan, &config, flags.provider.as_deref());
    let begun = journal.next_seq() > 1;
    let inputs = &given_inputs(&started);
    Candidate { plan: &plan, inputs, config: &config, state: &state, cassette: &cassette, begun }.admit()?;
    if !cassette.is_replay() {
        tell_differences(console, &started, &prompts_went, &plan);
    }
    let equipment = Equipment::for_plan(&plan, &cassette, &console.config)?;
    cassette.announcement().iter().for_each(|words| console.say(words));
    let flags = &RunFlags { share: flags.share || is_shared(&started), ..flags.clone() };
    failpoint!("resume.admitted");
    let reusable = reused(&started, &state)?;
    let start = how_to_start(&journal, started, &plan, changed);
    Drive { console, state, plan: Arc::new(plan), journal, start, equipment, flags, reusable }.finish()
}

/// The plan that the run goes on with, and what has changed in it since it stopped.
fn plan_now(
    console: &Console,
    (state, journal): (&StateDir, &Sqlite),
    terms: &Terms<'_>,
    file: &str,
    before: Plan,
) -> Result<(Plan, Changes), CommandFailure> {
    let run = journal.run();
    match terms.look(console, file, &before)? {
        Current::Same(None) => Ok((before, Changes::None)),
        Current::Same(Some(now)) => Ok((with_addresses_of(before, &now), Changes::None)),
        Current::Gone(path) => {
            console.warn(&format!("`{path}` is gone; the run goes on with the text it was started with"));
            Ok((before, Changes::None))
        }
        Current::Changed(plan, _) if terms.accepts() => {
            failpoint!("resume.plan.before_keep");
            changes::keep(state, run, &plan)?;
            failpoint!("resume.plan.kept");
            Ok((*plan, Changes::Accept { before: Arc::new(before) }))
        }
        Current::Changed(plan, difference) => Err(changes::refusal(journal, run, before, &plan, &difference)),
    }
}

/// The run whose outputs it takes, where it was started so.
fn reused(started: &RunStarted, state: &StateDir) -> Result<Option<Arc<Reusable>>, CommandFailure> {
    let base = started.base.as_ref().filter(|base| base.how == BaseKind::Reuse);
    base.map(|base| crate::reusing::open(state, &base.run.0)).transpose()
}

/// What the run was started with; its first event holds it.
fn given_inputs(started: &RunStarted) -> Map<String, Value> {
    match &started.inputs {
        Payload::Inline(inputs) => serde_json::from_str(inputs.as_str()).unwrap_or_default(),
        _ => Map::new(),
    }
}

/// A run that was started with `--share` goes on so.
fn is_shared(started: &RunStarted) -> bool {
    started.metadata.get("share").and_then(serde_json::Value::as_bool) == Some(true)
}

/// A run that was killed before its first event has not begun: it begins now.
fn how_to_start(journal: &Sqlite, started: RunStarted, plan: &Plan, changed: Changes) -> Start {
    match journal.next_seq() {
        0 | 1 => Start::Fresh(Box::new(RunStarted { plan: plan.digest(), ..started })),
        _ => Start::Resume(changed),
    }
}

fn how_it_started(journal: &Sqlite, run: &RunId) -> Result<RunStarted, CommandFailure> {
    serde_json::from_str(journal.meta()?.source.as_str()).map_err(|error| {
        CommandFailure::new(Exit::Refused, format!("run `{run}` does not say where it came from: {error}"))
    })
}

/// Says what is different from when the run was started, before anything is sent.
fn tell_differences(console: &Console, started: &RunStarted, prompts_went: &[String], plan: &Plan) {
    let prompts_go = destinations::of(plan);
    if prompts_go != prompts_went {
        let place = |places: &[String]| match places {
            [] => "no service".to_owned(),
            places => places.join("; "),
        };
        let (now, then) = (place(&prompts_go), place(prompts_went));
        console.warn(&format!("prompts go to {now}; when the run was started, to {then}"));
    }
    for difference in config_snapshot::differences(&started.configuration, &console.config) {
        console.warn(&format!("configuration: {difference} when the run was started"));
    }
}

/// Commands and files are found from the folder that the run was started in, so that is where it goes on.
fn enter_folder(started: &RunStarted, run: &RunId) -> Result<(), CommandFailure> {
    if crate::cluster::is_entered() && !Path::new(&started.folder).is_dir() {
        return Ok(()); // it was started on another machine, and workers perform it
    }
    std::env::set_current_dir(&started.folder).map_err(|error| {
        let words =
            format!("run `{run}` was started in `{}`, which cannot be entered: {error}", started.folder);
        CommandFailure::new(Exit::Refused, words)
    })
}
