//! The workspace that tasks of a node have.

use super::NodeIx;
use convoke_model::MergeMode;
use serde::{Deserialize, Serialize};

/// What a task of a node has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// A worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
    /// So many ports.
    #[serde(default)]
    pub ports: u32,
    /// The node that resolves conflicts; without one the task's own agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<NodeIx>,
    /// How often conflicts are resolved.
    pub resolve_attempts: u32,
}

/// A worktree of git.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// A folder of the repository, from the folder of the run.
    pub repository: String,
    /// What its branch begins at.
    pub base: String,
    /// The branch that its work comes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// The only paths in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sparse: Vec<String>,
    /// Ignored files that are copied into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seed: Vec<String>,
    /// How its work comes back.
    #[serde(default)]
    pub merge: MergeMode,
}
