//! `convoke show`: a run, or one task of it with its prompt, conversation, attempts and output.

mod budgets;
mod capacity;
mod children;
mod contract;
mod conversation;
mod effects;
mod goal;
mod guidance;
mod json;
mod metrics;
mod notes;
mod phase;
pub(crate) mod prompt;
mod proof;
mod sources;
mod structure;
mod text;
mod try_outcome;

use crate::args::{Format, ShowArgs};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::gate;
use crate::paint::Paint;
use crate::stored::{self, Stored};
use conversation::Extent;
use convoke_engine::Metrics;
use convoke_engine::budget::Standing;
use convoke_engine::report::{RunReport, TaskReport, TaskWord, fold};
use convoke_journal::{Blocked, StateDir, live_owner, stands};
use convoke_model::{Budget, Event, JsonText, Payload, RunStatus, TaskId};
use convoke_plan::Plan;
use convoke_view::PartialMerges;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A run that is shown.
struct InspectedRun {
    stored: Stored,
    report: RunReport,
    status: RunStatus,
    /// What of the machine it waits for, where it is blocked.
    blocked: Option<Blocked>,
    /// What it goes by; `None` when it cannot be read any more.
    plan: Option<Arc<Plan>>,
    /// What its file says that it may spend.
    budget: Option<Budget>,
    /// How every budget stands that it is under.
    budgets: Vec<Standing>,
    /// Merges whose text grows.
    partial_merges: PartialMerges,
    /// Of each task that was checked, whether everything held the last time.
    held: HashMap<TaskId, bool>,
    /// Tries that were not accepted.
    refused: HashSet<TaskId>,
    /// Why phases of pipelines started, or did not.
    decided: HashMap<TaskId, String>,
    /// How it used its capacity, as it has counted itself.
    metrics: Option<Value>,
}

/// The word for how a task stands in a run that stands so. Nothing runs where no process drives the run.
fn word(state: TaskWord, run: RunStatus) -> &'static str {
    match state {
        TaskWord::Running if run == RunStatus::Parked => "waiting",
        TaskWord::Running if run != RunStatus::Running => "interrupted",
        TaskWord::Waiting | TaskWord::Backoff => "waiting",
        TaskWord::Running => "running",
        TaskWord::Asking => "asking",
        TaskWord::Succeeded => "succeeded",
        TaskWord::Failed => "failed",
        TaskWord::Skipped => "skipped",
        TaskWord::Cancelled => "cancelled",
    }
}

/// Shows the run, or the task.
pub fn run(console: &Console, args: &ShowArgs) -> Result<Exit, CommandFailure> {
    let state = stored::for_reading(console);
    let run = match &args.run {
        Some(name) => stored::find(&state, name)?,
        None => stored::last_here(&state)?,
    };
    let shown = InspectedRun::open(console, &state, &run.0)?;
    match &args.task {
        None if args.sources => return shown.print_sources(console, args.format),
        None if args.effects => shown.print_effects(console, &state, args.format)?,
        None => shown.print_run(console, args.format)?,
        Some(name) => match &args.kept {
            Some(kept) => shown.print_kept(console, name, kept, args.format)?,
            None => shown.print_task(console, &state, name, args)?,
        },
    }
    Ok(Exit::Success)
}

impl InspectedRun {
    fn open(console: &Console, state: &StateDir, name: &str) -> Result<InspectedRun, CommandFailure> {
        let stored = Stored::open(state, name)?;
        let report = fold(&stored.events);
        let status = report.status.unwrap_or(RunStatus::Running);
        let driven = live_owner(state, &stored.run)?.is_some();
        let (status, blocked) = stands(state, &stored.run, status, driven);
        let plan = budgets::plan(state, &stored);
        let budgets = budgets::of(console, plan.as_ref(), &stored);
        let budget = plan.as_ref().and_then(|plan| plan.root().limits.budget.clone());
        let metrics = std::fs::read(Metrics::path(state, &stored.run)).ok();
        let metrics = metrics.and_then(|text| serde_json::from_slice(&text).ok());
        let partial_merges = PartialMerges::of(&stored.events);
        let refused = try_outcome::refused(&stored.events);
        let (decided, held) = (phase::decided(&stored.events), proof::held(&stored.events));
        Ok(InspectedRun {
            partial_merges,
            held,
            refused,
            decided,
            stored,
            report,
            status,
            blocked,
            plan,
            budget,
            budgets,
            metrics,
        })
    }

    fn print_run(&self, console: &Console, format: Format) -> Result<(), CommandFailure> {
        match format {
            Format::Json => console.json(&self.run_json()?),
            Format::Text => console.data(&self.run_text(Paint::for_stdout(console.config.color))?),
        }
    }

    fn print_task(
        &self,
        console: &Console,
        state: &StateDir,
        name: &str,
        args: &ShowArgs,
    ) -> Result<(), CommandFailure> {
        let (id, task) = self.find(name)?;
        let asked = prompt::rendered(state, &self.stored, id);
        let extent = if args.full { Extent::Full } else { Extent::Short };
        match args.format {
            Format::Json => console.json(&self.whole_task_json(id, task, asked.as_ref())?),
            Format::Text => console.data(&self.task_text(
                id,
                task,
                asked.as_ref(),
                extent,
                Paint::for_stdout(console.config.color),
            )?),
        }
    }

    /// A text is printed as it was; anything else as JSON.
    fn print_kept(
        &self,
        console: &Console,
        name: &str,
        kept: &str,
        format: Format,
    ) -> Result<(), CommandFailure> {
        let value = self.kept(self.find(name)?.0, kept)?.value();
        match (format, value) {
            (Format::Text, Value::String(text)) => console.exact(&format!("{text}\n")),
            (_, value) => console.json(&value),
        }
    }

    fn find(&self, name: &str) -> Result<(&TaskId, &TaskReport), CommandFailure> {
        if let Some((id, task)) = self.report.tasks.get_key_value(&TaskId(name.into())) {
            return Ok((id, task));
        }
        // Manifests call one partition of an agent `agent:partition`.
        let alias = name.split_once(':').map(|(agent, key)| TaskId::new(None, agent, Some(key), 1));
        if let Some((id, task)) = alias.and_then(|alias| self.report.tasks.get_key_value(&alias)) {
            return Ok((id, task));
        }
        if let Some(found) = self.only_item(name) {
            return Ok(found);
        }
        let failure =
            CommandFailure::new(Exit::Usage, format!("run `{}` has no task `{name}`", self.stored.run));
        let names = self.report.tasks.keys().map(|id| &*id.0);
        Err(match convoke_model::nearest(name, names) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint(format!("convoke show {} lists its tasks", self.stored.run)),
        })
    }

    /// The last answer to a gate, and its author.
    fn answer(&self, id: &TaskId) -> Option<(&Payload, String)> {
        self.stored.events.iter().rev().find_map(|stamped| match &stamped.event {
            Event::GateAnswered { task, answer, by, from, .. } if task == id => {
                Some((answer, gate::author(by, from.as_deref())))
            }
            _ => None,
        })
    }

    fn value(&self, payload: Option<&Payload>) -> Result<Option<JsonText>, CommandFailure> {
        match payload {
            Some(payload) => Ok(self.stored.text(payload)?),
            None => Ok(None),
        }
    }
}
