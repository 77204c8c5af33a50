//! Steps that make one answer of many: reduce and verify.

use std::time::Duration;

use super::super::keys::reduce::HELPER_MODEL;
use super::super::read;
use super::super::section::section;
use super::super::shape::{Shape, TEXTS};
use super::super::text::{Spanned, Text};
use super::{AgentStep, Names};
use crate::plan::{Severity, Strategy, Tie};

section! {
    /// `type: reduce`.
    #[derive(Debug, Clone)]
    pub struct ReduceStep of steps {
        /// steps whose outputs are merged, or the step whose answer is examined (default what it needs)
        #[by(read::reduce::sources)]
        #[on(REDUCE | VERIFY)]
        pub of: Names => OneOf(&[Text, TEXTS]),
        /// what the answer must answer
        #[on(REDUCE | VERIFY)]
        pub query: Option<Text>,
        /// how outputs are merged (default auto)
        #[by(read::reduce::strategy)]
        #[on(REDUCE)]
        pub strategy: Spanned<Strategy>,
        /// the most outputs in one call (default 10)
        #[on(REDUCE)]
        pub ratio: Option<Spanned<u64>> => Integer(2, 100),
        /// the most tokens of outputs in one call (default 24000)
        #[on(REDUCE)]
        pub group_tokens: Option<Spanned<u64>> => Integer(1, 10_000_000),
        /// further instructions for the model that merges
        #[on(REDUCE)]
        pub instructions: Option<Text>,
        /// how votes are counted
        #[on(REDUCE)]
        pub vote: Option<VoteSettings>,
        /// how programs over outputs are run
        #[on(REDUCE)]
        pub rlm: Option<RlmSettings>,
        /// fewer outputs than this are a failure (default 1)
        #[on(REDUCE)]
        pub min_sources: Option<Spanned<u64>> => SOURCES,
        /// when it begins with what is there, after the workflow's start
        #[on(REDUCE)]
        pub deadline: Option<Spanned<Duration>>,
        /// The model that merges: keys of agents.
        #[by(read::helper_model::own_model)]
        pub agent: Box<AgentStep>,
    } with {
        /// What people call the sources, in the order of `of`; files of this kind have no key for it.
        pub titles: Vec<Option<String>> = |_| Vec::new(),
    } judge read::reduce::judge_reduce
}

section! {
    /// `vote` of a reduce step.
    #[derive(Debug, Clone, Default)]
    pub struct VoteSettings = "vote", "`vote`" {
        /// the rule (default majority)
        pub method: Option<Spanned<VoteWord>>,
        /// with `method: threshold`: the share of the votes cast that wins (default 0.66)
        pub threshold: Option<Spanned<f64>> => Number(f64::MIN_POSITIVE, 1.0),
        /// field of an output that holds the vote (default `vote`; `ranking` for ranked votes)
        #[by(read::fixed::fixed)]
        pub field: Option<Spanned<String>>,
        /// what may be voted for, in order (default anything)
        pub options: Names = Names::new(),
        /// what a tie comes to (default undecided)
        pub tie: Option<Spanned<Tie>>,
        /// how many votes there must be, abstentions not counted (default 1)
        pub quorum: Option<Spanned<u64>> => SOURCES,
    } judge read::reduce::judge_vote
}

/// The most outputs that a step can ask for.
pub(in crate::source) const SOURCES: Shape = Shape::Integer(1, 1_000_000);

/// The rules of a vote, as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum VoteWord {
    Majority,
    Unanimous,
    Threshold,
    Ranked,
}

section! {
    /// `rlm` of a reduce step.
    #[derive(Debug, Clone, Default)]
    pub struct RlmSettings = "rlm", "`rlm`" {
        /// programs that the root model may write (default 8)
        pub max_turns: Option<Spanned<u64>> => Integer(1, 100),
        /// how deep programs may start programs (default 3)
        pub max_depth: Option<Spanned<u64>> => Integer(0, 10),
        /// model calls that one level may ask for (default 200)
        pub max_calls: Option<Spanned<u64>> => Integer(1, 100_000),
        /// time for all programs of one level, without waiting (default 60s)
        pub time: Option<Spanned<Duration>>,
        /// memory of a program in MiB (default 512)
        pub memory_mb: Option<Spanned<u64>> => Integer(16, 65_536),
        /// characters that the root model sees of the outputs' description (default 8000)
        pub metadata_chars: Option<Spanned<u64>> => Integer(500, 1_000_000),
        /// the model that `llm` asks (default the one that writes the programs)
        pub model: Option<Text>,
    }
}

section! {
    /// `type: verify`.
    #[derive(Debug, Clone)]
    pub struct VerifyStep of steps {
        /// what the answer must keep to
        #[on(VERIFY)]
        pub constraints: Option<Text>,
        /// the model that looks for what is wrong
        #[by(read::helper_model::helper_model)]
        #[on(VERIFY)]
        pub assessor: Box<AgentStep> => Object(&HELPER_MODEL),
        /// the model that corrects
        #[by(read::helper_model::helper_model)]
        #[on(VERIFY)]
        pub repairer: Box<AgentStep> => Object(&HELPER_MODEL),
        /// how often the answer may be corrected (default 2)
        #[on(VERIFY)]
        pub rounds: Option<Spanned<u64>> => Integer(0, 10),
        /// from here on a finding must be corrected (default medium)
        #[on(VERIFY)]
        pub severity: Option<Spanned<Severity>>,
        /// what findings that remain come to (default report)
        #[by(read::reduce::fails)]
        #[on(VERIFY)]
        pub fail_when_open as "when_open": bool => Choice(&["report", "fail"]),
        /// The step whose answer is examined; `None` means the only one that it needs.
        #[by(read::fixed::fixed)]
        pub of: Option<Spanned<String>>,
        /// What the answer must answer (template).
        pub query: Option<Text>,
    } judge read::reduce::judge_verify
}
