//! What may be spent, and what happens when it is.

use serde::{Deserialize, Serialize};

/// Money and tokens that may be spent: by a run, a step, a group, a tenant, everybody in a day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Tokens, sent and received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Only report: nothing is reserved and nothing waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audit: bool,
    /// What happens to work that cannot be paid any more.
    #[serde(default)]
    pub when_spent: WhenSpent,
    /// It is not stated what follows when it is spent, so what Conductor does follows: a call is made as long as anything is
    /// left, and the one that passes the budget ends the workflow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
    /// Where a person wrote it, if not in a workflow file.
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    pub written: Written,
}

/// The names under which a person stated a budget that stands in no workflow file: a flag, a key of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub money: Option<String>,
    /// The tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
}

impl Written {
    fn is_empty(&self) -> bool {
        self.money.is_none() && self.tokens.is_none()
    }
}

impl Budget {
    /// What to call the money of a workflow.
    pub fn money_key(&self) -> &str {
        self.written.money.as_deref().unwrap_or("limits.budget_usd")
    }

    /// What to call the tokens of a workflow.
    pub fn tokens_key(&self) -> &str {
        self.written.tokens.as_deref().unwrap_or("limits.budget_tokens")
    }
}

/// What happens to work that a budget can no longer pay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenSpent {
    /// It waits until there is money again.
    Queue,
    /// It asks again with this cheaper model.
    Degrade(String),
    /// A person decides.
    Ask,
    /// It does not start; the run makes the best of what is there.
    #[default]
    Stop,
}
