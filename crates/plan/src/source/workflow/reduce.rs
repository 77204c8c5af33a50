//! Steps that make one answer of many: reduce and verify.

use std::time::Duration;

use super::super::text::{Spanned, Text};
use super::{AgentStep, Names};
use crate::plan::{Severity, Strategy, Tie};

/// `type: reduce`.
#[derive(Debug, Clone)]
pub struct ReduceStep {
    /// `of`: the steps whose outputs are merged; empty means everything that it needs.
    pub of: Names,
    /// What people call the sources, in the order of `of`; files of this kind have no key for it.
    pub titles: Vec<Option<String>>,
    /// `strategy` (default auto).
    pub strategy: Spanned<Strategy>,
    /// `ratio`: the most outputs in one call, 2 to 100 (default 10).
    pub ratio: Option<Spanned<u64>>,
    /// `group_tokens`: the most tokens of outputs in one call (default 24 000).
    pub group_tokens: Option<Spanned<u64>>,
    /// `query`: what the answer must answer (template).
    pub query: Option<Text>,
    /// `instructions`: further instructions for the model that merges (template).
    pub instructions: Option<Text>,
    /// `provider`, `model`, `models`, `system_prompt`, `temperature`, `max_tokens`, `output`, `timeouts`,
    /// `success_criteria` … of the model that merges.
    pub agent: Box<AgentStep>,
    /// `vote`.
    pub vote: Option<VoteSettings>,
    /// `rlm`.
    pub rlm: Option<RlmSettings>,
    /// `min_sources` (default 1).
    pub min_sources: Option<Spanned<u64>>,
    /// `deadline`: when it begins with what is there, after the workflow's start.
    pub deadline: Option<Spanned<Duration>>,
}

/// `vote` of a reduce step.
#[derive(Debug, Clone, Default)]
pub struct VoteSettings {
    /// `method` (default majority).
    pub method: Option<Spanned<VoteWord>>,
    /// `threshold`: the share that wins, over 0 and up to 1 (default 0.66).
    pub threshold: Option<Spanned<f64>>,
    /// `field` (default `vote`; `ranking` for ranked votes).
    pub field: Option<Spanned<String>>,
    /// `options`, in order.
    pub options: Names,
    /// `tie` (default undecided).
    pub tie: Option<Spanned<Tie>>,
    /// `quorum` (default 1).
    pub quorum: Option<Spanned<u64>>,
}

/// The rules of a vote, as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VoteWord {
    Majority,
    Unanimous,
    Threshold,
    Ranked,
}

/// `rlm` of a reduce step.
#[derive(Debug, Clone, Default)]
pub struct RlmSettings {
    /// `max_turns` (default 8).
    pub max_turns: Option<Spanned<u64>>,
    /// `max_depth` (default 3).
    pub max_depth: Option<Spanned<u64>>,
    /// `max_calls` (default 200).
    pub max_calls: Option<Spanned<u64>>,
    /// `time`: for all programs of one level (default 60 s).
    pub time: Option<Spanned<Duration>>,
    /// `memory_mb` (default 512).
    pub memory_mb: Option<Spanned<u64>>,
    /// `metadata_chars` (default 8 000).
    pub metadata_chars: Option<Spanned<u64>>,
    /// `model`: the model that `llm` asks; `None` means the one that merges.
    pub model: Option<Text>,
}

/// `type: verify`.
#[derive(Debug, Clone)]
pub struct VerifyStep {
    /// `of`: the step whose answer is examined; `None` means the only one that it needs.
    pub of: Option<Spanned<String>>,
    /// `query`: what the answer must answer (template).
    pub query: Option<Text>,
    /// `constraints`: what it must keep to (template).
    pub constraints: Option<Text>,
    /// `assessor`: the model that looks for what is wrong.
    pub assessor: Box<AgentStep>,
    /// `repairer`: the model that corrects.
    pub repairer: Box<AgentStep>,
    /// `rounds`: how often it may be corrected, 0 to 10 (default 2).
    pub rounds: Option<Spanned<u64>>,
    /// `severity`: from here on a finding must be corrected (default medium).
    pub severity: Option<Spanned<Severity>>,
    /// `when_open: report | fail` (default report).
    pub fail_when_open: bool,
}
