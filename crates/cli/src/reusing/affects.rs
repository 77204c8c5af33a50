//! What a change may have run again, before anything has run: the tasks that it changes, and all that follow from them.
//!
//! An upper bound: a task that runs again and comes out as before leaves those behind it as they are.

use crate::changes;
use crate::commands::permit;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::Stored;
use crate::view::format;
use convoke_engine::effects::Effect;
use convoke_journal::StateDir;
use convoke_model::hash::HashSet;
use convoke_model::{Payload, TaskId};
use convoke_plan::Plan;
use convoke_schedule::{Reusable, Scheduler, changed_and_set, replayable};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Names of tasks in a line; the rest is counted.
const MOST: usize = 12;

/// What a change affects at most.
pub struct Affects {
    run: String,
    /// Tasks that did their work in the base and may do it again.
    again: Vec<TaskId>,
    /// Tasks that did their work in the base.
    all: usize,
    effects: Vec<Effect>,
}

impl Affects {
    /// Compares a plan and its inputs with those of a run.
    pub fn of(
        state: &StateDir,
        reusable: &Reusable,
        plan: &Plan,
        inputs: &Map<String, Value>,
    ) -> Result<Affects, CommandFailure> {
        let base = Stored::open(state, &reusable.run.0)?;
        let before =
            changes::stored_plan(state, &base.run, &base.reader.meta()?, || Ok(base.events.clone()))?;
        let mut scheduler = Scheduler::new(Arc::new(before));
        for stamped in replayable(base.events.clone()) {
            scheduler
                .apply(&stamped)
                .map_err(|error| CommandFailure::new(Exit::Failed, error.to_string()))?;
        }
        let changed_inputs = differing(&base, inputs);
        let readers = reusable.readers_of(&changed_inputs);
        let dropped: HashSet<TaskId> =
            changed_and_set(&scheduler, plan, &readers).dropped.into_iter().collect();
        let is_dropped = |task: &TaskId| {
            std::iter::successors(Some(task.clone()), TaskId::parent).any(|id| dropped.contains(&id))
        };
        let tasks: Vec<TaskId> = reusable.tasks();
        let kept: HashSet<TaskId> = tasks.iter().filter(|task| !is_dropped(task)).cloned().collect();
        let effects = convoke_engine::repeated(&scheduler, &base.events, &kept);
        let again: Vec<TaskId> = tasks.iter().filter(|task| !kept.contains(*task)).cloned().collect();
        Ok(Affects { run: base.run.to_string(), again, all: tasks.len(), effects })
    }

    /// Asks before effects of the base are repeated, unless that is allowed.
    pub fn permit(&self, allowed: bool) -> Result<(), CommandFailure> {
        let why = format!("run `{}` did this already, and the change may have it done again", self.run);
        permit(&self.effects, &why, "`idempotent: true` says that a step may be repeated", allowed)
    }

    /// The upper bound, in words.
    pub fn words(&self) -> String {
        let names: Vec<&str> = self.again.iter().take(MOST).map(|task| &*task.0).collect();
        let more = match self.again.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let which = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
        let all = format::plural(self.all as u64, "task");
        format!("at most {} of {all} of {} would run again{which}", self.again.len(), self.run)
    }
}

/// Inputs of the workflow that have other values than in the base.
fn differing(base: &Stored, now: &Map<String, Value>) -> Vec<String> {
    let started = convoke_engine::report::fold(base.events.first()).started;
    let before: Map<String, Value> = match started.map(|started| started.inputs) {
        Some(Payload::Inline(text)) => serde_json::from_str(text.as_str()).unwrap_or_default(),
        _ => Map::new(),
    };
    let names: HashSet<&String> = before.keys().chain(now.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
}
