//! Why something does not run, or not on: the reasons that decisions carry.
//!
//! What was skipped or cancelled names its cause, and a workflow that ends early its ending; what follows from them is
//! the scheduler's business.

use crate::{Failure, Payload, TaskId};
use serde::{Deserialize, Serialize};

/// Why a workflow ends before its branches do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A failure that nothing in the workflow takes care of.
    Failed {
        /// The step it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// What went wrong.
        failure: Failure,
    },
    /// A `terminate` step.
    Terminated {
        /// The step.
        task: TaskId,
        /// Well or badly.
        success: bool,
        /// Why, in the author's words.
        reason: String,
        /// The output it states.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Payload>,
    },
}

/// Why a task was skipped or cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// What kind of reason.
    pub kind: CauseKind,
    /// The task that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

/// The kinds of reason for not running, or not running on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// Something it needs failed.
    NeedFailed,
    /// Something it needs was skipped or cancelled.
    NeedSkipped,
    /// Something it needs was never reached by a route.
    NeedNotReached,
    /// None of the edges that lead to it was taken.
    NotTriggered,
    /// Its planner says, with a reason, that it cannot be done.
    NotPossible,
    /// It failed, and its judge says, with a reason, to do without it.
    GivenUp,
    /// Its join can no longer be met.
    JoinUnmet,
    /// A join was decided without it.
    JoinDecided,
    /// A merge had a deadline, and went on without it.
    DeadlinePassed,
    /// A member of its group failed.
    GroupFailed,
    /// The workflow it stands in failed.
    WorkflowFailed,
    /// A terminate step ended the workflow it stands in.
    Terminated,
    /// Its time was over.
    TimedOut,
    /// A limit of the run was reached.
    LimitReached,
    /// The run was stopped by a person or a signal.
    Stopped,
}

impl CauseKind {
    /// The reason, as people read it.
    pub fn words(self) -> &'static str {
        match self {
            CauseKind::NeedFailed => "something it needs failed",
            CauseKind::NeedSkipped => "something it needs did not run",
            CauseKind::NeedNotReached => "something it needs was never reached",
            CauseKind::NotTriggered => "no edge that leads to it was taken",
            CauseKind::NotPossible => "its planner says that it cannot be done",
            CauseKind::GivenUp => "it failed, and the goal goes on without it",
            CauseKind::JoinUnmet => "its join can no longer be met",
            CauseKind::JoinDecided => "a join was decided without it",
            CauseKind::DeadlinePassed => "a deadline passed, and the merge went on without it",
            CauseKind::GroupFailed => "its group failed",
            CauseKind::WorkflowFailed => "the workflow failed",
            CauseKind::Terminated => "the workflow was ended by a terminate step",
            CauseKind::TimedOut => "its time was over",
            CauseKind::LimitReached => "a limit was reached",
            CauseKind::Stopped => "the run was stopped",
        }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.kind.words())?;
        match &self.task {
            Some(task) => write!(out, " ({task})"),
            None => Ok(()),
        }
    }
}
