//! What is said on the way from a goal to its answer: which role is asked what, and the tasks that a plan consists of.
//!
//! Data only. Which role comes next is the scheduler's decision; the contracts of the answers are the plan's.

use crate::TaskId;
use serde::{Deserialize, Serialize};

/// A role on the way to a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Make tasks of the goal.
    Plan,
    /// Say whether a task is done directly or by children.
    Analyse,
    /// Do a task.
    Execute,
    /// Make children of a task.
    Decompose,
    /// Make one result of what the children of a task came to.
    Reconcile,
    /// Say how a failed task can still be done.
    Recover,
    /// Do a task that recovers a failed one, with half of what the first try had.
    Rescue,
    /// Say whether the goal needs further tasks.
    Classify,
    /// Answer, from all results.
    Finalise,
    /// Make one digest of some of the results that are too many to be put together at once.
    Collect,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 10] = [
        Role::Plan,
        Role::Analyse,
        Role::Execute,
        Role::Decompose,
        Role::Reconcile,
        Role::Recover,
        Role::Rescue,
        Role::Classify,
        Role::Finalise,
        Role::Collect,
    ];

    /// Whether it does tasks: with their tools and in a folder.
    pub fn works(self) -> bool {
        matches!(self, Role::Execute | Role::Rescue)
    }

    /// The word for people, files and ids.
    pub fn word(self) -> &'static str {
        match self {
            Role::Plan => "plan",
            Role::Analyse => "analyse",
            Role::Execute => "execute",
            Role::Decompose => "decompose",
            Role::Reconcile => "reconcile",
            Role::Recover => "recover",
            Role::Rescue => "rescue",
            Role::Classify => "classify",
            Role::Finalise => "finalise",
            Role::Collect => "collect",
        }
    }
}

/// One task of a goal, as its planner says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// What is to be done.
    pub description: String,
    /// Whose results it is given: tasks of the same plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TaskId>,
    /// The tools that it may use; empty leaves the choice to its worker, unless it is to have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Whether it has no tools at all: its list is empty, or none of those that were named may be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub toolless: bool,
    /// More urgent tasks have smaller numbers; 0 is the middle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i64,
    /// Why it may not be possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<Skip>,
    /// What it is thought to take.
    #[serde(default, skip_serializing_if = "Effort::is_unknown")]
    pub effort: Effort,
    /// The failed or skipped tasks that it makes up for: its own parent, or tasks of an earlier round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<TaskId>,
    /// What its planner says must hold for it to be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ensure: Vec<crate::Condition>,
    /// The advice of its planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many tasks stand above it.
    #[serde(default, skip_serializing_if = "is_none_above")]
    pub depth: u32,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn is_none_above(depth: &u32) -> bool {
    *depth == 0
}

/// Why a task may not be possible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// In percent.
    pub probability: u8,
    /// What can be verified about it.
    pub reason: String,
}

/// What a task is thought to take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl Effort {
    /// Whether nothing is said about it.
    pub fn is_unknown(&self) -> bool {
        *self == Effort::default()
    }
}
