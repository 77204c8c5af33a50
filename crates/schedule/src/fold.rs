//! The fold: state and event to state.
//!
//! Total: whatever a journal says, the answer is a new state or an [`IllegalEvent`], never a panic. Structural
//! consequences (members of a group that started, a task whose last need ended) are part of the fold; choices are not:
//! those are left on the agenda for `decide`.

use crate::agenda::Todo;
use crate::scheduler::{IllegalEvent, Scheduler};
use crate::task::{TaskIx, TaskState};
use crate::timer::Alarm;
use convoke_model::{Event, Payload, TaskId, Timestamp};
use convoke_plan::Kind;

mod attempt;
mod end;
mod place;
mod subject;
mod time;
mod workflow;

pub(crate) type Folded = Result<(), IllegalEvent>;

impl Scheduler {
    /// Takes one event into the state. Every event has its line here; what it does stands with its subject.
    pub(crate) fn fold(&mut self, event: &Event) -> Folded {
        use Event as E;
        match event {
            E::RunStarted(_) | E::RunOwned { .. } | E::RunReopened { .. } | E::PlanChanged { .. } => {
                self.owned(event)
            }
            E::BudgetExceeded { .. } | E::StopRequested { .. } | E::RunFinished { .. } => self.closing(event),
            E::TaskStarted { .. } | E::FannedOut { .. } | E::RetryScheduled { .. } | E::TaskWoken { .. } => {
                self.going_on(event)
            }
            E::TaskSucceeded { .. }
            | E::TaskFailed { .. }
            | E::TaskSkipped { .. }
            | E::TaskCancelled { .. } => self.ended(event),
            E::CancelRequested { task, cause } => self.cancel_requested(task, cause),
            E::SummaryStarted { task, covers, .. } => self.summary_wanted(task, covers),
            E::MergeStarted { .. } | E::OutputsMissed { .. } | E::Asked { .. } => self.questioned(event),
            E::Routed { .. } | E::Guided { .. } | E::StateChanged { .. } | E::Announced { .. } => {
                self.steered(event)
            }
            E::FilesSeen { .. } | E::ProjectSeen { .. } => self.looked(event),
            E::AttemptStarted { .. } | E::AttemptFinished { .. } | E::AttemptFailed { .. } => {
                self.attempted(event)
            }
            E::AttemptSuspended { .. } | E::TurnRecorded { .. } | E::AttemptLost { .. } => {
                self.left_off(event)
            }
            E::GateOpened { task, ask } => self.gate_opened(task, ask),
            E::GateAnswered { task, answer, .. } => self.gate_answered(task, answer),
            E::RouteTaken { .. } | E::WorkflowEnding { .. } => self.led_on(event),
            E::HookStarted { within, hook } => self.hook_started(within.as_ref(), hook),
            E::HookRendered { within, hook, .. } => self.hook_rendered(within.as_ref(), hook),
            E::ToolCalled { task, tool, .. } => self.tool_called(task, tool),
            E::AttemptTaken { .. } | E::ProcessStarted { .. } | E::Noted { .. } => Ok(()),
            E::Blocked { .. } | E::Fenced { .. } | E::LimitsSeen { .. } | E::LimitAdapted { .. } => Ok(()),
            E::CallReserved { .. } | E::CallLost { .. } | E::BudgetSpent { .. } => Ok(()),
            E::ContractResolved { .. } | E::ContextTrimmed { .. } => Ok(()),
            E::RunParked { .. } | E::RunInterrupted { .. } => Ok(()),
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
            (Kind::Parallel(_), ..) => self.open_parallel(task),
            (Kind::Goal(_), ..) => self.open_goal(task),
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

pub(crate) fn illegal(event: &str, why: &str) -> IllegalEvent {
    IllegalEvent { event: event.into(), why: why.into() }
}
