//! The workspace that tasks of a node have.

use super::NodeIx;
use convoke_model::WorktreeCall;
use serde::{Deserialize, Serialize};

/// What a task of a node has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    /// A worktree, whose repository is a folder below that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreeCall>,
    /// So many ports.
    #[serde(default)]
    pub ports: u32,
    /// The node that resolves conflicts; without one the task's own agent does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<NodeIx>,
    /// How often conflicts are resolved.
    pub resolve_attempts: u32,
}
