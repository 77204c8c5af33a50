//! Composite tasks: work that is done through children.
//!
//! A composite holds no permit while its children work. Each child is a task with a permit, an attempt and an end of its own.
//! The next steps of a composite are a pure function of the run ([`Composite::advance`]); one driver (`driver`) turns steps into
//! events. One fold (`children`) adds children, starts those whose needs have ended, and notes which have changed since their
//! composite was last advanced. Invariant: a composite keeps nothing that the journal does not say, so one that was cut off
//! goes on in its middle. A new kind of composite is one file and one line of [`Composites::known`].

mod children;
mod driver;
pub(crate) mod goal;
mod kind;
mod memo;
pub(crate) mod merge;
pub(crate) mod pipeline;
pub(crate) mod reshape;
mod shortfall;
mod step;

pub(crate) use children::Children;
pub use kind::Composite;
pub(crate) use memo::Memos;
pub use step::Step;

use crate::state::{State, TaskIx};
use convoke_model::ChildKind;
use convoke_plan::Node;
use goal::GoalTask;
use merge::{MergeTask, VerifyTask};
use pipeline::PhaseTask;
use reshape::ReshapeTask;
use std::sync::Arc;

/// The kinds of composite tasks that a scheduler knows.
#[derive(Clone)]
pub(crate) struct Composites(Vec<Arc<dyn Composite>>);

impl Composites {
    /// The kinds of the language. A new kind is registered here.
    pub fn known() -> Composites {
        Composites(vec![Arc::new(MergeTask), Arc::new(VerifyTask), Arc::new(PhaseTask), Arc::new(GoalTask)])
    }

    /// The kinds of the language, and another one that is asked first.
    pub fn with(other: Arc<dyn Composite>) -> Composites {
        let mut all = vec![other];
        all.extend(Composites::known().0);
        Composites(all)
    }

    /// The kind of the tasks of a node. `None`: they are no composites.
    pub fn of(&self, node: &Node) -> Option<Arc<dyn Composite>> {
        self.0.iter().find(|composite| composite.claims(node)).cloned()
    }
}

impl State {
    /// The composite that a task is at the moment. Repairs of its inputs come before its own kind.
    pub(crate) fn composite(&self, task: TaskIx) -> Option<Arc<dyn Composite>> {
        match self.awaits_repair(task) {
            true => Some(Arc::new(ReshapeTask)),
            false => self.own_composite(task),
        }
    }

    /// The composite that a task is by its node.
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
        let (task, kind) = self.parent_of(child).zip(self.child_kind(child))?;
        self.composite_for(task, kind)
    }

    /// The outermost composite of the same kind around a task.
    pub(crate) fn root_of(&self, task: TaskIx) -> TaskIx {
        self.own_composite(task).map_or(task, |composite| composite.root(self, task))
    }
}
