//! Nodes that make one answer of many: reduce merges outputs, verify examines an answer and has it corrected.
//!
//! Both run as tasks of their own with children: what a model is asked on the way is a child with a permit, an attempt
//! and an end like any other. How the children come about is the scheduler's business.

use super::{NodeIx, Text};
use convoke_model::MergeStrategy;
use serde::{Deserialize, Serialize};

/// A prompt of a merge, an examination or a repair that a step may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// Make one text of several outputs.
    Merge,
    /// Choose one of several outputs.
    Choose,
    /// Say what is wrong with an answer.
    Assess,
    /// Correct an answer by findings.
    Correct,
    /// Put an output into the shape that a step expects.
    RepairInput,
}

impl PromptKind {
    /// All of them.
    pub const ALL: [PromptKind; 5] = [
        PromptKind::Merge,
        PromptKind::Choose,
        PromptKind::Assess,
        PromptKind::Correct,
        PromptKind::RepairInput,
    ];

    /// The names that its template sees, besides those that every text of the step sees.
    ///
    /// `query`, `instructions`, `constraints`: the texts of the step, empty where it states none. `outputs`: [{heading, text}], what
    /// is merged, chosen from, or stands behind the answer; `outputs_further`: how many more there are. `missing`:
    /// [{task, cause}]; `missing_further`: how many more there are. `answer`: the answer that is examined. `findings`: [{kind,
    /// severity, claim, explanation, correction}]. `data`: the output as JSON; `problem`: why it does not fit.
    pub fn variables(self) -> &'static [&'static str] {
        match self {
            PromptKind::Merge => &["query", "instructions", "outputs", "missing", "missing_further"],
            PromptKind::Choose => &["query", "instructions", "outputs"],
            PromptKind::Assess => &["query", "constraints", "answer", "outputs", "outputs_further"],
            PromptKind::Correct => {
                &["query", "constraints", "answer", "outputs", "outputs_further", "findings"]
            }
            PromptKind::RepairInput => &["data", "problem"],
        }
    }
}

/// Many outputs become one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reduce {
    /// How.
    pub strategy: Strategy,
    /// The nodes whose outputs are merged, in order; a group stands for its members.
    pub of: Vec<NodeIx>,
    /// What people call them, where it is not their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub titles: Vec<Option<String>>,
    /// The most outputs in one call.
    pub ratio: u32,
    /// The most tokens of outputs in one call.
    pub group_tokens: u64,
    /// What the answer must answer.
    pub query: Option<Text>,
    /// Further words for the model that merges.
    pub instructions: Option<Text>,
    /// What the model that merges or chooses is asked; absent where no model is asked.
    pub prompt: Option<Text>,
    /// The agent that merges, judges or writes programs; absent where no model is asked.
    pub merger: Option<NodeIx>,
    /// How votes are counted.
    pub vote: Option<Vote>,
    /// How programs are run.
    pub rlm: Option<Rlm>,
    /// Fewer outputs than this are a failure.
    pub min_sources: u32,
    /// When the merge begins with what is there, in milliseconds after the workflow's start.
    pub deadline_ms: Option<u64>,
}

/// How outputs are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// By their number: up to 10 flat, up to 50 hierarchical, more by programs.
    Auto,
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
}

impl Strategy {
    /// The word for people and files.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Flat => "flat",
            Strategy::Hierarchical => "hierarchical",
            Strategy::Progressive => "progressive",
            Strategy::Rlm => "rlm",
            Strategy::Vote => "vote",
            Strategy::Judge => "judge",
            Strategy::Tournament => "tournament",
        }
    }

    /// The strategy as events record it. What `auto` means is resolved before anything is merged.
    pub fn to_record(self) -> MergeStrategy {
        match self {
            Strategy::Auto | Strategy::Flat => MergeStrategy::Flat,
            Strategy::Hierarchical => MergeStrategy::Hierarchical,
            Strategy::Progressive => MergeStrategy::Progressive,
            Strategy::Rlm => MergeStrategy::Rlm,
            Strategy::Vote => MergeStrategy::Vote,
            Strategy::Judge => MergeStrategy::Judge,
            Strategy::Tournament => MergeStrategy::Tournament,
        }
    }

    /// The strategy of a merge that an event records; `None` for the examination of an answer.
    pub fn recorded(strategy: MergeStrategy) -> Option<Strategy> {
        Some(match strategy {
            MergeStrategy::Flat => Strategy::Flat,
            MergeStrategy::Hierarchical => Strategy::Hierarchical,
            MergeStrategy::Progressive => Strategy::Progressive,
            MergeStrategy::Rlm => Strategy::Rlm,
            MergeStrategy::Vote => Strategy::Vote,
            MergeStrategy::Judge => Strategy::Judge,
            MergeStrategy::Tournament => Strategy::Tournament,
            MergeStrategy::Verify => return None,
        })
    }

    /// What `auto` means for this many outputs.
    pub fn resolve(self, sources: usize) -> Strategy {
        match (self, sources) {
            (Strategy::Auto, 0..=10) => Strategy::Flat,
            (Strategy::Auto, 11..=50) => Strategy::Hierarchical,
            (Strategy::Auto, _) => Strategy::Rlm,
            (stated, _) => stated,
        }
    }

    /// Whether a model chooses one of the outputs.
    pub fn chooses(self) -> bool {
        matches!(self, Strategy::Judge | Strategy::Tournament)
    }

    /// Whether a model may be asked on the way.
    pub fn may_ask(self) -> bool {
        !matches!(self, Strategy::Flat | Strategy::Vote)
    }
}

/// How votes are counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// The rule.
    pub method: VoteMethod,
    /// The field of a member's output that holds the vote (a list, best first, for ranked votes).
    pub field: String,
    /// What may be voted for, in order; empty allows anything.
    pub options: Vec<String>,
    /// What a tie comes to.
    pub tie: Tie,
    /// How many votes there must be, abstentions not counted; fewer decide nothing.
    pub quorum: u32,
}

/// The rule of a vote. Shares are of the votes cast: members that abstain or fail are not counted in them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoteMethod {
    /// Most votes win.
    Majority,
    /// All votes cast must be for the same.
    Unanimous,
    /// At least this share of the votes cast.
    Threshold(f64),
    /// Instant run-off: the option with the fewest first places is left out until one has more than half.
    Ranked,
}

/// What a tie comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// Nothing is decided.
    Undecided,
    /// The option that is listed first, or was voted for first.
    First,
    /// The step fails.
    Fail,
}

/// How programs over outputs are run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlm {
    /// Programs that the root may write.
    pub max_turns: u32,
    /// How deep programs may start programs.
    pub max_depth: u32,
    /// Model calls that one level may ask for.
    pub max_calls: u32,
    /// Time for all programs of one level, waiting for models not counted, in milliseconds.
    pub time_ms: u64,
    /// Memory of a program, in bytes.
    pub memory: u64,
    /// Characters that the root sees of the outputs' description, and of what a program printed.
    pub metadata_chars: u64,
    /// The agent that writes the programs.
    pub writer: NodeIx,
    /// The agent that `llm` asks.
    pub reader: NodeIx,
}

/// An answer is examined, and corrected where it must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verify {
    /// The node whose output is examined.
    pub of: NodeIx,
    /// What the answer must answer.
    pub query: Option<Text>,
    /// What it must keep to.
    pub constraints: Option<Text>,
    /// The agent that looks for what is wrong.
    pub assessor: NodeIx,
    /// What it is asked.
    pub assess: Text,
    /// The agent that corrects.
    pub repairer: NodeIx,
    /// What it is asked.
    pub correct: Text,
    /// How often it may be corrected.
    pub rounds: u32,
    /// From here on a finding must be corrected.
    pub severity: Severity,
    /// Whether what remains is a failure; else it is told with the answer.
    pub fail_when_open: bool,
}

/// How bad a finding is; later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth a word.
    Low,
    /// Should not be there.
    Medium,
    /// Misleads.
    High,
    /// Makes the answer useless or harmful.
    Critical,
}

impl Severity {
    /// All, from the mildest.
    pub const ALL: [Severity; 4] = [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];

    /// The word for people and files.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}
