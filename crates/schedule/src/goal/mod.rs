//! From a goal to its answer: which task comes next, and who does it.
//!
//! A goal and its tasks hold no permits themselves: they ask, and each duty is a child with a permit, an attempt and an
//! end of its own. The record of it is `Routed` (a decision and its reason) and `Asked`.

use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::{Class, Failure};
use convoke_plan::Goal;

impl Scheduler {
    /// Decide: a goal can start.
    pub(crate) fn begin_goal(&mut self, task: TaskIx, _goal: &Goal, _outputs: &dyn Outputs) {
        self.fail_task(task, Failure::new(Class::Fatal, "goals cannot be run yet"));
    }

    /// Decide: a task of a goal can start.
    pub(crate) fn begin_item(&mut self, task: TaskIx, _outputs: &dyn Outputs) {
        self.fail_task(task, Failure::new(Class::Fatal, "goals cannot be run yet"));
    }
}
