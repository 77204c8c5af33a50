//! Another try for tasks that a person names: each begins anew, with the tasks that followed from it, and no other finished task does.
//!
//! A run that failed is opened as a resume would open it, but for its other failed tasks: the run would fail because of them again, so the
//! names must include them. Invariant: of the tasks that succeeded, only the named ones and those that followed from them begin anew.

use super::changed::changed_and_set;
use super::reopen::{NotReopened, Reopening, reopen};
use crate::state::{End, State, TaskIx, TaskState};
use convoke_model::hash::HashSet;
use convoke_model::{RunStatus, TaskId};

/// Why tasks get no other try.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotRetried {
    /// Nothing of that name has come up.
    #[error("the run has no task `{0}`")]
    Unknown(TaskId),
    /// It is under way: there is nothing to be tried again.
    #[error("task `{0}` has not ended: `resume` continues it")]
    NotEnded(TaskId),
    /// It belongs to a goal, a merge or a phase, which decides by itself what follows.
    #[error("task `{0}` works for `{1}`, which decides by itself what is tried again")]
    Child(TaskId, TaskId),
    /// The run would end of these again.
    #[error("`{}` failed too, and the run would end of it again", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("`, `"))]
    Others(Vec<TaskId>),
    /// The run itself cannot be opened.
    #[error(transparent)]
    Run(NotReopened),
}

/// What is done again if these tasks get another try. The run is one that no process drives.
pub fn retry(state: &State, tasks: &[TaskId]) -> Result<Reopening, NotRetried> {
    for id in tasks {
        state.may_retry(id)?;
    }
    let named: HashSet<&TaskId> = tasks.iter().collect();
    let mut found = match state.finished().map(|finished| finished.status) {
        None => Reopening::default(),
        Some(RunStatus::Succeeded | RunStatus::SkippedAll) => Reopening::default(),
        Some(_) => reopen(state).or_else(unless_well)?,
    };
    let again = changed_and_set(state, &state.plan, tasks);
    let dropped: HashSet<&TaskId> = again.dropped.iter().collect();
    let others = state.failed_besides(&found, &dropped);
    if !others.is_empty() {
        return Err(NotRetried::Others(others));
    }
    found.tasks.extend(again.opened.iter().cloned());
    again.dropped.iter().for_each(|task| found.begin_anew(task));
    found.superseded = state.superseded_by(&found.restarted.iter().collect());
    // What begins anew has no attempt whose outcome could be asked about: the caller has asked before.
    found.doubtful.retain(|task| !named.contains(task) && !dropped.contains(task));
    Ok(found)
}

/// A run that ended well has nothing that is open besides.
fn unless_well(why: NotReopened) -> Result<Reopening, NotRetried> {
    match why {
        NotReopened::EndedWell(_) | NotReopened::NotEnded => Ok(Reopening::default()),
        NotReopened::Terminated(_) => Err(NotRetried::Run(why)),
    }
}

impl State {
    fn may_retry(&self, id: &TaskId) -> Result<(), NotRetried> {
        let task = self.tasks.find(id).ok_or_else(|| NotRetried::Unknown(id.clone()))?;
        let above = std::iter::successors(self.above(task), |above| self.above(*above));
        if let Some(above) = above.into_iter().find(|above| self.own_composite(*above).is_some()) {
            return Err(NotRetried::Child(id.clone(), self.tasks[above].id.clone()));
        }
        match self.tasks[task].state {
            TaskState::Ended(_) => Ok(()),
            _ => Err(NotRetried::NotEnded(id.clone())),
        }
    }

    /// What had failed and would be open again besides what begins anew. What stands around it has failed because of it.
    fn failed_besides(&self, found: &Reopening, dropped: &HashSet<&TaskId>) -> Vec<TaskId> {
        let is_other = |id: &&TaskId| {
            let Some(task) = self.tasks.find(id) else { return false };
            self.tasks[task].state == TaskState::Ended(End::Failed)
                && !self.holds_others(task)
                && !super::lies_below(id, dropped)
        };
        found.tasks.iter().chain(&found.restarted).filter(is_other).cloned().collect()
    }

    fn holds_others(&self, task: TaskIx) -> bool {
        self.tasks[task].group.is_some() || self.tasks[task].frame.is_some()
    }
}
