//! What happens to a workspace.

use super::{MergeMode, Ports};
use crate::{Contract, JsonText, Payload, TaskId, Usage};
use serde::{Deserialize, Serialize};

/// A worktree that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeasedTree {
    /// Its folder.
    pub path: String,
    /// Its branch.
    pub branch: String,
    /// The commit that the branch began at.
    pub base: String,
    /// The branch that it comes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

/// A workspace belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceLeased {
    /// Whose it is.
    pub task: TaskId,
    /// The worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<LeasedTree>,
    /// The ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Ports>,
    /// The task whose workspace it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
}

/// The work in a workspace is done, and is about to come back: from here on its attempt is not made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkspaceSealed {
    /// Whose workspace it is.
    pub task: TaskId,
    /// The task whose attempt did the work.
    pub by: TaskId,
    /// The last commit of the work.
    pub commit: String,
    /// How it comes back.
    pub merge: MergeMode,
    /// What the attempt gave.
    pub output: Payload,
    /// What it had used; the end of an attempt counts it.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
}

/// Work meets a conflict on its way back, and somebody is asked to resolve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceConflicted {
    /// Whose workspace it is.
    pub task: TaskId,
    /// The task whose attempt goes on with it.
    pub by: TaskId,
    /// Which time, from 1.
    pub round: u32,
    /// The files.
    pub paths: Vec<String>,
    /// The step or persona that is asked; absent where none is left to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<String>,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Box<Contract>>,
}

/// What an attempt has to say about its workspace.
#[derive(Debug, Clone)]
pub enum WorkspaceTold {
    /// It stands.
    Leased(Box<WorkspaceLeased>),
    /// The work in it is done.
    Sealed {
        /// The last commit.
        commit: String,
        /// How it comes back.
        merge: MergeMode,
        /// What is about to be done, for the ledger of effects; `None` where no branch moves.
        what: Option<String>,
        /// What the attempt gave.
        output: JsonText,
        /// What it used.
        usage: Usage,
    },
    /// A conflict.
    Conflicted {
        /// Which time.
        round: u32,
        /// The files.
        paths: Vec<String>,
        /// The one that is asked.
        resolver: Option<String>,
        /// What it may do.
        contract: Option<Box<Contract>>,
    },
    /// The target branch has it.
    Merged {
        /// The branch, or the file that describes it.
        into: String,
        /// The commit.
        commit: String,
    },
    /// It is let go of, and this stays.
    Kept(WorkspaceRemains),
    /// It is gone.
    Released,
}

/// What stays of a workspace that was let go of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRemains {
    /// The folder, where what is in it is in no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The branch.
    pub branch: String,
    /// Why.
    pub why: String,
}
