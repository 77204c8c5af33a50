//! What a goal that failed does again when its run is resumed: what ended well stays, what failed begins anew, and the
//! answer is given again.

use crate::outputs::Outputs;
use crate::reopen::Reopening;
use crate::scheduler::Scheduler;
use crate::task::{End, TaskIx, TaskState};
use convoke_model::{Class, Duty, Failure};
use convoke_plan::Kind;

impl Scheduler {
    /// Opens a goal or a task of one again, with everything below it that did not end well.
    pub(crate) fn reopen_led(&self, task: TaskIx, found: &mut Reopening) {
        let id = self.tasks[task].id.clone();
        let members = self.tasks[task].group.iter().flat_map(|group| &group.members).copied();
        let (items, duties): (Vec<TaskIx>, Vec<TaskIx>) =
            members.partition(|member| self.item_of(*member).is_some());
        found.tasks.push(id.clone());
        let failed = self.tasks[task].state == TaskState::Ended(End::Failed);
        if items.is_empty() && failed {
            return found.restarted.push(id);
        }
        for item in items.into_iter().filter(|item| !self.tasks[*item].succeeded()) {
            self.reopen_led(item, found);
        }
        duties.into_iter().for_each(|duty| self.reopen_duty(duty, found));
    }

    /// What was cut off goes on; whoever puts results together does so again; everything else was heeded already.
    fn reopen_duty(&self, duty: TaskIx, found: &mut Reopening) {
        let id = self.tasks[duty].id.clone();
        let puts_together = matches!(self.duty_of(duty), Some((Duty::Finalise | Duty::Reconcile, _)));
        match self.tasks[duty].state {
            TaskState::Ended(End::Cancelled | End::Skipped) => found.tasks.push(id),
            _ if puts_together => found.restarted.push(id),
            _ => {}
        }
    }

    /// Why a goal, or a task of one, fails that a person does not let go on.
    pub(crate) fn refused_goal(&self, task: TaskIx, outputs: &dyn Outputs) -> Failure {
        if matches!(self.node(task).kind, Kind::Goal(_)) {
            let failure = Failure::new(Class::Cancelled, "the plan was not approved").reason("not_approved");
            return self.named(task, failure);
        }
        let stopped = || Failure::new(Class::Cancelled, "a person gave it up").reason("given_up");
        self.item_failure(task, outputs).unwrap_or_else(stopped)
    }
}
