//! Composite tasks: work that is done through children.
//!
//! A composite holds no permit while its children work. It spawns children, and each is a task with a permit, an attempt
//! and an end of its own. What a composite does next is a pure function of the state ([`Composite::advance`]): it answers
//! with [`Step`]s, and one driver (`driver`) turns these into events. The fold of its children is one as well
//! (`children`): who was spawned, which of them may start, which have ended since the composite was last looked at. So a
//! composite that was cut off goes on in its middle, and a new kind of composite is one file and one line here.

mod children;
mod driver;
pub(crate) mod goal;
mod memo;
pub(crate) mod merge;
pub(crate) mod pipeline;
pub(crate) mod reshape;
mod shortfall;
mod step;

pub(crate) use children::Children;
pub(crate) use memo::Memos;
pub use step::Step;

use crate::composite::goal::GoalTask;
use crate::composite::merge::{MergeTask, VerifyTask};
use crate::composite::pipeline::PhaseTask;
use crate::composite::reshape::ReshapeTask;
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
/// The first five methods are what every kind needs. All others have defaults.
pub trait Composite: Send + Sync {
    /// Whether tasks of a node are of this kind.
    fn claims(&self, node: &Node) -> bool;

    /// The node that performs a child; `None` where such a child cannot be.
    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx>;

    /// A task can start.
    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step>;

    /// What comes next, given what has changed since this was asked last: children that have ended, and the task itself
    /// where something else happened to it.
    fn advance(&self, view: &View<'_>, task: TaskIx, changed: &[TaskIx]) -> Vec<Step>;

    /// Puts what a child is asked into the call that asks it.
    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure>;

    /// Says what is open again when the run is resumed; false where the rule for groups applies.
    fn reopen(&self, _state: &State, _task: TaskIx, _found: &mut Reopening) -> bool {
        false
    }

    /// The task that is advanced when something about this one has changed. Another one where composites of a kind stand
    /// in one another and are decided about as a whole.
    fn root(&self, _state: &State, task: TaskIx) -> TaskIx {
        task
    }

    /// Whether anything can be decided about a root now. What has changed is kept until then.
    fn may_advance(&self, _state: &State, _root: TaskIx) -> bool {
        true
    }

    /// Whether what follows from its own steps is decided before anything else is looked at.
    fn settles_at_once(&self) -> bool {
        false
    }

    /// Whether it asks people and waits on its way, with its children: woken, it goes on where it stood.
    fn parks(&self) -> bool {
        false
    }

    /// A child all of whose needs have ended well: true where the frontier starts it, false where this kind decides.
    fn starts_by_itself(&self, _child: &ChildKind) -> bool {
        true
    }

    /// An attempt of the task itself is suspended with what it wants to know.
    fn asked_by_attempt(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// What is decided instead of letting it fail for good; nothing where it fails.
    fn instead_of_failing(&self, _state: &State, _task: TaskIx, _failure: &Failure) -> Vec<Event> {
        Vec::new()
    }

    /// What its failure means for its workflow; `None` where the rule for steps applies.
    fn after_failure(&self, _state: &State, _task: TaskIx, _failure: &Failure) -> Option<Vec<Step>> {
        None
    }

    /// Why it fails where a person does not let it go on.
    fn refusal(&self, _view: &View<'_>, _task: TaskIx) -> Option<Failure> {
        None
    }

    /// How long it waits for what it needs before it begins with what is there.
    fn patience(&self, _node: &Node) -> Option<Duration> {
        None
    }

    /// That time is over.
    fn out_of_patience(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// The nodes whose outputs it takes as they come, without waiting for the others.
    fn takes_as_they_come(&self, _node: &Node) -> Vec<NodeIx> {
        Vec::new()
    }

    /// What it calls the outputs of other nodes, where it says so.
    fn titles(&self, _node: &Node) -> Vec<(NodeIx, Arc<str>)> {
        Vec::new()
    }

    /// The node whose model its own attempts ask.
    fn model(&self, _node: &Node) -> Option<NodeIx> {
        None
    }

    /// An output has arrived that it takes as it comes; nothing where it is to be advanced.
    fn arrived(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// Whether it waits for outputs that never come once nothing else of its workflow goes on.
    fn is_starving(&self, _state: &State, _task: TaskIx) -> bool {
        false
    }

    /// Nothing else of its workflow goes on.
    fn starved(&self, _view: &View<'_>, _task: TaskIx) -> Vec<Step> {
        Vec::new()
    }

    /// What there is of it where it came to no end of its own.
    fn unfinished(&self, _view: &View<'_>, _task: TaskIx) -> Option<Value> {
        None
    }

    /// What texts see as the output of one that failed, where that is another thing than what there is of it.
    fn failed_output(&self, _view: &View<'_>, _task: TaskIx) -> Option<TemplateValue> {
        None
    }

    /// What an attempt of the task itself is asked; `None` where it makes none.
    fn attempt(&self, _view: &View<'_>, _task: TaskIx) -> Option<Result<Work, Failure>> {
        None
    }

    /// Whether the run lacks something because it ended so.
    fn falls_short(&self, _state: &State, _task: TaskIx, _end: End) -> bool {
        false
    }

    /// Whether it ended well and everything in it was left out.
    fn skipped_all(&self, _state: &State, _task: TaskIx) -> bool {
        false
    }

    /// What the run lost with it, where its end is no success whatever the workflow made of that.
    fn loss(&self, _state: &State, _task: TaskIx) -> Option<String> {
        None
    }

    /// Adds what texts of a child may refer to; true where that includes what its workflow keeps.
    fn names(
        &self,
        _view: &View<'_>,
        _child: TaskIx,
        _roots: &Roots,
        _names: &mut Names,
    ) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Where the texts of a child can be changed, if a child's texts are not those of a step.
    fn text_hint(&self, _state: &State, _child: TaskIx) -> Option<String> {
        None
    }

    /// Whether its children see what the workflow's context has, as steps do.
    fn shares_context(&self) -> bool {
        true
    }

    /// What the attempt of a child may do and use, where that is bounded.
    fn contract(&self, _state: &State, _child: TaskIx, _work: &Work) -> Option<Contract> {
        None
    }

    /// Fold: something was spent below it.
    fn spent(&self, _state: &mut State, _root: TaskIx, _usage: &Usage) {}

    /// Fold: children are about to be spawned.
    fn before_spawning(&self, _state: &mut State, _task: TaskIx) {}

    /// Whether it can spawn children as it stands.
    fn may_spawn(&self, state: &State, task: TaskIx) -> bool {
        matches!(state.state(task), TaskState::Ready | TaskState::Open)
    }

    /// Fold: a child was spawned.
    fn spawned(&self, _state: &mut State, _task: TaskIx, _child: TaskIx) {}

    /// Fold: it has ended.
    fn ended(&self, _state: &mut State, _task: TaskIx, _end: End) {}

    /// Fold: it is open again.
    fn reopened(&self, _state: &mut State, _task: TaskIx) {}
}

/// The kinds of composite tasks there are.
#[derive(Clone)]
pub(crate) struct Composites(Vec<Arc<dyn Composite>>);

impl Composites {
    /// Those of the language. This is where a new one is registered.
    pub fn known() -> Composites {
        Composites(vec![Arc::new(MergeTask), Arc::new(VerifyTask), Arc::new(PhaseTask), Arc::new(GoalTask)])
    }

    /// Those of the language, and before them another one.
    pub fn with(other: Arc<dyn Composite>) -> Composites {
        let mut all = vec![other];
        all.extend(Composites::known().0);
        Composites(all)
    }

    /// The kind of a node's tasks, if they are composite.
    pub fn of(&self, node: &Node) -> Option<Arc<dyn Composite>> {
        self.0.iter().find(|composite| composite.claims(node)).cloned()
    }
}

impl State {
    /// What a task is as a composite at the moment: while its inputs are repaired that comes before its own kind.
    pub(crate) fn composite(&self, task: TaskIx) -> Option<Arc<dyn Composite>> {
        match self.awaits_repair(task) {
            true => Some(Arc::new(ReshapeTask)),
            false => self.own_composite(task),
        }
    }

    /// What a task is as a composite by its node.
    pub(crate) fn own_composite(&self, task: TaskIx) -> Option<Arc<dyn Composite>> {
        let composites = &self.index_in(self.tasks[task].place.frame).composites;
        composites[self.tasks[task].node.0 as usize].clone()
    }

    /// The composite that a child works for.
    pub(crate) fn composite_for(&self, task: TaskIx, child: &ChildKind) -> Option<Arc<dyn Composite>> {
        match child {
            ChildKind::Reshape { .. } => Some(Arc::new(ReshapeTask)),
            _ => self.own_composite(task),
        }
    }

    /// The composite that a task works for, if it is a child.
    pub(crate) fn composite_above(&self, child: TaskIx) -> Option<Arc<dyn Composite>> {
        let (task, about) = self.parent_of(child).zip(self.child_kind(child))?;
        self.composite_for(task, about)
    }

    /// The outermost composite of the same kind around a task.
    pub(crate) fn root_of(&self, task: TaskIx) -> TaskIx {
        self.own_composite(task).map_or(task, |composite| composite.root(self, task))
    }
}
