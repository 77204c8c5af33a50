//! What an attempt may do and use, resolved before it starts: one value that does not change.
//!
//! The executor reads nothing else about its rights. Resolving is the scheduler's, enforcing the executor's.
//! One part is settled later, once and before the first call: which tools servers have is known when they run
//! ([`Contract::settled`]). A coding agent has tools of its own that cannot be listed, so its contract is never settled:
//! its entries are matched whenever it asks for permission.

use crate::{Approvals, Budget, ToolName, WhenSpent};
use serde::{Deserialize, Serialize};

/// The most tokens to answer with where none are stated: what a call can cost must be known before it is made.
pub const MAX_TOKENS: u64 = 4096;

/// The resolved contract of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The node or role that it is an attempt of.
    pub phase: String,
    /// Whose role it is played in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The provider that is asked; absent where a command is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model that is asked first; empty where the provider has its own.
    pub model: String,
    /// The models that may answer in its place, in the order in which they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_models: Vec<String>,
    /// Other models that are asked about the answer: those that grade it, verify it and put it into shape.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub helper_models: Vec<String>,
    /// The cheaper models that may answer once a budget cannot pay the one that is meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cheaper_models: Vec<String>,
    /// The servers whose tools there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The tools that may be used. Settled, these are their full names (`server__tool`), sorted, and no others. Before, they
    /// are entries (`clearance`), and `None` means all.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether `allowed_tools` are names. From the start where nothing offers tools or none may be used; never where a
    /// coding agent has tools of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tools_settled: bool,
    /// Entries for tools that may never be used, also where `allowed_tools` names them. What is settled is without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub banned_tools: Vec<String>,
    /// Which of its calls a person must allow.
    #[serde(default, skip_serializing_if = "Approvals::is_default")]
    pub approvals: Box<Approvals>,
    /// Variables whose values its model may see; other secrets are masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Where it works, from the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// The longest time for it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The most tokens of one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most rounds of tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// What it may spend, together with all other attempts that the same budgets are for. Each call draws from all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budgets: Vec<Allowance>,
    /// How deep it stands among spawned work.
    #[serde(default)]
    pub depth: u32,
    /// What a violation of these rules comes to.
    pub violation: Violation,
}

impl Contract {
    /// The contract with its tools settled: of those that there are, the ones that it admits now.
    pub fn settled<'t>(&self, tools: impl IntoIterator<Item = ToolName<'t>>) -> Contract {
        let admitted = tools.into_iter().filter(|tool| self.admits(*tool));
        let mut names: Vec<String> = admitted.map(|tool| tool.known.to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        Contract { allowed_tools: Some(names), tools_settled: true, ..self.clone() }
    }

    /// Whether a model may answer.
    pub fn admits_model(&self, model: &str) -> bool {
        let others = self.other_models.iter().chain(&self.helper_models).chain(&self.cheaper_models);
        self.model == model || others.into_iter().any(|other| other == model)
    }
}

/// A budget that binds an attempt, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Such as `budget of the run`, `budget of step review`.
    pub name: String,
    /// How much, as it was stated, and what follows when it is spent.
    pub budget: Budget,
}

impl Allowance {
    /// The model that is asked once the budget cannot pay another.
    pub fn cheaper_model(&self) -> Option<&str> {
        match &self.budget.when_spent {
            WhenSpent::Degrade(model) if !self.budget.audit => Some(model),
            _ => None,
        }
    }
}

/// What a violation of a contract comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The workflow ends.
    #[default]
    HardAbort,
    /// The attempt has failed validation and may be tried again.
    ValidationFail,
    /// Nothing is done, and the agent that tried it gets that as a result and goes on.
    Reported,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool<'a>(server: &'a str, name: &'a str, known: &'a str) -> ToolName<'a> {
        ToolName { server, name, known }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| word.to_string()).collect()
    }

    #[test]
    fn what_is_settled_is_names_and_nothing_that_comes_later_is_among_them() {
        let entries = Contract {
            allowed_tools: Some(words(&["FS__*", "log"])),
            banned_tools: words(&["write"]),
            ..Contract::default()
        };
        let there = [
            tool("git", "log", "git__log"),
            tool("fs", "write", "fs__write"),
            tool("fs", "read", "fs__read"),
            tool("web", "get", "web__get"),
        ];
        let settled = entries.settled(there);
        assert_eq!(settled.allowed_tools, Some(words(&["fs__read", "git__log"])));
        assert_eq!(there.map(|tool| settled.admits(tool)), [true, false, true, false]);
        assert!(entries.admits(tool("fs", "new", "fs__new")));
        assert!(!settled.admits(tool("fs", "new", "fs__new")), "it was not there");
        assert!(!settled.admits(tool("x", "fs__read", "x__fs__read")), "a name is no entry");
        assert_eq!(settled.settled(there), settled);
    }

    #[test]
    fn without_entries_all_that_there_are_remain() {
        let settled = Contract::default().settled([tool("b", "x", "b__x"), tool("a", "x", "a__x")]);
        assert_eq!(settled.allowed_tools, Some(words(&["a__x", "b__x"])));
        assert!(Contract::default().settled([]).allows_nothing());
    }

    #[test]
    fn only_models_that_are_named_may_answer() {
        let contract = Contract {
            model: "a".into(),
            other_models: words(&["b"]),
            helper_models: words(&["c"]),
            cheaper_models: words(&["d"]),
            ..Contract::default()
        };
        assert!(["a", "b", "c", "d"].iter().all(|model| contract.admits_model(model)));
        assert!(!contract.admits_model("e") && !contract.admits_model(""));
        assert!(Contract::default().admits_model(""), "the provider's own");
    }
}
