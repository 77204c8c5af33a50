//! What an attempt may do and use, resolved before it starts: one value that does not change.
//!
//! Who performs the attempt reads nothing else about its rights. Resolving is the scheduler's, enforcing the executor's.

use serde::{Deserialize, Serialize};

/// The resolved contract of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The node or duty that it is an attempt of.
    pub phase: String,
    /// Whose role it is played in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The model.
    pub model: String,
    /// The tools that may be used, as the model knows them; `None` means all of the workflow.
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that may never be used, also where `allowed_tools` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub banned_tools: Vec<String>,
    /// Where it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The longest time for it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How deep it stands among spawned work.
    #[serde(default)]
    pub depth: u32,
    /// What a violation of these rules comes to.
    pub violation: Violation,
}

/// What a violation of a contract comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The workflow ends.
    #[default]
    HardAbort,
    /// The attempt has failed validation and may be tried again.
    ValidationFail,
}
