//! Nodes that start from a sentence: a goal, and the tasks that models make of it.
//!
//! A goal runs as a task with children, and so does each task below it. Everything that a model contributes on the way
//! (planning, doing, recovering, answering) is a child with a permit, an attempt and an end of its own. Which comes next
//! is the scheduler's business; who is asked and within which bounds stands here.

use super::{NodeIx, Text};
use convoke_model::{Class, Duty};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A sentence becomes tasks, and their results an answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Goal {
    /// What is to be reached.
    pub goal: Text,
    /// What whoever plans should know besides.
    pub context: Option<Text>,
    /// Who does what.
    pub duties: BTreeMap<Duty, NodeIx>,
    /// The node of the tasks that are made of it: [`Kind::Item`](super::Kind::Item).
    pub item: NodeIx,
    /// The tools that may be used, as far as their names are known; empty where there are none.
    pub tools: Vec<String>,
    /// How far it may go.
    pub bounds: Bounds,
    /// When a task is handed to children without asking anybody.
    pub spawn: SpawnRule,
    /// From this probability on, in percent, a task that whoever planned it thinks impossible is skipped.
    pub skip_threshold: u8,
    /// What follows from a failure, by its class, first to last; none is tried twice for a task.
    pub policies: BTreeMap<Class, Vec<Action>>,
    /// Whether a person must approve the plan before anything is done.
    pub approve: bool,
    /// Whether the plan itself is the answer.
    pub plan_only: bool,
    /// The plan, where a person has written or approved it before.
    pub plan: Option<Text>,
}

/// How far the work on a goal may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// How deep tasks may stand below the goal.
    pub max_depth: u32,
    /// Children of one task.
    pub max_children: u32,
    /// Tasks in all, however deep.
    pub max_tasks: u32,
    /// How often it may be planned.
    pub max_rounds: u32,
    /// How often a task may be recovered, whatever the way.
    pub max_recoveries: u32,
}

/// From here on a task is too large to be done directly. What is below all of these and asks for at most one tool is done
/// directly; for everything between, the analyser is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRule {
    /// Tokens.
    pub tokens: u64,
    /// Seconds.
    pub seconds: u64,
    /// Tools.
    pub tools: u32,
}

/// What can follow from the failure of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The same again, later: base x 2^(failures - 1).
    Retry,
    /// The same with other parameters, as whoever recovers says.
    RepairParameters,
    /// With another tool.
    AlternativeTool,
    /// By children.
    Decompose,
    /// By a task of its own that recovers, with fewer tools and no children.
    SpawnRecovery,
    /// A person decides.
    Escalate,
    /// It is left out, with the reason.
    Skip,
    /// It has failed.
    Fail,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 8] = [
        Action::Retry,
        Action::RepairParameters,
        Action::AlternativeTool,
        Action::Decompose,
        Action::SpawnRecovery,
        Action::Escalate,
        Action::Skip,
        Action::Fail,
    ];

    /// The word for people and files.
    pub fn word(self) -> &'static str {
        match self {
            Action::Retry => "retry",
            Action::RepairParameters => "repair_parameters",
            Action::AlternativeTool => "alternative_tool",
            Action::Decompose => "decompose",
            Action::SpawnRecovery => "spawn_recovery",
            Action::Escalate => "escalate",
            Action::Skip => "skip",
            Action::Fail => "fail",
        }
    }
}

/// A task of a goal; the goal's own node says everything about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalItem {
    /// The goal.
    pub goal: NodeIx,
}
