//! An attempt on its way to a worker.

use convoke_engine::Calls;
use convoke_model::{Assignment, Digest, RunId, TaskId};
use serde::{Deserialize, Serialize};

/// An attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Launch {
    /// The run.
    pub run: RunId,
    /// What to do; `None` where the attempt is to be stopped and may not have arrived yet.
    pub assignment: Option<Box<Assignment>>,
    /// Where it is put down, if it is large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Digest>,
    /// How its calls are admitted.
    pub calls: TermsOfCalls,
}

/// How the calls of an attempt are admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TermsOfCalls {
    /// Nothing counts them.
    Free,
    /// Each is asked for, but for the first, if it goes to this model.
    Asked(Option<String>),
}

impl From<Calls> for TermsOfCalls {
    fn from(calls: Calls) -> TermsOfCalls {
        match calls {
            Calls::Free => TermsOfCalls::Free,
            Calls::Asked(first) => TermsOfCalls::Asked(first.map(String::from)),
        }
    }
}

/// By this an attempt is known in the whole cluster: no other has it.
pub fn attempt_name(run: &RunId, task: &TaskId, attempt: u32) -> String {
    format!("{run}/{task}#{attempt}")
}
