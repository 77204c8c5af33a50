//! Making one answer of many outputs, and examining an answer: reduce and verify tasks.
//!
//! Both are composites: each question is a child with a permit, an attempt and an end of its own. The record is two events:
//! `MergeStarted` says what is merged and how, `ChildrenSpawned` which questions were asked. Everything else follows from these
//! and from the ends of the children, so a resumed run goes on in the middle of a merge. `tree` and `vote` are pure.

mod ask;
mod begin;
mod findings;
mod fold;
mod levels;
mod outcome;
mod progressive;
mod prompt;
mod sources;
mod tree;
mod unfinished;
mod verify;
mod vote;

use crate::composite::{Composite, Step};
use crate::resume::Reopening;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::hash::HashMap;
use convoke_model::{AgentCall, ChildKind, Event, Failure, Missing, Work};
use convoke_plan::{Kind, Node, NodeIx, Reduce, Strategy, Verify};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use outcome::MERGE_FAILED;
pub(crate) use tree::{Answer, Answers, Asks, Bounds, Part, Tree};
pub(crate) use verify::NOT_EXAMINED;

/// What a reduce task merges.
#[derive(Debug, Clone)]
pub(crate) struct Merging {
    pub strategy: Strategy,
    /// The tasks whose outputs are merged, in order.
    pub sources: Vec<TaskIx>,
    /// Where each of them stands there.
    pub places: HashMap<TaskIx, usize>,
    /// The tasks whose outputs it does without.
    pub missing: Vec<Missing>,
    /// A progressive merge takes no more.
    pub closed: bool,
}

/// A reduce task: one answer of many outputs.
pub(crate) struct MergeTask;

impl Composite for MergeTask {
    fn claims(&self, node: &Node) -> bool {
        matches!(node.kind, Kind::Reduce(_))
    }

    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx> {
        let reduce = state.reduce(task)?;
        match child {
            ChildKind::Merge { .. } | ChildKind::Choose { .. } => reduce.merger,
            ChildKind::Prompt { .. } => reduce.rlm.as_ref().map(|rlm| rlm.reader),
            ChildKind::Program { .. } => Some(state.tasks[task].node),
            _ => None,
        }
    }

    /// Programs need a permit; everything else asks by its children.
    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        match view.tasks[task].merging {
            None => view.start_merge(task),
            Some(_) => vec![Step::Attempt(task)],
        }
    }

    fn advance(&self, view: &View<'_>, task: TaskIx, changed: &[TaskIx]) -> Vec<Step> {
        let Some((reduce, merging)) = view.reduce(task).zip(view.merging_of(task)) else { return Vec::new() };
        match merging.strategy {
            Strategy::Flat | Strategy::Auto => view.end_flat(task, reduce, &merging),
            Strategy::Vote => view.end_vote(task, reduce, &merging),
            Strategy::Hierarchical | Strategy::Judge | Strategy::Tournament => {
                view.next_level(task, reduce, &merging, changed)
            }
            Strategy::Progressive => view.next_arrivals(task, reduce, &merging),
            Strategy::Rlm => view.program_answered(task),
        }
    }

    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure> {
        view.put_merge_question(child, call)
    }

    fn may_spawn(&self, state: &State, task: TaskIx) -> bool {
        state.state(task) == TaskState::Open
    }

    fn attempt(&self, view: &View<'_>, task: TaskIx) -> Option<Result<Work, Failure>> {
        let call = view.program_call(task, view.reduce(task)?);
        Some(call.map(|call| Work::Program(Box::new(call))))
    }

    fn attempt_suspended_with(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        view.ask_sub_queries(task)
    }

    fn fall_back(&self, state: &State, task: TaskIx, failure: &Failure) -> Vec<Event> {
        state.fall_back_to_levels(task, failure)
    }

    fn input_timeout(&self, node: &Node) -> Option<Duration> {
        match &node.kind {
            Kind::Reduce(reduce) => reduce.deadline_ms.map(Duration::from_millis),
            _ => None,
        }
    }

    fn streams_from(&self, node: &Node) -> Vec<NodeIx> {
        let Kind::Reduce(reduce) = &node.kind else { return Vec::new() };
        if reduce.strategy != Strategy::Progressive {
            return Vec::new();
        }
        let needed = node.needs.iter().map(|need| need.node).filter(|need| !reduce.of.contains(need));
        reduce.of.iter().copied().chain(needed).collect()
    }

    fn titles(&self, node: &Node) -> Vec<(NodeIx, Arc<str>)> {
        let Kind::Reduce(reduce) = &node.kind else { return Vec::new() };
        let stated = reduce.of.iter().zip(&reduce.titles);
        stated.filter_map(|(node, title)| Some((*node, Arc::from(title.as_deref()?)))).collect()
    }

    fn model(&self, node: &Node) -> Option<NodeIx> {
        if let Kind::Reduce(reduce) = &node.kind { reduce.merger } else { None }
    }

    fn inputs_timed_out(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        view.pass_deadline(task)
    }

    fn arrived(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        view.start_collecting(task)
    }

    fn awaits_inputs(&self, state: &State, task: TaskIx) -> bool {
        state.is_collecting(task) && state.state(task) == TaskState::Open && state.group(task).open == 0
    }

    fn inputs_exhausted(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        vec![view.close_arrivals(task)]
    }

    fn unfinished(&self, view: &View<'_>, task: TaskIx) -> Option<Value> {
        view.unmerged(task, view.reduce(task)?)
    }

    fn spawned(&self, state: &mut State, task: TaskIx, child: TaskIx) {
        state.note_arrivals(task, child);
    }
}

/// A verify task: an answer is examined and corrected.
pub(crate) struct VerifyTask;

impl Composite for VerifyTask {
    fn claims(&self, node: &Node) -> bool {
        matches!(node.kind, Kind::Verify(_))
    }

    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx> {
        let verify = state.verify(task)?;
        match child {
            ChildKind::Assess { .. } => Some(verify.assessor),
            ChildKind::Correct { .. } => Some(verify.repairer),
            _ => None,
        }
    }

    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        view.start_verify(task)
    }

    fn advance(&self, view: &View<'_>, task: TaskIx, _changed: &[TaskIx]) -> Vec<Step> {
        view.verify(task).map(|verify| view.next_examination(task, verify)).unwrap_or_default()
    }

    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure> {
        view.put_examination(child, call)
    }

    fn may_spawn(&self, state: &State, task: TaskIx) -> bool {
        state.state(task) == TaskState::Open
    }

    /// What was asked on its way led to its failure: asked again, it has another chance.
    fn reopen(&self, state: &State, task: TaskIx, found: &mut Reopening) -> bool {
        let failed = state.state(task) == TaskState::Ended(End::Failed);
        if failed {
            found.begin_anew(state.id(task));
        }
        failed
    }

    fn unfinished(&self, view: &View<'_>, task: TaskIx) -> Option<Value> {
        view.unverified(task, view.verify(task)?)
    }
}

impl State {
    fn reduce(&self, task: TaskIx) -> Option<&Reduce> {
        if let Kind::Reduce(reduce) = &self.node(task).kind { Some(reduce) } else { None }
    }

    fn verify(&self, task: TaskIx) -> Option<&Verify> {
        if let Kind::Verify(verify) = &self.node(task).kind { Some(verify) } else { None }
    }

    pub(crate) fn merging_of(&self, task: TaskIx) -> Option<Arc<Merging>> {
        self.tasks[task].merging.clone()
    }
}
