//! What the router of a goal decides.
//!
//! The words of a choice are part of journals and of `show --format json`: they never change. What follows from a choice is the
//! scheduler's business.

use crate::{Role, TaskId};
use serde::{Deserialize, Serialize};

/// What comes next on the way to a goal, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalDecided {
    /// The goal.
    pub task: TaskId,
    /// What comes next.
    pub chosen: GoalChoice,
    /// Why.
    pub reason: String,
    /// The task that it is about; absent for the goal itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<TaskId>,
    /// The role that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

/// What can come next on the way to a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalChoice {
    /// The goal is planned.
    Plan,
    /// A person approves the plan first.
    Approve,
    /// Tasks are made.
    AddTasks,
    /// The size of a task is judged.
    Analyse,
    /// A task is done.
    Execute,
    /// A task that recovers another is done.
    Rescue,
    /// A task is done by children, because it is large.
    Spawn,
    /// A failed task is done by children.
    Decompose,
    /// Children that cannot be made are asked for once more.
    AskAgain,
    /// The results of children are put together.
    Reconcile,
    /// A model says how a failed task can still be done.
    Recover,
    /// A failed task is done once more, later.
    Retry,
    /// A failed task is done with other parameters.
    RepairParameters,
    /// A failed task is done with another tool.
    AlternativeTool,
    /// A task of its own recovers a failed one.
    SpawnRecovery,
    /// A person decides about a failed task.
    Escalate,
    /// A task is left out.
    Skip,
    /// A task has failed.
    Fail,
    /// The results of children, one after the other, are the result of their task.
    Join,
    /// A model says whether the goal needs further tasks.
    Classify,
    /// Results that are too many for one prompt become digests.
    Collect,
    /// The answer is written.
    Finalise,
    /// A task or the goal is at its end.
    End,
}

impl GoalChoice {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            GoalChoice::Plan => "plan",
            GoalChoice::Approve => "approve",
            GoalChoice::AddTasks => "add_tasks",
            GoalChoice::Analyse => "analyse",
            GoalChoice::Execute => "execute",
            GoalChoice::Rescue => "rescue",
            GoalChoice::Spawn => "spawn",
            GoalChoice::Decompose => "decompose",
            GoalChoice::AskAgain => "ask_again",
            GoalChoice::Reconcile => "reconcile",
            GoalChoice::Recover => "recover",
            GoalChoice::Retry => "retry",
            GoalChoice::RepairParameters => "repair_parameters",
            GoalChoice::AlternativeTool => "alternative_tool",
            GoalChoice::SpawnRecovery => "spawn_recovery",
            GoalChoice::Escalate => "escalate",
            GoalChoice::Skip => "skip",
            GoalChoice::Fail => "fail",
            GoalChoice::Join => "join",
            GoalChoice::Classify => "classify",
            GoalChoice::Collect => "collect",
            GoalChoice::Finalise => "finalise",
            GoalChoice::End => "end",
        }
    }
}

impl From<Role> for GoalChoice {
    /// A role is asked for what it does.
    fn from(role: Role) -> GoalChoice {
        match role {
            Role::Plan => GoalChoice::Plan,
            Role::Analyse => GoalChoice::Analyse,
            Role::Execute => GoalChoice::Execute,
            Role::Decompose => GoalChoice::Decompose,
            Role::Reconcile => GoalChoice::Reconcile,
            Role::Recover => GoalChoice::Recover,
            Role::Rescue => GoalChoice::Rescue,
            Role::Classify => GoalChoice::Classify,
            Role::Finalise => GoalChoice::Finalise,
            Role::Collect => GoalChoice::Collect,
        }
    }
}

impl std::fmt::Display for GoalChoice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.word())
    }
}
