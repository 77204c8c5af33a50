//! Making one answer of many: how reduce and verify tasks come to their end.
//!
//! Such a task holds no permit itself: it asks questions, and each question is a child with a permit, an attempt and an
//! end of its own. The record of it is two events: `MergeStarted` says what is merged and how, `Asked` which questions
//! were asked. Everything else follows from these and from the ends of the children, so that a resumed run goes on in
//! the middle of a merge. `tree` and `vote` are pure; the others speak for the scheduler.

mod ask;
mod begin;
mod findings;
mod fold;
mod levels;
mod outcome;
mod progressive;
mod prompt;
mod sources;
mod texts;
mod tree;
mod unfinished;
mod verify;
mod vote;

use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::state::State;
use crate::task::TaskIx;
use convoke_model::Missing;
use convoke_plan::{Kind, Reduce, Strategy};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use outcome::MERGE_FAILED;
pub(crate) use texts::part_of;
pub(crate) use tree::{Answer, Answers, Asks, Bounds, Part, Tree};
pub(crate) use verify::NOT_EXAMINED;

/// What a reduce task merges.
#[derive(Debug, Clone)]
pub(crate) struct Merging {
    pub strategy: Strategy,
    /// Whose outputs, in order.
    pub sources: Vec<TaskIx>,
    /// Where each of them stands there.
    pub places: HashMap<TaskIx, usize>,
    /// Whose outputs it does without.
    pub missing: Vec<Missing>,
    /// A progressive merge takes no more.
    pub closed: bool,
}

impl Scheduler {
    /// Decide: a merge or an examination goes on, or ends. Its children have changed, or outputs have arrived.
    pub(crate) fn go_on_merging(&mut self, task: TaskIx, outputs: &dyn Outputs) {
        let plan = self.plan.clone();
        let frame = self.tasks[task].place.frame;
        let node = plan.workflow(self.frame(frame).workflow).node(self.tasks[task].node);
        match &node.kind {
            Kind::Reduce(reduce) => self.go_on_reducing(task, reduce, outputs),
            Kind::Verify(verify) => self.go_on_verifying(task, verify, outputs),
            Kind::Phase(phase) => self.go_on_phase(task, phase, outputs),
            Kind::Goal(_) | Kind::Item(_) => self.go_on_goal(task, outputs),
            _ => {}
        }
    }

    fn go_on_reducing(&mut self, task: TaskIx, reduce: &Reduce, outputs: &dyn Outputs) {
        let Some(merging) = self.tasks[task].merging.clone() else { return };
        match merging.strategy {
            Strategy::Flat | Strategy::Auto => self.end_flat(task, reduce, &merging, outputs),
            Strategy::Vote => self.end_vote(task, reduce, &merging, outputs),
            Strategy::Hierarchical | Strategy::Judge | Strategy::Tournament => {
                self.next_level(task, reduce, &merging, outputs);
            }
            Strategy::Progressive => self.next_arrivals(task, reduce, &merging, outputs),
            Strategy::Rlm => self.program_answered(task),
        }
    }
}

impl State {
    pub(crate) fn merging_of(&self, task: TaskIx) -> Option<Arc<Merging>> {
        self.tasks[task].merging.clone()
    }
}
