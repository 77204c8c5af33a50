//! Effects: what a run does to the world outside of it, each with an idempotency key.
//!
//! An effect is claimed before it is made and committed once its outcome is known; both are events. Data only: the ledger,
//! which is the fold of these events, is the engine's.

use crate::excerpt::{clipped, one_line};
use crate::{JsonText, Payload};
use serde::{Deserialize, Serialize};

/// Characters of a command that are told of it.
const MOST_WORDS: usize = 80;

/// What makes an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// The command of a script step.
    Script,
    /// The call of a tool step.
    Tool,
    /// A call of a tool by an agent.
    Call,
    /// The whole work of a coding agent, which uses tools of its own.
    CodingAgent,
    /// The way back of the work in a workspace: a branch moves.
    Merge,
}

impl EffectKind {
    /// Its name for people.
    pub fn word(self) -> &'static str {
        match self {
            EffectKind::Script => "script",
            EffectKind::Tool => "tool",
            EffectKind::Call => "call",
            EffectKind::CodingAgent => "coding agent",
            EffectKind::Merge => "merge",
        }
    }
}

/// What is about to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectClaim {
    /// The idempotency key: the same whenever the same call is made again, and different for any other call.
    pub key: String,
    /// What makes it.
    pub kind: EffectKind,
    /// The command or the tool, short.
    pub what: String,
}

impl EffectClaim {
    /// A claim for a call of a tool.
    pub fn of_tool(key: impl Into<String>, kind: EffectKind, tool: impl Into<String>) -> EffectClaim {
        EffectClaim { key: key.into(), kind, what: tool.into() }
    }

    /// A claim for a command.
    pub fn of_command<'a>(
        key: impl Into<String>,
        kind: EffectKind,
        words: impl IntoIterator<Item = &'a str>,
    ) -> EffectClaim {
        let line = words.into_iter().collect::<Vec<_>>().join(" ");
        EffectClaim { key: key.into(), kind, what: clipped(&one_line(&line), MOST_WORDS) }
    }
}

/// The outcome of what was claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectCommit {
    /// The key of the claim.
    pub key: String,
    /// Whether it went wrong.
    pub failed: bool,
    /// What came of it, where nothing else in the journal says so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<JsonText>,
}

/// The result of a call that is committed while the turn that it belongs to is not over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownResult {
    /// The key of the call.
    pub key: String,
    /// What came of it.
    pub result: JsonText,
}

/// What a probe says of an effect whose outcome is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeVerdict {
    /// It happened; this is the step's output.
    Happened {
        /// The output.
        output: Payload,
    },
    /// It did not happen, and is made now.
    Absent,
    /// The probe cannot say, for this reason; a person is asked.
    Unclear {
        /// Why.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_told_by_its_beginning() {
        let long = "é".repeat(100);
        let claim = EffectClaim::of_command("k", EffectKind::Script, ["echo", "a\n b", &long]);
        assert!(claim.what.starts_with("echo a b é") && claim.what.ends_with('…'), "{}", claim.what);
        assert_eq!(claim.what.chars().count(), MOST_WORDS + 1);
        assert_eq!(EffectClaim::of_command("k", EffectKind::Script, ["ls"]).what, "ls");
    }
}
