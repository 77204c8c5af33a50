//! Pipelines of personas: whether a phase starts, its tries, the work that they hand out, and what the whole comes to.
//!
//! `trigger`, `answer` and `verdict` are pure and know nothing of tasks. `state` is what the fold keeps. The others read the run
//! through a [`View`]. A phase is a composite: its tries, the children of a try and the child that puts their results together
//! each have a permit, an attempt and an end of their own. The record is `PhaseDecided` (why a phase started or did not),
//! `StateChanged`, `Announced` and `ProjectSeen`; everything else follows from these and from the ends of the children.

mod answer;
mod clearance;
mod fold;
mod handoff;
mod intents;
mod open_work;
mod outcome;
mod project;
mod prompt_context;
mod record;
mod reopen;
mod state;
mod tries;
mod trigger;
mod triggered;
mod try_progress;
mod verdict;

pub(crate) use state::{PhaseState, PipelineState};

use crate::composite::{Composite, Step};
use crate::context::{Names, Roots};
use crate::state::{End, State, TaskIx};
use crate::view::View;
use convoke_model::{AgentCall, ChildKind, Contract, Failure, Work};
use convoke_plan::template::Value;
use convoke_plan::{Kind, Node, NodeIx, Phase};

/// A phase of a pipeline: tries, the work that they hand out, and what is made of that.
pub(crate) struct PhaseTask;

impl Composite for PhaseTask {
    fn claims(&self, node: &Node) -> bool {
        matches!(node.kind, Kind::Phase(_))
    }

    fn worker(&self, state: &State, task: TaskIx, child: &ChildKind) -> Option<NodeIx> {
        state.phase_worker(state.phase(task)?, child)
    }

    fn begin(&self, view: &View<'_>, task: TaskIx) -> Vec<Step> {
        vec![view.try_after(task, None)]
    }

    fn advance(&self, view: &View<'_>, task: TaskIx, changed: &[TaskIx]) -> Vec<Step> {
        view.phase(task).map(|phase| view.next_try(task, phase, changed)).unwrap_or_default()
    }

    /// What a worker is told stands in its own prompt.
    fn prompt(&self, view: &View<'_>, child: TaskIx, call: AgentCall) -> Result<AgentCall, Failure> {
        Ok(view.put_prompt_context(child, call))
    }

    fn names(
        &self,
        view: &View<'_>,
        child: TaskIx,
        roots: &Roots,
        names: &mut Names,
    ) -> Result<bool, Failure> {
        Ok(view.add_handoff(child, roots, names))
    }

    fn failed_output(&self, view: &View<'_>, task: TaskIx) -> Option<Value> {
        view.failed_phase_value(task)
    }

    fn contract(&self, state: &State, child: TaskIx, work: &Work) -> Option<Contract> {
        state.phase_contract(child, work)
    }

    fn after_failure(&self, state: &State, task: TaskIx, failure: &Failure) -> Option<Vec<Step>> {
        Some(vec![state.after_failed_phase(task, failure)])
    }

    fn before_spawning(&self, state: &mut State, task: TaskIx) {
        state.before_phase_spawns(task);
    }

    fn spawned(&self, state: &mut State, task: TaskIx, child: TaskIx) {
        state.note_spawned(task, child);
    }

    fn ended(&self, state: &mut State, task: TaskIx, end: End) {
        state.count_phase(task, end);
    }

    fn reopened(&self, state: &mut State, task: TaskIx) {
        state.forget(task);
    }
}

impl State {
    fn phase(&self, task: TaskIx) -> Option<&Phase> {
        if let Kind::Phase(phase) = &self.node(task).kind { Some(phase) } else { None }
    }

    fn pipeline_state(&self, task: TaskIx) -> &PipelineState {
        &self.frame(self.tasks[task].place.frame).pipeline
    }
}
