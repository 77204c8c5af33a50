//! The fold: state and event to state.
//!
//! Total: whatever a journal says, the answer is a new state or an [`IllegalEvent`], never a panic. Structural
//! consequences (members of a group that started, a task whose last need ended) are part of the fold; choices are not:
//! those are left on the agenda for `decide`.

use crate::state::{Alarm, End, Finished, State, TaskIx, TaskState, Todo};
use convoke_model::{Event, Payload, Stamped, TaskId, Timestamp};
use convoke_plan::Kind;
use std::time::Duration;

mod attempt;
mod effect;
mod end;
mod fork;
mod guidance;
mod place;
mod proof;
mod time;
mod workflow;
mod workspace;

pub use guidance::NotGuided;

/// A journal that says something impossible.
#[derive(Debug, thiserror::Error)]
#[error("event {event} cannot follow what came before it: {why}")]
pub struct IllegalEvent {
    /// The event's kind and task.
    pub event: String,
    /// What contradicts it.
    pub why: String,
}

pub(crate) type Folded = Result<(), IllegalEvent>;

impl State {
    /// Takes an event of the journal into the state.
    pub(crate) fn apply(&mut self, stamped: &Stamped) -> Folded {
        let before = self.now;
        self.now = before.max(stamped.at);
        if State::begins_ownership(&stamped.event) {
            self.stood_still(self.now.since(before));
        }
        if let Event::MachineSlept { ms } = stamped.event {
            self.stood_still(Duration::from_millis(ms));
        }
        self.fold(&stamped.event)
    }

    /// Takes one event into the state.
    pub(crate) fn fold(&mut self, event: &Event) -> Folded {
        match event {
            Event::RunStarted(started) => self.run_started(started),
            Event::RunOwned { .. } => self.run_owned(),
            Event::TaskStarted { task, until, inputs } => self.task_started(task, *until, inputs.as_ref()),
            Event::FannedOut { task, count, items, keys } => {
                self.fanned_out(task, *count, items, keys.as_deref())
            }
            Event::MergeStarted { task, strategy, sources, missing, closed } => {
                self.merge_started(task, *strategy, sources, missing, *closed)
            }
            Event::OutputsMissed { task, missing } => self.outputs_missed(task, missing),
            Event::ChildrenSpawned { task, children } => self.children_spawned(task, children),
            Event::GoalDecided(decided) => self.goal_decided(decided),
            Event::PhaseDecided(decided) => self.phase_decided(decided),
            Event::Guided { text, .. } => self.guided(text),
            Event::TaskGuided { task, text, .. } => self.task_guided(task, text),
            Event::StateChanged { task, flags, metadata } => self.state_changed(task, flags, metadata),
            Event::Announced { task, attempt, kind, payload, .. } => {
                self.announced(task, *attempt, kind, payload)
            }
            Event::FilesSeen { task, present, absent } => self.files_seen(task, present, absent),
            Event::ProjectSeen { task, revision, context, place } => {
                self.project_seen(task.as_ref(), *revision, context, place)
            }
            Event::AttemptStarted { task, attempt, .. } => self.attempt_started(task, *attempt),
            Event::AttemptFinished { task, output, usage, .. } => self.attempt_finished(task, output, usage),
            Event::AttemptFailed { task, failure, usage, .. } => self.attempt_failed(task, failure, usage),
            Event::AttemptSuspended { task, state, waits_for, usage, .. } => {
                self.attempt_suspended(task, state, waits_for, usage)
            }
            Event::TurnRecorded { task, attempt, piece, usage, .. } => {
                self.turn_recorded(task, *attempt, piece, usage)
            }
            Event::AttemptLost { task, usage, .. } => self.attempt_lost(task, usage),
            Event::AttemptDetached { task, .. } => self.attempt_detached(task),
            Event::EffectCommitted { task, attempt, key, result, .. } => {
                self.effect_committed(task, *attempt, key, result.as_ref())
            }
            Event::ProbeStarted { task, attempt, .. } => self.probe_started(task, *attempt),
            Event::EffectProbed { task, verdict, .. } => self.effect_probed(task, verdict),
            Event::RetryScheduled { task, at } => self.retry_scheduled(task, *at),
            Event::TaskWoken { task } => self.task_woken(task),
            Event::TaskSucceeded { task, output } => self.task_succeeded(task, output),
            Event::TaskFailed { task, failure } => self.task_failed(task, failure),
            Event::TaskSkipped { task, cause } => self.task_skipped(task, cause),
            Event::TaskCancelled { task, cause } => self.task_over(task, End::Cancelled, cause),
            Event::CancelRequested { task, cause } => self.cancel_requested(task, cause),
            Event::RouteTaken { from, to, output, on_error } => {
                self.route_taken(from, to.as_ref(), output.as_ref(), *on_error)
            }
            Event::WorkflowEnding { within, ending } => self.workflow_ending(within.as_ref(), ending),
            Event::GateOpened { task, question, ask, until, .. } => {
                self.gate_opened(task, *question, ask, *until)
            }
            Event::GateAnswered { task, answer, .. } => self.gate_answered(task, answer),
            Event::BudgetExceeded { .. } => self.budget_exceeded(),
            Event::StopRequested { now, .. } => self.stop_requested(*now),
            Event::RunFinished { status, output, failure } => {
                self.finished =
                    Some(Finished { status: *status, output: output.clone(), failure: failure.clone() });
                Ok(())
            }
            Event::SummaryStarted { task, covers, .. } => self.summary_wanted(task, covers),
            Event::HookStarted { within, hook } => self.hook_started(within.as_ref(), *hook),
            Event::HookRendered { within, hook, .. } => self.hook_rendered(within.as_ref(), *hook),
            Event::RunReopened(reopened) => {
                self.restarted(&reopened.restarted);
                self.phases_retried(&reopened.retried);
                self.phases_superseded(&reopened.superseded);
                self.ask_before_repeating(&reopened.doubtful);
                self.reopened(&reopened.tasks, &reopened.rewound)
            }
            Event::PlanChanged(changed) => {
                self.restarted(&changed.dropped);
                self.phases_superseded(&changed.superseded);
                self.reopened(&[], &[])
            }
            Event::RunForked(forked) => self.run_forked(forked),
            Event::OutputTaken { task, output, .. } => self.task_succeeded(task, output),
            Event::TaskAffected { task, .. } => {
                self.affected.insert(task.clone());
                Ok(())
            }
            Event::ToolCalled { task, tool, .. } => self.tool_called(task, tool),
            Event::ProofBegun { task, baseline, .. } => self.proof_begun(task, baseline),
            Event::ProofDue { task, output } => self.proof_due(task, output),
            Event::ProofChecked { task, check, held, findings, .. } => {
                self.proof_checked(task, check, *held, findings)
            }
            Event::WorkspaceLeased(told) => self.workspace_leased(told),
            Event::WorkspaceSealed(told) => self.workspace_sealed(told),
            Event::WorkspaceConflicted(told) => self.workspace_conflicted(told),
            Event::WorkspaceMerged { task, .. } => self.workspace_merged(task),
            Event::WorkspaceKept { task, .. } | Event::WorkspaceReleased { task } => {
                self.workspace_left(task)
            }
            Event::AttemptTaken { .. }
            | Event::ModelCalled { .. }
            | Event::ProcessStarted { .. }
            | Event::EffectClaimed { .. }
            | Event::Blocked { .. }
            | Event::Fenced { .. }
            | Event::LimitsSeen { .. }
            | Event::LimitAdapted { .. }
            | Event::CallReserved { .. }
            | Event::CallLost { .. }
            | Event::BudgetSpent { .. }
            | Event::ContractResolved { .. }
            | Event::ToolsSettled { .. }
            | Event::ContextTrimmed { .. }
            | Event::Noted { .. }
            | Event::MachineSlept { .. }
            | Event::RunParked { .. }
            | Event::RunInterrupted { .. } => Ok(()),
        }
    }

    pub(crate) fn make_ready(&mut self, task: TaskIx) {
        self.tasks[task].state = TaskState::Ready;
        self.todo(Todo::Begin(task));
    }

    fn task_started(&mut self, id: &TaskId, until: Option<Timestamp>, inputs: Option<&Payload>) -> Folded {
        let task = self.begun(id, "task_started")?;
        self.expect(task, "task_started", |state| state == TaskState::Ready)?;
        self.note_start(task);
        let kind = &self.node(task).kind;
        match (kind, until, inputs) {
            (Kind::Wait(_), Some(until), _) => {
                self.tasks[task].state = TaskState::Timed(until);
                self.timers.arm(until, Alarm::Wake(task));
            }
            _ if self.own_composite(task).is_some() => self.open_composite(task),
            (Kind::Parallel(_), ..) => self.open_parallel(task),
            (Kind::SubPlan(sub), _, Some(inputs)) => {
                let workflow = sub.workflow;
                self.open_sub_plan(task, workflow, inputs);
            }
            _ => {
                return Err(illegal(
                    &format!("task_started of {id}"),
                    "it is no wait, group, goal or sub-workflow",
                ));
            }
        }
        Ok(())
    }

    fn fanned_out(&mut self, id: &TaskId, count: u32, items: &Payload, keys: Option<&[String]>) -> Folded {
        let task = self.begun(id, "fanned_out")?;
        self.expect(task, "fanned_out", |state| state == TaskState::Ready)?;
        if keys.is_some_and(|keys| keys.len() != count as usize) {
            return Err(illegal(&format!("fanned_out of {id}"), "it has not one key per item"));
        }
        if u64::from(count) > most_items(items) {
            return Err(illegal(&format!("fanned_out of {id}"), "its list is shorter"));
        }
        self.note_start(task);
        self.open_fan_out(task, count, items, keys);
        Ok(())
    }

    pub(crate) fn known(&self, id: &TaskId, what: &str) -> Result<TaskIx, IllegalEvent> {
        self.tasks.find(id).ok_or_else(|| illegal(&format!("{what} of {id}"), "there is no such task"))
    }

    pub(crate) fn expect(&self, task: TaskIx, what: &str, fits: impl Fn(TaskState) -> bool) -> Folded {
        let state = self.tasks[task].state;
        if fits(state) {
            return Ok(());
        }
        Err(illegal(&format!("{what} of {}", self.tasks[task].id), &format!("the task is {state:?}")))
    }
}

/// Whether an event is of a new owner, so that no process drove the run before it.
pub fn begins_ownership(event: &Event) -> bool {
    State::begins_ownership(event)
}

/// How many items a list of this length has at most: each takes a character and a comma.
fn most_items(list: &Payload) -> u64 {
    match list {
        Payload::Inline(text) => text.as_str().len() as u64 / 2,
        Payload::Blob { size, .. } => size / 2,
        Payload::Gathered => 0,
    }
}

pub(crate) fn illegal(event: &str, why: &str) -> IllegalEvent {
    IllegalEvent { event: event.into(), why: why.into() }
}
