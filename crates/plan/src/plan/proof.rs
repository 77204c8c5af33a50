//! What the work of a node must prove.

use super::Text;
use convoke_model::PolicySource;
use serde::{Deserialize, Serialize};

/// What must hold for the work of a node to count as done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The conditions, in the order in which they are checked.
    #[serde(default)]
    pub conditions: Vec<Claim>,
    /// Patterns of files that the work must leave as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
    /// How often what does not hold goes back to the agent.
    pub max_retries: u32,
    /// The policies under which commands are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<PolicySource>,
}

/// A condition whose texts are rendered before the work begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// A file is there.
    FileExists(Text),
    /// A file is another one.
    FileChanged(Text),
    /// Something of these patterns changed, or anything.
    DiffNotEmpty(Vec<Text>),
    /// A command ends with exit code 0.
    Command(Text),
    /// The tests pass, by this command or by the project's own.
    TestsPass(Option<Text>),
    /// A tool was called.
    ToolCalled(String),
    /// An expression over the output is true; it is evaluated when there is one.
    That(String),
}
