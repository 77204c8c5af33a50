//! Stopping what is no longer wanted.
//!
//! What has not begun is skipped, what runs is told to stop and ends when it has stopped, what waits ends at once.
//! Cancellation reaches every member and every sub-workflow below.

use crate::outputs::Outputs;
use crate::scheduler::{Command, Scheduler};
use crate::state::{FrameEnding, State, TaskIx, TaskState, Todo};
use convoke_model::{Cause, CauseKind, Event};

impl Scheduler {
    /// Stops a task, whatever it is doing.
    pub(crate) fn cancel(&mut self, task: TaskIx, cause: &Cause, _outputs: &dyn Outputs) {
        match self.tasks[task].state {
            TaskState::Ended(_) => {}
            TaskState::Waiting | TaskState::Held | TaskState::Ready => self.drop_unstarted(task, cause),
            TaskState::Running if cause.kind == CauseKind::Stopped && !self.stops_now() => {}
            TaskState::Running => {
                if self.request_cancel(task, cause) {
                    self.command(Command::Abort(task));
                }
            }
            TaskState::Open => {
                if self.request_cancel(task, cause) {
                    self.stop_look(task);
                }
            }
            TaskState::Failing | TaskState::Timed(_) | TaskState::Backoff(_) | TaskState::Asking => {
                self.request_cancel(task, cause);
                self.finish_cancel(task);
            }
        }
    }

    pub(crate) fn drop_unstarted(&mut self, task: TaskIx, cause: &Cause) {
        if self.tasks[task].queued {
            self.command(Command::Withdraw(task));
        }
        self.stop_look(task);
        let (id, cause) = (self.tasks[task].id.clone(), cause.clone());
        if cause.kind == CauseKind::TimedOut {
            return self.fail_task(task, self.timeout_failure(task));
        }
        if self.tasks[task].attempts == 0 {
            self.emit(Event::TaskSkipped { task: id, cause });
        } else {
            self.emit(Event::TaskCancelled { task: id, cause });
        }
    }

    /// Records that a task is to stop; false if it was told already.
    fn request_cancel(&mut self, task: TaskIx, cause: &Cause) -> bool {
        if self.tasks[task].cancelling.is_some() {
            return false;
        }
        self.emit(Event::CancelRequested { task: self.tasks[task].id.clone(), cause: cause.clone() });
        true
    }

    /// A task that was told to stop has stopped.
    pub(crate) fn finish_cancel(&mut self, task: TaskIx) {
        let cause = *self.tasks[task].cancelling.clone().expect("it was told to stop");
        if cause.kind == CauseKind::TimedOut {
            return self.fail_task(task, self.timeout_failure(task));
        }
        self.emit(Event::TaskCancelled { task: self.tasks[task].id.clone(), cause });
    }

    /// A task whose needs can no longer be met.
    pub(crate) fn skip_waiting(&mut self, task: TaskIx, kind: CauseKind, because: Option<TaskIx>) {
        if self.tasks[task].state != TaskState::Waiting {
            return;
        }
        let because = because.map(|task| self.tasks[task].id.clone());
        self.emit(Event::TaskSkipped {
            task: self.tasks[task].id.clone(),
            cause: Cause { kind, task: because },
        });
    }

    /// A join was decided: what it no longer needs stops, if no other task needs it, and then what only that needed.
    pub(crate) fn stop_losers(&mut self, task: TaskIx, why: CauseKind, outputs: &dyn Outputs) {
        let plan = self.plan.clone();
        let place = self.tasks[task].place;
        let workflow = plan.workflow(self.frame(place.frame).workflow);
        let cause = Cause { kind: why, task: Some(self.tasks[task].id.clone()) };
        // Of a fan-out of which one item is needed, others may be wanted.
        for need in workflow.node(self.tasks[task].node).needs.iter().filter(|need| need.item.is_none()) {
            let Some(loser) = self.beside(place, need.node) else { continue };
            if !self.tasks[loser].is_ended() && !self.is_wanted(loser) {
                self.cancel(loser, &cause, outputs);
                self.todo(Todo::Losers(loser, why));
            }
        }
    }
}

impl State {
    /// Whether the run was stopped: it begins nothing more, and makes no further call.
    pub fn is_stopping(&self) -> bool {
        matches!(self.frames.first().and_then(|root| root.ending.as_ref()), Some(FrameEnding::Stopped { .. }))
    }

    /// Whether a stop also reaches attempts that run.
    fn stops_now(&self) -> bool {
        matches!(self.frames[0].ending, Some(FrameEnding::Stopped { now: true }))
    }

    /// Whether anything that has not begun yet waits for this task, or its branch goes on by a route.
    fn is_wanted(&self, task: TaskIx) -> bool {
        let place = self.tasks[task].place;
        let dependents = &self.index_in(place.frame).dependents[self.tasks[task].node.0 as usize];
        let waits = |node: &convoke_plan::NodeIx| {
            let waiter = self.beside(place, *node);
            waiter.is_some_and(|waiter| self.tasks[waiter].state == TaskState::Waiting)
        };
        dependents.iter().any(waits) || !self.node(task).routes.is_empty()
    }
}
