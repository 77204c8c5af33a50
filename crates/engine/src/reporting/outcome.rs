//! How driving a run ended.

use crate::capacity::durations::Durations;
use convoke_govern::Learned;
use convoke_model::{Failure, JsonText, RunStatus, TaskId};

/// How driving a run ended: at its end, or at a place from which it can be resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// How the run stands.
    pub status: RunStatus,
    /// The workflow's output.
    pub output: Option<JsonText>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The gates that wait, for a parked run.
    pub waiting: Vec<TaskId>,
    /// What was learned about services, for later runs.
    pub learned: Learned,
    /// How long steps took, for later runs.
    pub durations: Durations,
}

impl Outcome {
    /// The limit that ended the run, if one did.
    pub fn limit(&self) -> Option<&str> {
        self.failure.as_ref().and_then(Failure::limit)
    }
}
