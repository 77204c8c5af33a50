//! Pipelines of personas: whether a phase starts, its tries, the work it hands out, and what the whole comes to.

use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::{Class, Failure};
use convoke_plan::Phase;

impl Scheduler {
    /// Decide: a phase can start.
    pub(crate) fn begin_phase(&mut self, task: TaskIx, _phase: &Phase, _outputs: &dyn Outputs) {
        self.fail_task(task, Failure::new(Class::Fatal, "pipelines cannot be run yet"));
    }
}
