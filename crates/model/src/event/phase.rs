//! What is decided about a phase of a pipeline, and what an earlier run of it came to.

use crate::TaskId;
use serde::{Deserialize, Serialize};

/// Whether a phase starts: a decision about the edges that lead to it, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseDecided {
    /// The phase.
    pub task: TaskId,
    /// Whether it starts.
    pub chosen: PhaseChoice,
    /// Why: what each edge waited for, or got.
    pub reason: String,
    /// Where the edges come from that were taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<TaskId>,
}

/// Whether a phase starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseChoice {
    /// An edge that leads to it was taken.
    Start,
    /// No edge was.
    Skip,
}

impl PhaseChoice {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            PhaseChoice::Start => "start",
            PhaseChoice::Skip => "skip",
        }
    }
}

impl std::fmt::Display for PhaseChoice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.word())
    }
}

/// A phase that ran before its run was opened again, and then began anew: its result stays in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// The phase.
    pub task: TaskId,
    /// Which of its runs, from 1.
    pub run: u32,
    /// What it came to.
    pub status: PhaseStatus,
    /// The tries that it had.
    pub tries: u32,
    /// What was done in them against contracts, as the result tells it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<serde_json::Value>,
}

/// What a phase that ran came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// It succeeded.
    Success,
    /// None of its tries was accepted.
    ValidationFail,
    /// It failed.
    Failure,
    /// It was stopped.
    Cancelled,
}
