//! What a task is to have, and what is known of it.

use crate::{Contract, JsonText, TaskId, Usage, Work};
use serde::{Deserialize, Serialize};

/// How work comes back from a worktree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeMode {
    /// The branch stays.
    #[default]
    None,
    /// The target moves forward to the branch; where it has moved meanwhile, it is merged into the branch before.
    FastForward,
    /// The commits of the branch are made anew on top of the target, which then moves forward to them.
    Rebase,
    /// The branch stays, with a file that describes it and one that holds its commits.
    PullRequestFile,
}

impl MergeMode {
    /// The word in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            MergeMode::None => "none",
            MergeMode::FastForward => "fast-forward",
            MergeMode::Rebase => "rebase",
            MergeMode::PullRequestFile => "pull-request-file",
        }
    }

    /// Whether the target branch changes.
    pub fn moves_target(self) -> bool {
        matches!(self, MergeMode::FastForward | MergeMode::Rebase)
    }
}

/// The worktree that a task is to have, as a plan says it and as an attempt is told it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeCall {
    /// A folder of the repository: in a plan from the folder of the run, in a call from the root.
    pub repository: String,
    /// What its branch begins at.
    pub base: String,
    /// The branch that it comes back to; `None`: the one that is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
    /// The only paths that are checked out; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sparse: Vec<String>,
    /// Files that git ignores and that are copied into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seed: Vec<String>,
    /// How it comes back.
    #[serde(default)]
    pub merge: MergeMode,
}

/// The workspace that an attempt is to work in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkspaceCall {
    /// The task whose lease it is: the attempt's own, or one that it works for.
    pub owner: TaskId,
    /// The folder of the run, from the root.
    pub folder: String,
    /// Its worktree; `None`: ports alone.
    pub worktree: Option<WorktreeCall>,
    /// How many ports.
    pub ports: u32,
    /// The workspace that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<WorkspaceCall>>,
    /// Whether the attempt merely works in it, and its end is the owner's affair.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Whether the output says by its `status` if the work is any good: what did not succeed is not merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judged: bool,
    /// Whether the journal knows that it is leased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub known: bool,
    /// Whether its command outlives the engine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub survives: bool,
    /// The work was done by an earlier attempt, and only its way back is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Box<Sealed>>,
    /// Resolves conflicts; `None`: the task's own agent, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Box<Resolver>>,
    /// How often conflicts may be resolved.
    pub resolve_attempts: u32,
}

/// Work that is done, and how far its way back has come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sealed {
    /// What the attempt gave.
    pub output: JsonText,
    /// What it used, as far as no end of an attempt has said so.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    /// How often conflicts were shown.
    pub rounds: u32,
    /// It is back already.
    pub settled: bool,
}

/// The one that resolves conflicts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resolver {
    /// The name of its step or persona.
    pub name: String,
    /// What it does, in the words that it has for anything.
    pub work: Work,
    /// What it may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Box<Contract>>,
}
