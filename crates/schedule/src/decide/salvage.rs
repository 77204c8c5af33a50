//! What a workflow gives that failed: work that was paid for is not lost at the last step.
//!
//! Every declared output that can be rendered is given. A merge, an examination, a goal or a sub-workflow that came to
//! no end of its own counts with what there is of it ([`View::left_of`]). Where an output cannot be rendered, the
//! outputs of the last steps that were done are given beside. The result is marked: `partial` has the reason.
//! Invariant: a run of which one step ended well gives something, and it never looks like a success.

use crate::composite::goal::NOT_ANSWERED;
use crate::composite::merge::{MERGE_FAILED, NOT_EXAMINED};
use crate::decide::FrameResult;
use crate::state::{End, FrameIx, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::hash::HashSet;
use convoke_model::{Failure, RunStatus};
use convoke_plan::Kind;
use convoke_plan::template::to_json;
use serde_json::{Map, Value};

/// The key that marks an output as incomplete. A declared output of this name stays as it is.
const MARK: &str = "partial";

impl View<'_> {
    /// The result of a workflow that ended by a failure: what there is, marked, and what is missing by name.
    pub(crate) fn salvaged(&self, frame: FrameIx, mut failure: Failure) -> FrameResult {
        let steps = self.last_outputs(frame);
        if steps.is_empty() {
            return FrameResult { status: RunStatus::Failed, output: None, failure: Some(failure) };
        }
        let (mut values, missing) = self.renderable(frame);
        let is_whole = missing.is_empty() && !values.is_empty();
        let mut mark = Map::from_iter([("reason".to_owned(), Value::from(failure.message.clone()))]);
        if !missing.is_empty() {
            failure.message = format!("{}; missing in the output: {}", failure.message, missing.join(", "));
            mark.insert("missing".to_owned(), missing.into());
        }
        if !is_whole {
            mark.insert("steps".to_owned(), Value::Object(steps));
        }
        values.entry(MARK).or_insert(Value::Object(mark));
        let status = if is_last_step(&failure) { RunStatus::Partial } else { RunStatus::Failed };
        FrameResult { status, output: Some(Value::Object(values)), failure: Some(failure) }
    }

    /// The declared outputs that can be rendered, and the names of the others.
    pub(crate) fn renderable(&self, frame: FrameIx) -> (Map<String, Value>, Vec<String>) {
        let (mut values, mut missing) = (Map::new(), Vec::new());
        for (name, text) in self.workflow_in(frame).output.iter().flatten() {
            match self.output_in_frame(frame, name, text) {
                Ok(value) => drop(values.insert(name.clone(), value)),
                Err(_) => missing.push(name.clone()),
            }
        }
        (values, missing)
    }

    /// What there is of a step: its output, or what stands in for it where it came to no end of its own.
    pub(crate) fn left_of(&self, task: TaskIx) -> Option<Value> {
        if self.tasks[task].succeeded() {
            return Some(self.json_of(task));
        }
        if let Some(composite) = self.own_composite(task) {
            return composite.unfinished(self, task);
        }
        match &self.node(task).kind {
            Kind::SubPlan(_) => self.left_of_frame(self.tasks[task].frame?),
            Kind::Parallel(_) | Kind::ForEach(_) => self.left_of_group(task),
            _ => None,
        }
    }

    /// What there is of a sub-workflow: its own outputs as far as they can be rendered, else those of its last steps.
    fn left_of_frame(&self, frame: FrameIx) -> Option<Value> {
        let values = Some(self.renderable(frame).0).filter(|values| !values.is_empty());
        let left = values.unwrap_or_else(|| self.last_outputs(frame));
        (!left.is_empty()).then_some(Value::Object(left))
    }

    /// What there is of a group: its members' outputs and failures, as in a group that ended.
    fn left_of_group(&self, task: TaskIx) -> Option<Value> {
        let group = self.tasks[task].group.as_deref()?;
        (group.succeeded > 0).then(|| to_json(&self.group_value(task)))
    }

    /// The outputs of the steps from which nothing else was made, by name. A later visit of a step replaces an earlier
    /// one.
    fn last_outputs(&self, frame: FrameIx) -> Map<String, Value> {
        let steps = self.frame(frame).steps.iter().copied().filter(|step| !self.tasks[*step].hook);
        let is_there = |step: &TaskIx| self.tasks[*step].succeeded() || self.left_of(*step).is_some();
        let there: Vec<TaskIx> = steps.filter(is_there).collect();
        let mut used: HashSet<TaskIx> = HashSet::default();
        for step in &there {
            let merged = self.tasks[*step].merging.iter().flat_map(|merging| &merging.sources);
            used.extend(self.tasks[*step].from.iter().chain(merged));
        }
        // Only what is given is read: a workflow may have any number of steps.
        let last = there.into_iter().filter(|step| !used.contains(step));
        last.filter_map(|step| Some((self.node(step).name.to_string(), self.left_of(step)?))).collect()
    }
}

impl State {
    /// Why a step came to no end of its own.
    pub(crate) fn why_unfinished(&self, task: TaskIx) -> String {
        let failure = self.tasks[task].failure.as_deref().map(|failure| failure.message.clone());
        failure.unwrap_or_else(|| match self.tasks[task].state {
            TaskState::Ended(End::Skipped) => self.absence(task).cause,
            _ => "it was stopped".to_owned(),
        })
    }
}

/// Whether everything that the result is made of is there, and only the last step over it failed.
fn is_last_step(failure: &Failure) -> bool {
    matches!(failure.reason.as_deref(), Some(MERGE_FAILED | NOT_EXAMINED | NOT_ANSWERED))
}
