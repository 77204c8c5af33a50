//! A workflow file that changed since its run was started: noticed, shown, and accepted only when asked to.

use crate::args::RunFlags;
use crate::compiling;
use crate::console::Console;
use crate::difference::difference;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::goal_request;
use crate::organisation;
use crate::presets::PREFIX;
use crate::sources::Disk;
use crate::view::format;
use convoke_journal::{Error, Journal, RunMeta, Sqlite, StateDir, replace_durably};
use convoke_model::{Digest, Event, RunId, Stamped, TaskId};
use convoke_plan::{Plan, Sources};
use convoke_schedule::{Scheduler, changed, replayable};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The workflow files as they are now.
pub enum Current {
    /// As they were; with the plan that they make in the environment of now.
    Same(Option<Box<Plan>>),
    /// One cannot be read any more.
    Gone(String),
    /// They make another plan; with the difference in words.
    Changed(Box<Plan>, String),
}

/// The plan that the run goes by: the stored one, or the change that was accepted last.
///
/// The journal is read only where some change was ever accepted, because a long one takes its time.
pub fn stored_plan(
    state: &StateDir,
    run: &RunId,
    meta: &RunMeta,
    events: impl FnOnce() -> Result<Vec<Stamped>, Error>,
) -> Result<Plan, CommandFailure> {
    let accepted = if has_kept(state, run) { last_accepted(&events()?) } else { None };
    let text = match accepted {
        None => meta.plan.as_str().to_owned(),
        Some(digest) => {
            let path = kept_at(state, run, &digest);
            std::fs::read_to_string(&path).map_err(|error| {
                let words = format!("the accepted plan `{}` cannot be read: {error}", path.display());
                CommandFailure::new(Exit::Refused, words)
            })?
        }
    };
    serde_json::from_str(&text).map_err(|error| {
        let words = format!("the stored plan of run `{run}` cannot be read: {error}");
        CommandFailure::new(Exit::Refused, words).hint("use the version of convoke that started the run")
    })
}

fn last_accepted(events: &[Stamped]) -> Option<Digest> {
    events.iter().rev().find_map(|stamped| match &stamped.event {
        Event::PlanChanged(changed) => Some(Some(changed.plan)),
        // The plan of a fork is stored with it: what was accepted before was the other run's.
        Event::RunForked(_) => Some(None),
        _ => None,
    })?
}

fn has_kept(state: &StateDir, run: &RunId) -> bool {
    let is_plan = |name: &str| name.starts_with("plan-") && name.ends_with(".json");
    let entries = std::fs::read_dir(state.run_dir(run));
    entries.is_ok_and(|entries| entries.flatten().any(|entry| is_plan(&entry.file_name().to_string_lossy())))
}

/// Keeps an accepted plan beside the journal, before anything is done by it.
pub fn keep(state: &StateDir, run: &RunId, plan: &Plan) -> Result<(), CommandFailure> {
    let path = kept_at(state, run, &plan.digest());
    let text = serde_json::to_string(plan).expect("a plan is data");
    replace_durably(&path, text.as_bytes()).map_err(Into::into)
}

fn kept_at(state: &StateDir, run: &RunId, digest: &Digest) -> PathBuf {
    state.run_dir(run).join(format!("plan-{digest}.json"))
}

/// Whether a name stands for a text that no file holds.
fn is_made(file: &str) -> bool {
    file.starts_with(PREFIX) || file.starts_with(organisation::PREFIX) || file == goal_request::FILE
}

/// Compares the stored texts with the files, and only if they differ, what they mean.
pub fn look(
    console: &Console,
    file: &str,
    before: &Plan,
    flags: &RunFlags,
) -> Result<Current, CommandFailure> {
    if let Some(made) = before.sources.iter().find(|source| source.path == file && is_made(file)) {
        // A generated workflow has no file: its text is in the plan.
        let compiled = compiling::compile_text(file, &made.text, &console.config, flags.provider.as_deref());
        return Ok(Current::Same(compiled.plan.map(Box::new)));
    }
    if crate::trust::is_url(file) {
        // What was trusted is in the plan; what the address says now is another workflow.
        return Ok(Current::Same(None));
    }
    let mut words = String::new();
    let disk = Disk::for_file(file);
    for source in &before.sources {
        let Ok(bytes) = disk.read(&source.path) else { return Ok(Current::Gone(source.path.clone())) };
        let now = String::from_utf8_lossy(&bytes);
        if now != source.text {
            words.push_str(&format!("{}:\n{}", source.path, difference(&source.text, &now)));
        }
    }
    let file = Path::new(file);
    if words.is_empty() {
        let compiled = compiling::compile_file(file, &console.config, flags.provider.as_deref());
        return Ok(Current::Same(compiled.ok().and_then(|compiled| compiled.plan).map(Box::new)));
    }
    let compiled = compiling::compile_file(file, &console.config, flags.provider.as_deref())?;
    let plan = compiling::accept(console, file, compiled, flags.strict || console.config.strict)?;
    if plan.digest() == before.digest() {
        Ok(Current::Same(Some(Box::new(plan))))
    } else {
        Ok(Current::Changed(Box::new(plan), words))
    }
}

/// The refusal of a changed file: what changed, and what accepting it would cost.
pub fn refusal(journal: &Sqlite, run: &RunId, before: Plan, now: &Plan, difference: &str) -> CommandFailure {
    let again = affected(journal, before, now)
        .map(|count| format!(": {} would run again", format::plural(count, "finished task")));
    CommandFailure::new(
        Exit::Refused,
        format!("the workflow changed since run `{run}` was started\n{}", difference.trim_end()),
    )
    .hint(format!(
        "convoke resume {run} --accept-changes goes on with the file as it is now{}",
        again.unwrap_or_default()
    ))
}

fn affected(journal: &Sqlite, before: Plan, now: &Plan) -> Option<u64> {
    let mut scheduler = Scheduler::new(Arc::new(before));
    let events = replayable(journal.read_all().ok()?);
    events.iter().try_for_each(|event| scheduler.apply(event)).ok()?;
    let finished: HashSet<&TaskId> = events.iter().filter_map(finished).collect();
    let again = changed(&scheduler, now).dropped;
    Some(again.iter().filter(|task| finished.contains(task)).count() as u64)
}

/// The task that an event ends well.
fn finished(event: &Stamped) -> Option<&TaskId> {
    match &event.event {
        Event::TaskSucceeded { task, .. }
        | Event::AttemptFinished { task, .. }
        | Event::OutputTaken { task, .. } => Some(task),
        _ => None,
    }
}
