//! The words of the language that stand for values: one list per enum, used by readers, messages and schema.

use convoke_model::{Permissions, Placeholders, StuckAction, Violation};

use super::manifest::{Mode, Protocol};
use super::personas::Kind;
use super::settings::McpTransport;
use super::workflow::{
    Backoff, BudgetMode, ContextMode, ErrorClass, OnUnknown, OutputMode, Priority, QueueClass, Requires,
    SetType, Spent, TerminateStatus, TrimStrategy, ValueType, VoteWord,
};
use crate::plan::{Action, On, Severity, Strategy, Tie, Topology};

/// An enum whose values are words of the language.
pub trait Words: Copy + 'static {
    /// Every value with its word.
    const PAIRS: &'static [(&'static str, Self)];

    /// The value that a word stands for.
    fn from_word(word: &str) -> Option<Self> {
        Self::PAIRS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value)
    }
}

macro_rules! words {
    ($($type:ident { $($word:literal => $variant:ident),+ $(,)? })+) => { $(
        impl $type {
            /// The words, in the order of the reference.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for this value.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl Words for $type {
            const PAIRS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
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
    Requires { "success" => Success, "completed" => Completed, "any" => Any }
    Backoff { "fixed" => Fixed, "exponential" => Exponential }
    OnUnknown { "retry" => Retry, "ask" => Ask, "fail" => Fail }
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

impl ValueType {
    /// The words of files, in the order of the reference; `any` is for schemas that come from elsewhere.
    pub const WORDS: &'static [&'static str] = &["string", "number", "boolean", "array", "object"];

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

impl Words for ValueType {
    const PAIRS: &'static [(&'static str, Self)] = &[
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
    ];
}

impl Words for ErrorClass {
    const PAIRS: &'static [(&'static str, Self)] = &[
        ("rate_limit", Self::RateLimit),
        ("capacity", Self::Capacity),
        ("timeout", Self::Timeout),
        ("transient", Self::Transient),
        ("invalid_output", Self::InvalidOutput),
        ("refused", Self::Refused),
        ("permission", Self::Permission),
        ("budget", Self::Budget),
        ("security", Self::Security),
        ("conflict", Self::Conflict),
        ("cancelled", Self::Cancelled),
        ("fatal", Self::Fatal),
    ];
}

impl Words for Strategy {
    const PAIRS: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("flat", Self::Flat),
        ("hierarchical", Self::Hierarchical),
        ("progressive", Self::Progressive),
        ("rlm", Self::Rlm),
        ("vote", Self::Vote),
        ("judge", Self::Judge),
        ("tournament", Self::Tournament),
    ];
}

impl Words for Severity {
    const PAIRS: &'static [(&'static str, Self)] =
        &[("low", Self::Low), ("medium", Self::Medium), ("high", Self::High), ("critical", Self::Critical)];
}

impl Words for Action {
    const PAIRS: &'static [(&'static str, Self)] = &[
        ("retry", Self::Retry),
        ("repair_parameters", Self::RepairParameters),
        ("alternative_tool", Self::AlternativeTool),
        ("decompose", Self::Decompose),
        ("spawn_recovery", Self::SpawnRecovery),
        ("escalate", Self::Escalate),
        ("skip", Self::Skip),
        ("fail", Self::Fail),
    ];
}

impl Words for Permissions {
    const PAIRS: &'static [(&'static str, Self)] =
        &[("ask", Self::Ask), ("allow", Self::Allow), ("deny", Self::Deny)];
}

impl Words for Placeholders {
    const PAIRS: &'static [(&'static str, Placeholders)] =
        &[("note", Placeholders::Note), ("retry", Placeholders::Retry), ("ignore", Placeholders::Ignore)];
}

impl Words for StuckAction {
    const PAIRS: &'static [(&'static str, Self)] = &[("warn", Self::Warn), ("fail", Self::Fail)];
}

impl Words for Violation {
    const PAIRS: &'static [(&'static str, Self)] =
        &[("hard_abort", Self::HardAbort), ("validation_fail", Self::ValidationFail)];
}

impl Words for On {
    const PAIRS: &'static [(&'static str, Self)] = &[
        ("success", Self::Success),
        ("validation_fail", Self::ValidationFail),
        ("failure", Self::Failure),
        ("always", Self::Always),
        ("onTaskComplete", Self::Success),
        ("onValidationFail", Self::ValidationFail),
    ];
}

/// How a phase must have ended for an edge to be taken.
pub const ON_WORDS: &[&str] =
    &["success", "validation_fail", "failure", "always", "onTaskComplete", "onValidationFail"];
/// How the members of a block run.
pub const TOPOLOGIES: &[&str] = Topology::WORDS;
/// What a violation of a contract comes to.
pub const VIOLATIONS: &[&str] = &["hard_abort", "validation_fail"];
/// How outputs are merged.
pub const STRATEGIES: &[&str] =
    &["auto", "flat", "hierarchical", "progressive", "rlm", "vote", "judge", "tournament"];
/// How bad a finding is.
pub const SEVERITIES: &[&str] = &["low", "medium", "high", "critical"];
/// Who decides what a coding agent may do.
pub const PERMISSIONS: &[&str] = &["ask", "allow", "deny"];
/// What follows when an agent is stuck.
pub const STUCK_ACTIONS: &[&str] = &["warn", "fail"];
/// What follows when an answer says nothing.
pub const PLACEHOLDERS: &[&str] = &["note", "retry", "ignore"];
/// The words of the classes of failures.
pub const CLASSES: &[&str] = &[
    "rate_limit",
    "capacity",
    "timeout",
    "transient",
    "invalid_output",
    "refused",
    "permission",
    "budget",
    "security",
    "conflict",
    "cancelled",
    "fatal",
];
/// The word for every class that has no line of its own.
pub const ANY_CLASS: &str = "any";
/// What can follow from the failure of a goal's task.
pub const ACTIONS: &[&str] = &[
    "retry",
    "repair_parameters",
    "alternative_tool",
    "decompose",
    "spawn_recovery",
    "escalate",
    "skip",
    "fail",
];
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
        let words = |pairs: &[&'static str]| pairs.to_vec();
        let named: Vec<_> = Strategy::PAIRS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words(STRATEGIES), named);
        assert!(Strategy::PAIRS.iter().all(|(word, strategy)| strategy.word() == *word));
        let named: Vec<_> = Severity::ALL.iter().map(|severity| severity.word()).collect();
        assert_eq!(words(SEVERITIES), named);
        assert!(Severity::PAIRS.iter().all(|(word, severity)| severity.word() == *word));
        let named: Vec<_> = Action::ALL.iter().map(|action| action.word()).collect();
        assert_eq!(words(ACTIONS), named);
        assert!(Action::PAIRS.iter().all(|(word, action)| action.word() == *word));
        let named: Vec<_> = Permissions::PAIRS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words(PERMISSIONS), named);
        let named: Vec<_> = StuckAction::PAIRS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words(STUCK_ACTIONS), named);
        let named: Vec<_> = Placeholders::PAIRS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words(PLACEHOLDERS), named);
        let named: Vec<_> = On::PAIRS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words(ON_WORDS), named);
        let named: Vec<_> = Violation::PAIRS.iter().map(|(word, _)| *word).collect();
        assert_eq!(words(VIOLATIONS), named);
    }
}
