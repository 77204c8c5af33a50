//! Limits and budgets of a run as they change.
//!
//! `govern` decides about them; the words of settings and reasons are part of journals and never change.

use serde::{Deserialize, Serialize};

/// A provider said how much it allows; for the governor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsSeen {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Requests per window, and how many are left.
    pub requests: [Option<u64>; 2],
    /// Tokens per window, and how many are left.
    pub tokens: [Option<u64>; 2],
}

/// A limit was adapted to how calls fared, or set by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitAdapted {
    /// Of what: `model:openai/gpt-5`.
    pub resource: String,
    /// What was changed.
    pub setting: LimitSetting,
    /// From this.
    pub from: u64,
    /// To this.
    pub to: u64,
    /// Why.
    pub reason: LimitReason,
    /// Where a limit was set that all processes share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl LimitAdapted {
    /// Why, with where it was set.
    pub fn why(&self) -> String {
        match &self.origin {
            Some(origin) => format!("set: {origin}"),
            None => self.reason.word().to_owned(),
        }
    }
}

/// What of a limit is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSetting {
    /// How much there is.
    Limit,
    /// The moment before which nothing starts, in microseconds; 0 if everything may.
    PausedUntil,
}

/// Why a limit was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitReason {
    /// The provider asked for fewer calls.
    RateLimited,
    /// The provider had no capacity.
    Overloaded,
    /// A call took too long.
    TimedOut,
    /// Calls went well for as long as it takes.
    Recovered,
    /// What answers of the provider say about its limits.
    HeadersSeen,
    /// Too many failures in a row, or a probe that failed.
    BreakerOpened,
    /// Probes went well.
    BreakerClosed,
    /// What an earlier run has learned.
    Remembered,
    /// What another process was told.
    Shared,
    /// A person set it for this run.
    Set,
    /// A person set it for all processes.
    SetForAll,
}

impl LimitReason {
    /// The word used in files and messages.
    pub const fn word(self) -> &'static str {
        match self {
            LimitReason::RateLimited => "rate_limited",
            LimitReason::Overloaded => "overloaded",
            LimitReason::TimedOut => "timed_out",
            LimitReason::Recovered => "recovered",
            LimitReason::HeadersSeen => "headers_seen",
            LimitReason::BreakerOpened => "breaker_opened",
            LimitReason::BreakerClosed => "breaker_closed",
            LimitReason::Remembered => "remembered",
            LimitReason::Shared => "shared",
            LimitReason::Set => "set",
            LimitReason::SetForAll => "set_for_all",
        }
    }
}

impl std::fmt::Display for LimitReason {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.word())
    }
}

/// A budget could not pay a call, or one that only reports was passed. Recorded once, until the budget is raised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetSpent {
    /// The budget, such as `budget of the day (money)`.
    pub budget: String,
    /// What is spent of it and reserved, in millionths of a US dollar or in tokens.
    pub used: u64,
    /// How much it allows.
    pub limit: u64,
    /// What follows.
    pub then: BudgetAction,
}

/// What follows from a budget that cannot pay a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetAction {
    /// The task fails.
    Stop,
    /// A cheaper model is asked.
    Degrade,
    /// A person decides.
    Ask,
    /// Nothing: the budget only reports.
    Report,
}

impl BudgetAction {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            BudgetAction::Stop => "stop",
            BudgetAction::Degrade => "degrade",
            BudgetAction::Ask => "ask",
            BudgetAction::Report => "report",
        }
    }
}
