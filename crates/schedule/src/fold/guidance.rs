//! What people say to one task, and which tasks can be spoken to.
//!
//! Invariant: what a task was told is kept with it, in order, until it begins anew; each of its conversations hears all of it once.

use super::Folded;
use crate::state::{End, State, TaskIx, TaskState};
use convoke_model::TaskId;
use convoke_plan::Kind;

/// Why a task cannot be spoken to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGuided {
    /// The run has no such task, or none yet.
    #[error("the run has no task `{0}` at this moment")]
    Unknown(TaskId),
    /// It is over.
    #[error("task `{0}` has ended ({1}): no turn of it follows")]
    Ended(TaskId, &'static str),
    /// It reads no words.
    #[error("task `{0}` is of type {1}: no model reads what is said to it")]
    NoAgent(TaskId, &'static str),
}

impl State {
    /// The task, if an agent's turn of it may follow, which would read what is said to it.
    pub fn guidable(&self, id: &TaskId) -> Result<TaskIx, NotGuided> {
        let task = self.tasks.find(id).ok_or_else(|| NotGuided::Unknown(id.clone()))?;
        let kind = &self.node(task).kind;
        if !matches!(kind, Kind::Agent(_)) {
            return Err(NotGuided::NoAgent(id.clone(), kind.word()));
        }
        match self.tasks[task].state {
            TaskState::Ended(end) => Err(NotGuided::Ended(id.clone(), word(end))),
            _ if self.finished.is_some() => Err(NotGuided::Ended(id.clone(), "with its run")),
            _ => Ok(task),
        }
    }

    /// How often a task was spoken to, and by how many characters in all.
    pub fn told(&self, task: TaskIx) -> (usize, usize) {
        let told = &self.tasks[task].guidance;
        (told.len(), told.iter().map(|text| text.chars().count()).sum())
    }

    pub(super) fn task_guided(&mut self, id: &TaskId, text: &str) -> Folded {
        if let Some(task) = self.tasks.find(id) {
            self.tasks[task].guidance.push(text.to_owned());
        }
        Ok(())
    }
}

fn word(end: End) -> &'static str {
    match end {
        End::Succeeded => "done",
        End::Failed => "failed",
        End::Skipped => "skipped",
        End::Cancelled => "cancelled",
    }
}
