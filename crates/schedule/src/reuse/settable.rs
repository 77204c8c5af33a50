//! Which outputs can be set in a fork: those of steps that stand for one piece of work.

use crate::state::{State, TaskIx};
use convoke_model::{OutputSchema, TaskId};
use convoke_plan::Kind;

/// Why the output of a task cannot be set.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotSettable {
    /// Nothing of that name has come up at that point of the run.
    #[error("there is no task `{0}` at that point of the run")]
    Unknown(TaskId),
    /// It is a group, a gate, or the like.
    #[error("`{0}` is a {1} step: {2}")]
    Kind(TaskId, &'static str, &'static str),
    /// It belongs to a goal, a merge or a phase, which decides by itself what follows.
    #[error("`{0}` works for `{1}`, which decides by itself what follows from an answer")]
    Child(TaskId, TaskId),
}

/// The shape that the output of a task must have, if its output can be set.
pub fn check_settable(state: &State, task: &TaskId) -> Result<Option<OutputSchema>, NotSettable> {
    let ix = state.find(task).ok_or_else(|| NotSettable::Unknown(task.clone()))?;
    if let Some(above) = composite_around(state, ix) {
        return Err(NotSettable::Child(task.clone(), state.tasks[above].id.clone()));
    }
    let refuse = |why| Err(NotSettable::Kind(task.clone(), state.node(ix).kind.word(), why));
    match &state.node(ix).kind {
        Kind::Agent(agent) => Ok(agent.settings.schema.clone()),
        Kind::Script(script) => Ok(script.schema.clone()),
        Kind::Tool(_) | Kind::Set(_) | Kind::SubPlan(_) => Ok(None),
        Kind::Parallel(_) | Kind::ForEach(_) => refuse("set the outputs of its members"),
        Kind::Gate(_) | Kind::Questions(_) => refuse("fork --at it, and answer the question"),
        _ => refuse("only outputs of agents, scripts, tools, set steps and sub-workflows can be set"),
    }
}

fn composite_around(state: &State, task: TaskIx) -> Option<TaskIx> {
    std::iter::successors(state.above(task), |above| state.above(*above))
        .find(|above| state.own_composite(*above).is_some())
}
