//! Words of single events about steps: how outputs are merged, and which hook of a workflow is meant.
//!
//! They are words of workflow files too, and never change.

use serde::{Deserialize, Serialize};

/// How a reduce step merges, or that a verify step examines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeStrategy {
    /// One after the other under headings, without a model.
    Flat,
    /// In groups, and the results in groups again.
    Hierarchical,
    /// As they arrive.
    Progressive,
    /// By programs that a model writes.
    Rlm,
    /// By counting votes, without a model.
    Vote,
    /// A model chooses one.
    Judge,
    /// A model chooses one of each pair, until one is left.
    Tournament,
    /// An answer is examined and corrected.
    Verify,
}

impl MergeStrategy {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            MergeStrategy::Flat => "flat",
            MergeStrategy::Hierarchical => "hierarchical",
            MergeStrategy::Progressive => "progressive",
            MergeStrategy::Rlm => "rlm",
            MergeStrategy::Vote => "vote",
            MergeStrategy::Judge => "judge",
            MergeStrategy::Tournament => "tournament",
            MergeStrategy::Verify => "verify",
        }
    }
}

/// When a hook of a workflow is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before the first step.
    OnStart,
    /// At a good end.
    OnComplete,
    /// At a bad end.
    OnError,
}

impl HookPoint {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            HookPoint::OnStart => "on_start",
            HookPoint::OnComplete => "on_complete",
            HookPoint::OnError => "on_error",
        }
    }
}
