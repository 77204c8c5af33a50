//! The words of the language that stand for values: one list per enum, used by readers, messages and schema.

use convoke_model::{ApprovalLevel, MergeMode, Permissions, Placeholders, StuckAction, Violation};

use super::manifest::{Mode, Protocol};
use super::personas::Kind;
use super::settings::McpTransport;
use super::workflow::{
    Backoff, BudgetMode, ContextMode, ErrorClass, OnTimeout, OnUnknown, OutputMode, Priority, QueueClass,
    Requires, Spent, TerminateStatus, TrimStrategy, ValueType, VoteWord,
};
use crate::plan::{Action, On, Severity, Strategy, Tie, Topology};
use crate::value::SetType;

/// An enum whose values are words of the language.
pub trait Words: Copy + 'static {
    /// The words, in the order of the reference.
    const WORDS: &'static [&'static str];
    /// Every value with its word.
    const PAIRS: &'static [(&'static str, Self)];

    /// The value that a word stands for.
    fn from_word(word: &str) -> Option<Self> {
        Self::PAIRS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
    }
}

/// Words of enums of other modules, which know them too.
macro_rules! shared_words {
    ($($type:ident { $($word:literal => $variant:ident),+ $(,)? })+) => { $(
        impl Words for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const PAIRS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
        }
    )+ };
}

macro_rules! words {
    ($($type:ident { $($word:literal => $variant:ident),+ $(,)? })+) => { $(
        shared_words! { $type { $($word => $variant),+ } }

        impl $type {
            /// The words, in the order of the reference.
            pub const WORDS: &'static [&'static str] = <Self as Words>::WORDS;

            /// The word for this value.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    )+ };
}

words! {
    ContextMode { "accumulate" => Accumulate, "last_only" => LastOnly, "explicit" => Explicit }
    TrimStrategy { "summarize" => Summarize, "truncate" => Truncate, "drop_oldest" => DropOldest }
    BudgetMode { "audit" => Audit, "enforce" => Enforce }
    Spent { "queue" => Queue, "degrade" => Degrade, "ask" => Ask, "stop" => Stop }
    OutputMode { "raw" => Raw, "envelope" => Envelope }
    SetType {
        "auto" => Auto, "string" => String, "number" => Number, "integer" => Integer, "boolean" => Boolean,
        "list" => List, "dict" => Dict,
    }
    TerminateStatus { "success" => Success, "failed" => Failed }
    Requires { "success" => Success, "completed" => Completed, "any" => Any, "some" => Some }
    Backoff { "fixed" => Fixed, "exponential" => Exponential }
    OnTimeout { "default" => Default, "fail" => Fail }
    OnUnknown { "retry" => Retry, "probe" => Probe, "ask" => Ask, "fail" => Fail }
    Priority { "critical" => Critical, "high" => High, "normal" => Normal, "low" => Low, "background" => Background }
    QueueClass { "interactive" => Interactive, "standard" => Standard, "batch" => Batch }
    VoteWord { "majority" => Majority, "unanimous" => Unanimous, "threshold" => Threshold, "ranked" => Ranked }
    Tie { "undecided" => Undecided, "first" => First, "fail" => Fail }
    Mode { "auto" => Auto, "sequential" => Sequential, "parallel" => Parallel, "mixed" => Mixed, "wave" => Wave }
    Protocol {
        "auto" => Auto, "delegation" => Delegation, "handoff" => Handoff, "broadcast" => Broadcast,
        "voting" => Voting, "consensus" => Consensus, "debate" => Debate,
    }
    Topology {
        "sequential" => Sequential, "parallel" => Parallel, "hierarchical" => Hierarchical,
        "retry-unrolled" => RetryUnrolled,
    }
    Kind {
        "always" => Always, "state_flag" => StateFlag, "history_has_event" => HistoryHasEvent,
        "file_exists" => FileExists, "expression" => Expression,
    }
    McpTransport { "stdio" => Stdio, "http" => Http, "sse" => Sse, "scripts" => Scripts }
}

shared_words! {
    // `any` is for schemas that come from elsewhere.
    ValueType {
        "string" => String, "number" => Number, "boolean" => Boolean, "array" => Array, "object" => Object,
    }
    ErrorClass {
        "rate_limit" => RateLimit, "capacity" => Capacity, "timeout" => Timeout, "transient" => Transient,
        "invalid_output" => InvalidOutput, "refused" => Refused, "permission" => Permission, "budget" => Budget,
        "security" => Security, "conflict" => Conflict, "cancelled" => Cancelled, "fatal" => Fatal,
    }
    Strategy {
        "auto" => Auto, "flat" => Flat, "hierarchical" => Hierarchical, "progressive" => Progressive, "rlm" => Rlm,
        "vote" => Vote, "judge" => Judge, "tournament" => Tournament,
    }
    Severity { "low" => Low, "medium" => Medium, "high" => High, "critical" => Critical }
    Action {
        "retry" => Retry, "repair_parameters" => RepairParameters, "alternative_tool" => AlternativeTool,
        "decompose" => Decompose, "spawn_recovery" => SpawnRecovery, "escalate" => Escalate, "skip" => Skip,
        "fail" => Fail,
    }
    ApprovalLevel { "none" => None, "high-risk" => HighRisk, "all" => All }
    Permissions { "ask" => Ask, "allow" => Allow, "deny" => Deny }
    Placeholders { "note" => Note, "retry" => Retry, "ignore" => Ignore }
    StuckAction { "warn" => Warn, "fail" => Fail }
    MergeMode {
        "none" => None, "fast-forward" => FastForward, "rebase" => Rebase, "pull-request-file" => PullRequestFile,
    }
    Violation { "hard_abort" => HardAbort, "validation_fail" => ValidationFail }
    // How a phase must have ended for an edge to be taken.
    On {
        "success" => Success, "validation_fail" => ValidationFail, "failure" => Failure, "always" => Always,
        "onTaskComplete" => Success, "onValidationFail" => ValidationFail,
    }
}

impl ValueType {
    /// The word for this value.
    pub fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Any => "any",
        }
    }
}

/// How a phase must have ended for an edge to be taken.
pub const ON_WORDS: &[&str] = <On as Words>::WORDS;
/// How the members of a block run.
pub const TOPOLOGIES: &[&str] = Topology::WORDS;
/// What a violation of a contract comes to.
pub const VIOLATIONS: &[&str] = <Violation as Words>::WORDS;
/// How outputs are merged.
pub const STRATEGIES: &[&str] = <Strategy as Words>::WORDS;
/// How bad a finding is.
pub const SEVERITIES: &[&str] = <Severity as Words>::WORDS;
/// How it is decided what a coding agent may do.
pub const PERMISSIONS: &[&str] = <Permissions as Words>::WORDS;
/// What follows when an agent is stuck.
pub const STUCK_ACTIONS: &[&str] = <StuckAction as Words>::WORDS;
/// What follows when an answer says nothing.
pub const PLACEHOLDERS: &[&str] = <Placeholders as Words>::WORDS;
/// The words of the classes of failures.
pub const CLASSES: &[&str] = <ErrorClass as Words>::WORDS;
/// The word for every class that has no line of its own.
pub const ANY_CLASS: &str = "any";
/// What can follow from the failure of a goal's task.
pub const ACTIONS: &[&str] = <Action as Words>::WORDS;
/// `failure_mode` of groups.
pub const FAILURE_MODES: &[&str] = &["fail_fast", "continue_on_error", "all_or_nothing", "quorum"];
/// `join` without a number.
pub const JOINS: &[&str] = &["all", "any", "first_success"];
/// `retry_on`: the two words of Conductor and the classes that another attempt can help.
pub const RETRY_ON: &[&str] = &[
    "provider_error",
    "timeout",
    "rate_limit",
    "capacity",
    "transient",
    "invalid_output",
    "refused",
    "conflict",
];
/// Effort of reasoning.
pub const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];
/// Vendor word: context size classes.
pub const CONTEXT_TIERS: &[&str] = &["default", "long_context"];
/// Providers that have settings of their own in the language.
pub const PROVIDERS: &[&str] = &[
    "copilot",
    "openai",
    "claude",
    "claude-agent-sdk",
    "hermes",
    "aca",
    "scripted",
    "openai-responses",
    "anthropic",
    "gemini",
    "openrouter",
    "azure",
    "ollama",
    "llamacpp",
    "vllm",
    "acp",
    "cli",
];
/// Providers that are programs of this machine.
pub const PROGRAMS: &[&str] = &["acp", "cli"];
/// Providers that answer here, over the network.
pub const SERVICES: &[&str] = &[
    "openai",
    "openai-responses",
    "claude",
    "anthropic",
    "gemini",
    "openrouter",
    "azure",
    "ollama",
    "llamacpp",
    "vllm",
];
/// `kind` at the top of a file.
pub const FRONT_ENDS: &[&str] = &["workflow", "persona_manifest", "execution_manifest", "team", "plan"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_are_those_of_the_model() {
        let words: Vec<&str> = ErrorClass::ALL.iter().map(|class| class.word()).collect();
        assert_eq!(CLASSES, words);
        assert!(ErrorClass::PAIRS.iter().all(|(word, class)| class.word() == *word));
    }

    #[test]
    fn every_word_of_a_shared_enum_is_listed() {
        assert!(Strategy::PAIRS.iter().all(|(word, strategy)| strategy.word() == *word));
        assert_eq!(SEVERITIES, Severity::ALL.map(|severity| severity.word()));
        assert!(Severity::PAIRS.iter().all(|(word, severity)| severity.word() == *word));
        assert_eq!(ACTIONS, Action::ALL.map(|action| action.word()));
        assert!(Action::PAIRS.iter().all(|(word, action)| action.word() == *word));
    }
}
