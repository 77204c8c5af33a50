//! What is known of the agents of a manifest when its run ends: which agents gave nothing, and what fan-outs have run.
//!
//! An agent's failure ends its own branch and no more, so nothing else would tell of it where its output is no source of
//! the answer. Invariant: an agent that was to work and gave nothing is named exactly once.

use crate::context::map_value;
use crate::state::{End, FrameIx, State, TaskIx, TaskState};
use convoke_model::hash::HashSet;
use convoke_model::{Missing, TaskId};
use convoke_plan::Kind;
use convoke_plan::template::Value;

/// The name by which the output of a manifest sees all this.
pub(crate) const WORK: &str = "_work";

/// The longest item that is a name.
const LONGEST_NAME: usize = 100;

impl State {
    /// Whether an agent of a manifest gave nothing.
    pub(crate) fn lacks_agents(&self, frame: FrameIx) -> bool {
        self.workflow_in(frame).manifest
            && self.frame(frame).steps.iter().any(|step| !self.without_output(*step).is_empty())
    }

    /// `{missing, names}`.
    pub(crate) fn work_value(&self, frame: FrameIx) -> Value {
        let missing = self.missing_in(frame).into_iter().map(|missing| {
            let cause = Value::from(missing.cause);
            map_value([("task", Value::from(missing.task.to_string())), ("cause", cause)])
        });
        let steps = self.frame(frame).steps.iter();
        let fan_outs = steps.filter(|step| matches!(self.node(**step).kind, Kind::ForEach(_)));
        let names = fan_outs.map(|step| (self.node(*step).name.clone(), self.names_of_items(*step)));
        map_value([("missing", missing.collect::<Vec<_>>().into()), ("names", map_value(names))])
    }

    /// What the last merge did without, then all other tasks that gave nothing.
    fn missing_in(&self, frame: FrameIx) -> Vec<Missing> {
        let steps = &self.frame(frame).steps;
        let merged = steps.iter().rev().find_map(|step| self.tasks[*step].merging.as_deref());
        let mut missing: Vec<Missing> = merged.map(|merging| merging.missing.clone()).unwrap_or_default();
        let mut known: HashSet<TaskId> = missing.iter().map(|missing| missing.task.clone()).collect();
        for task in steps.iter().flat_map(|step| self.without_output(*step)) {
            let absence = self.absence(task);
            if known.insert(absence.task.clone()) {
                missing.push(absence);
            }
        }
        missing
    }

    /// The tasks of a step that gave nothing: itself, or members of a group. A failed group gave nothing as a whole, unless each of
    /// its members says why.
    fn without_output(&self, step: TaskIx) -> Vec<TaskIx> {
        let gave_nothing = |task: &TaskIx| !self.tasks[*task].succeeded();
        if self.tasks[step].hook {
            return Vec::new();
        }
        match (&self.node(step).kind, self.tasks[step].group.as_deref()) {
            (Kind::Agent(_), _) | (Kind::Parallel(_) | Kind::ForEach(_), None) => {
                Some(step).filter(gave_nothing).into_iter().collect()
            }
            (Kind::Parallel(_) | Kind::ForEach(_), Some(group)) => {
                let failed = self.tasks[step].state == TaskState::Ended(End::Failed);
                let whole = failed && (group.succeeded > 0 || group.members.is_empty());
                let members = group.members.iter().copied().filter(gave_nothing).filter(|_| !whole);
                whole.then_some(step).into_iter().chain(members).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What ran for a fan-out, `agent:partition` each; the agent alone where it never came to that.
    fn names_of_items(&self, step: TaskIx) -> Value {
        let name = &self.node(step).name;
        let names: Vec<Value> = match self.tasks[step].group.as_deref() {
            Some(group) => (0..group.total)
                .map(|index| Value::from(format!("{name}:{}", self.key_of(step, index))))
                .collect(),
            None => vec![Value::from(&**name)],
        };
        Value::from(names)
    }
}

/// Items as the names of their tasks: short texts and numbers of which none stands twice.
pub(crate) fn names(items: &[serde_json::Value]) -> Option<Vec<String>> {
    let name = |item: &serde_json::Value| match item {
        serde_json::Value::String(text) if text.len() <= LONGEST_NAME && !text.contains('\n') => {
            Some(text.clone())
        }
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let names: Vec<String> = items.iter().map(name).collect::<Option<_>>()?;
    let distinct: HashSet<&String> = names.iter().collect();
    (distinct.len() == names.len()).then_some(names)
}
