//! Which of several failures is the cause of what they lead to.
//!
//! One rule for everything that fails because parts of it do (groups, goals, pipelines, merges without sources): the part that failed first, whatever the
//! order in which the parts are written. What fails after it may fail because of it. A part that is itself made of parts failed
//! when the first of them did, not when the last of them had ended. The order of ends is the order of the journal, so a resumed
//! run names the same cause.

use super::{FrameEnding, State, TaskIx};
use convoke_model::{Ending, Failure};
use convoke_plan::Kind;

impl State {
    /// Of these tasks the one that failed first, and why.
    pub(crate) fn failed_first(&self, tasks: impl IntoIterator<Item = TaskIx>) -> Option<(TaskIx, &Failure)> {
        let failed = tasks.into_iter().filter_map(|task| Some((task, self.tasks[task].failure.as_deref()?)));
        failed.min_by_key(|(task, _)| self.failed_at(*task))
    }

    /// The place of a failure in the order of ends: that of the part which caused it.
    fn failed_at(&self, task: TaskIx) -> u32 {
        let inner = match &self.node(task).kind {
            Kind::Parallel(_) | Kind::ForEach(_) => {
                let members = self.tasks[task].group.iter().flat_map(|group| group.members.iter().copied());
                self.failed_first(members).map(|(member, _)| member)
            }
            Kind::SubPlan(_) => self.ended_by(task),
            _ => None,
        };
        inner.map_or(self.tasks[task].ended, |part| self.failed_at(part))
    }

    /// The step by which the workflow of a step failed.
    fn ended_by(&self, task: TaskIx) -> Option<TaskIx> {
        match &self.frame(self.tasks[task].frame?).ending {
            Some(FrameEnding::Stated(Ending::Failed { task: Some(cause), .. })) => self.tasks.find(cause),
            _ => None,
        }
    }
}
