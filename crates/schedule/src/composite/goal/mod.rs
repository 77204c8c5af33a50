//! From a goal to its answer: which task comes next, and which role of a model works on it.
//!
//! A goal and its tasks are composites: each role that is asked is a child with a permit, an attempt and an end of its own. The
//! record is `GoalDecided` (a decision and its reason) and `ChildrenSpawned`; everything else follows from these and from the ends
//! of the children, so a goal that was cut off goes on in its middle. `planning` and `routing` are pure values in, values out.
//! `gather` makes of a run what the router looks at, `apply` makes steps of its decisions, `prompt` what roles are shown.
//! Invariant: a goal ends, within its bounds, and never better than its tasks did.

mod accounts;
mod apply;
mod clearance;
mod eligible;
mod fold;
mod gather;
mod outcome;
mod planning;
mod priority;
mod prompt;
mod reopen;
mod routing;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use fold::ItemProgress;
pub(crate) use planning::answer::GoalAnswer;
pub(crate) use routing::cause::NOT_ANSWERED;
pub use routing::items::NOT_ACHIEVED;

use crate::composite::{Composite, Step};
use crate::context::{Names, Roots};
use crate::resume::Reopening;
use crate::state::{End, State, TaskIx, TaskState, Todo};
use crate::view::View;
use convoke_model::{AgentCall, ChildKind, Class, Contract, Event, Failure, Usage, Work};
use convoke_plan::{Kind, Node, NodeIx};
use outcome::Status;
use serde_json::Value;

/// A goal, and each task on the way to it. They are decided about as a whole.
pub(crate) struct GoalTask;

impl Composite for GoalTask {
    fn claims(&self, node: &Node) -> bool {
        matches!(node.kind, Kind::Goal(_) | Kind::Item(_))
    }

    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx> {
        state.goal_helper(task, child)
    }

    /// A task of a goal begins when its router says so.
    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        match view.node(task).kind {
            Kind::Goal(_) => {
                let id = view.id(task).clone();
                vec![Step::record(Event::TaskStarted { task: id, until: None, inputs: None })]
            }
            _ => vec![Step::Revisit(self.root(view, task))],
        }
    }

    fn advance(&self, view: &View<'_>, goal: TaskIx, changed: &[TaskIx]) -> Vec<Step> {
        view.next_of_goal(goal, changed)
    }

    /// What a role is asked is its own template.
    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure> {
        match view.goal_role(child) {
            Some(_) => Ok(view.put_role(child, call)),
            None => Err(Failure::new(Class::Fatal, "a question that its step does not ask")),
        }
    }

    fn reopen(&self, state: &State, task: TaskIx, found: &mut Reopening) -> bool {
        state.reopen_goal_task(task, found);
        true
    }

    fn root(&self, state: &State, task: TaskIx) -> TaskIx {
        state.goal_of(task).map_or(task, |(goal, _)| goal)
    }

    fn may_advance(&self, state: &State, goal: TaskIx) -> bool {
        state.may_route(goal)
    }

    fn settles_at_once(&self) -> bool {
        true
    }

    fn parks(&self) -> bool {
        true
    }

    fn starts_when_ready(&self, child: &ChildKind) -> bool {
        !matches!(child, ChildKind::Item(_))
    }

    fn rejection(&self, view: &View<'_>, task: TaskIx) -> Option<Failure> {
        Some(view.refused_goal(task))
    }

    fn unfinished(&self, view: &View<'_>, task: TaskIx) -> Option<Value> {
        view.goal_answer(task)
    }

    fn falls_short(&self, state: &State, task: TaskIx, end: End) -> bool {
        match end {
            End::Succeeded => matches!(state.goal_status(task), Some(Status::Partial | Status::SkippedAll)),
            // A route that takes care of a failed goal does not reach it.
            End::Failed => matches!(state.node(task).kind, Kind::Goal(_)),
            End::Cancelled => state.was_cut_short(task),
            End::Skipped => false,
        }
    }

    fn skipped_all(&self, state: &State, task: TaskIx) -> bool {
        state.goal_status(task) == Some(Status::SkippedAll)
    }

    fn loss(&self, state: &State, task: TaskIx) -> Option<String> {
        state.loss(task)
    }

    fn names(
        &self,
        view: &View<'_>,
        child: TaskIx,
        roots: &Roots,
        names: &mut Names,
    ) -> Result<bool, Failure> {
        view.add_role_names(child, roots, names).map(|()| false)
    }

    fn text_hint(&self, state: &State, child: TaskIx) -> Option<String> {
        let role = state.goal_role(child)?.0.word();
        Some(format!("`roles.{role}` of the goal says it, or prompts/goal/{role}.md"))
    }

    fn shares_context(&self) -> bool {
        false
    }

    fn contract(&self, state: &State, child: TaskIx, work: &Work) -> Option<Contract> {
        state.role_contract(child, work)
    }

    fn spent(&self, state: &mut State, goal: TaskIx, usage: &Usage) {
        state.spent_on_goal(goal, usage);
    }

    fn before_spawning(&self, state: &mut State, task: TaskIx) {
        if state.is_resumed(task) {
            state.open_composite(task);
        }
    }

    fn may_spawn(&self, state: &State, task: TaskIx) -> bool {
        match state.state(task) {
            TaskState::Waiting => state.item_of(task).is_some(),
            other => other == TaskState::Open,
        }
    }

    fn spawned(&self, state: &mut State, task: TaskIx, child: TaskIx) {
        state.note_strategy(task, child);
        if state.item_of(child).is_some() {
            state.note_item(task);
        }
    }

    fn reopened(&self, state: &mut State, task: TaskIx) {
        state.todo(Todo::Group(task));
    }
}
