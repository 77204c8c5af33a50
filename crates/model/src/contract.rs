//! What an attempt may do and use, resolved before it starts: one value that does not change.
//!
//! Who performs the attempt reads nothing else about its rights. Resolving is the scheduler's, enforcing the executor's.

use crate::Budget;
use serde::{Deserialize, Serialize};

/// The most tokens to answer with where nobody says: what a call can cost must be known before it is made.
pub const MAX_TOKENS: u64 = 4096;

/// The resolved contract of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The node or duty that it is an attempt of.
    pub phase: String,
    /// Whose role it is played in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The provider that is asked; absent where a command is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model that is asked first; empty where the provider has its own.
    pub model: String,
    /// The models that may answer in its place, in the order in which they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_models: Vec<String>,
    /// The servers whose tools there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The tools of these that may be used, as entries (`clearance`): which tools a server has is known once it runs.
    /// `None` means all of them.
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that may never be used, also where `allowed_tools` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub banned_tools: Vec<String>,
    /// Where it works, from the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The longest time for it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The most tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most rounds of tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// What it may spend, together with all other attempts that the same budget is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
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
