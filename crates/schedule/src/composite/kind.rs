//! What a kind of composite task says about itself.

use super::Step;
use crate::context::{Names, Roots};
use crate::resume::Reopening;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::{AgentCall, ChildKind, Contract, Event, Failure, Usage, Work};
use convoke_plan::template::Value as TemplateValue;
use convoke_plan::{Node, NodeIx};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A kind of task that does its work through children.
///
/// Every kind has the first five methods. All others have defaults, which are right for a composite that spawns children,
/// waits for them and ends.
pub trait Composite: Send + Sync {
    /// Whether the tasks of a node are of this kind.
    fn claims(&self, node: &Node) -> bool;

    /// The node that performs a child of this kind. `None`: the composite has no such children.
    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx>;

    /// The first steps of a task that can start.
    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step>;

    /// The next steps. `changed` holds what has changed since the last call: children that have ended, and the task itself
    /// where something else happened to it.
    fn advance(&self, view: &View<'_>, task: TaskIx, changed: &[TaskIx]) -> Vec<Step>;

    /// Completes the call of a child with what the child is asked.
    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure>;

    // How it is driven.

    /// The task that is advanced for this one. The tasks of a goal stand in one another, and the goal is advanced for all of
    /// them.
    fn root(&self, _state: &State, task: TaskIx) -> TaskIx {
        task
    }

    /// Whether a root can be advanced now. The driver keeps what has changed until then.
    fn may_advance(&self, _state: &State, _root: TaskIx) -> bool {
        true
    }

    /// Whether the driver advances the composite again, before anything else, until nothing about it has changed.
    fn settles_at_once(&self) -> bool {
        false
    }

    /// Whether the composite opens gates and waits for retries while it has children. Woken, it goes on with these children.
    fn parks(&self) -> bool {
        false
    }

    /// Whether the frontier starts a child once its needs have ended well. False: `advance` decides about the child.
    fn starts_when_ready(&self, _child: &ChildKind) -> bool {
        true
    }

    /// Whether the composite can spawn children as it stands.
    fn may_spawn(&self, state: &State, task: TaskIx) -> bool {
        matches!(state.state(task), TaskState::Ready | TaskState::Open)
    }

    // Attempts of its own.

    /// The work of an attempt of the composite itself. `None`: it makes no attempts.
    fn attempt(&self, _view: &View<'_>, _task: TaskIx) -> Option<Result<Work, Failure>> {
        None
    }

    /// The node whose model the attempts of the composite itself ask.
    fn model(&self, _node: &Node) -> Option<NodeIx> {
        None
    }

    /// The steps after an attempt of the composite itself was suspended with a list of children that it wants.
    fn attempt_suspended_with(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// The events that replace a final failure. Empty: the task fails.
    fn fall_back(&self, _state: &State, _task: TaskIx, _failure: &Failure) -> Vec<Event> {
        Vec::new()
    }

    // Its inputs.

    /// The nodes whose outputs the composite takes as they arrive, before all of them have ended.
    fn streams_from(&self, _node: &Node) -> Vec<NodeIx> {
        Vec::new()
    }

    /// The steps when such an output arrives before the composite has begun.
    fn arrived(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// Whether the composite is open only because further outputs may arrive.
    fn awaits_inputs(&self, _state: &State, _task: TaskIx) -> bool {
        false
    }

    /// The steps once no further output can arrive: nothing else in the workflow goes on.
    fn inputs_exhausted(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// How long the composite waits for its inputs before it begins with those that are there.
    fn input_timeout(&self, _node: &Node) -> Option<Duration> {
        None
    }

    /// The steps when that time is over.
    fn inputs_timed_out(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// The titles that the composite gives to the outputs of other nodes.
    fn titles(&self, _node: &Node) -> Vec<(NodeIx, Arc<str>)> {
        Vec::new()
    }

    // Its end, and its resumption.

    /// Says which tasks are open again when the run is resumed. False: the rule for groups applies.
    fn reopen(&self, _state: &State, _task: TaskIx, _found: &mut Reopening) -> bool {
        false
    }

    /// The steps that follow from a failure of the composite. `None`: the rule for steps applies.
    fn after_failure(&self, _state: &State, _task: TaskIx, _failure: &Failure) -> Option<Vec<Step>> {
        None
    }

    /// The failure of a parked composite that a person does not let go on.
    fn rejection(&self, _view: &View<'_>, _task: TaskIx) -> Option<Failure> {
        None
    }

    /// What there is of a composite that came to no end of its own.
    fn unfinished(&self, _view: &View<'_>, _task: TaskIx) -> Option<Value> {
        None
    }

    /// The output that texts see of a failed composite, where it differs from `unfinished`.
    fn failed_output(&self, _view: &View<'_>, _task: TaskIx) -> Option<TemplateValue> {
        None
    }

    /// Whether the run lacks something if the composite ends so.
    fn falls_short(&self, _state: &State, _task: TaskIx, _end: End) -> bool {
        false
    }

    /// Whether the composite succeeded and left everything out.
    fn skipped_all(&self, _state: &State, _task: TaskIx) -> bool {
        false
    }

    /// What the run lost with the composite, in words. `None`: its end is a success.
    fn loss(&self, _state: &State, _task: TaskIx) -> Option<String> {
        None
    }

    // Its children.

    /// Adds the variables of a child's texts. True: they include what the workflow keeps.
    fn names(
        &self,
        _view: &View<'_>,
        _child: TaskIx,
        _roots: &Roots,
        _names: &mut Names,
    ) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Where the texts of a child can be changed, if they are not the texts of a step.
    fn text_hint(&self, _state: &State, _child: TaskIx) -> Option<String> {
        None
    }

    /// Whether the children see the context of the workflow, as steps do.
    fn shares_context(&self) -> bool {
        true
    }

    /// What the attempt of a child may do and use. `None`: it is not bounded.
    fn contract(&self, _state: &State, _child: TaskIx, _work: &Work) -> Option<Contract> {
        None
    }

    // The fold.

    /// Fold: tokens or money were spent below a root.
    fn spent(&self, _state: &mut State, _root: TaskIx, _usage: &Usage) {}

    /// Fold: children are about to be spawned.
    fn before_spawning(&self, _state: &mut State, _task: TaskIx) {}

    /// Fold: a child was spawned.
    fn spawned(&self, _state: &mut State, _task: TaskIx, _child: TaskIx) {}

    /// Fold: the composite has ended.
    fn ended(&self, _state: &mut State, _task: TaskIx, _end: End) {}

    /// Fold: the composite is open again.
    fn reopened(&self, _state: &mut State, _task: TaskIx) {}
}
