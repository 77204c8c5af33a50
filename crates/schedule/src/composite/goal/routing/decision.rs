//! What the router decides, and in which order decisions are carried out.

use convoke_model::{Cause, Failure, GoalChoice, Item, Role, TaskId};

/// One decision with its reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    /// A role, a way to recover, `spawn`, `skip`, `end`, …
    pub chosen: GoalChoice,
    pub reason: String,
    /// The task that it is about; `None` is the goal.
    pub about: Option<TaskId>,
    pub role: Option<Role>,
    pub act: Act,
}

/// What carries a decision out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// A role is asked.
    Ask { role: Role, note: Option<String> },
    /// Tasks are made.
    Add(Vec<Item>),
    /// The task is left out.
    Skip(Cause),
    /// The same again, later.
    Retry,
    /// A person decides about the task.
    Escalate(String),
    /// The task has failed.
    Fail(Failure),
    /// What it last was told is its result.
    Succeed,
    /// The results of these children, one after the other, are its own: they could not be put together.
    Join { children: Vec<TaskId>, why: String },
    /// The result of its only child is its own.
    Inherit(TaskId),
    /// A person decides about the plan.
    Approve { prompt: String, plan: String },
    /// The plan itself is the goal's answer.
    Planned(serde_json::Value),
    /// The goal ends with what it came to.
    Conclude,
    /// The goal cannot be worked on.
    Abandon(Failure),
}

impl Decision {
    /// Finalisation, escalations, work, planning, maintenance.
    pub fn rank(&self) -> u8 {
        match (&self.act, self.role) {
            (Act::Conclude | Act::Abandon(_) | Act::Planned(_), _) => 0,
            (Act::Ask { role: Role::Finalise, .. }, _) => 0,
            (Act::Escalate(_), _) => 1,
            (Act::Ask { role: Role::Plan | Role::Classify, .. } | Act::Approve { .. }, _) => 3,
            (Act::Ask { role: Role::Reconcile, .. }, _) => 4,
            (Act::Ask { .. } | Act::Retry, _) => 2,
            (Act::Add(_), _) if self.about.is_none() => 3,
            (Act::Add(_), _) => 2,
            (Act::Skip(_) | Act::Fail(_) | Act::Succeed | Act::Join { .. } | Act::Inherit(_), _) => 4,
        }
    }
}
