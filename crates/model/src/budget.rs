//! What may be spent, and what happens when it is.

use serde::{Deserialize, Serialize};

/// Money and tokens that somebody may spend: a run, a step, a group, a tenant, everybody in a day.
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
    /// Nobody said what follows when it is spent, so what Conductor does follows: a call is made as long as anything is
    /// left, and the one that passes the budget ends the workflow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
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
