//! How calls fared, and what was changed because of it.
//!
//! Every change is a value, so that it can be journalled with its reason.

use crate::spec::ResourceId;
use convoke_model::{Class, Failure, LimitReason, LimitSetting, Timestamp, reason};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a call fared, as far as capacity is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was answered. What the answer says does not matter here.
    Succeeded,
    /// It was answered, and the answer is of no use: the service has room, and a breaker counts it.
    Invalid,
    /// The provider asked for fewer calls (429).
    RateLimited {
        /// When to come back, if it said.
        retry_after: Option<Duration>,
    },
    /// The provider has no capacity (529, 503).
    Overloaded {
        /// When to come back, if it said.
        retry_after: Option<Duration>,
    },
    /// It took too long.
    TimedOut,
    /// Something on the way broke.
    Failed,
    /// Nothing can be learned from it: it was stopped, or never began.
    Unknown,
}

impl Outcome {
    /// How an attempt or call that failed fared.
    ///
    /// What was never asked, because it waited in vain or was left alone, says nothing.
    pub fn of(failure: &Failure) -> Outcome {
        if failure.reason.as_deref().is_some_and(|word| reason::NOT_ASKED.contains(&word)) {
            return Outcome::Unknown;
        }
        let retry_after = failure.retry_after_ms.map(Duration::from_millis);
        match failure.class {
            Class::RateLimit => Outcome::RateLimited { retry_after },
            Class::Capacity => Outcome::Overloaded { retry_after },
            Class::Timeout => Outcome::TimedOut,
            Class::Transient => Outcome::Failed,
            Class::InvalidOutput => Outcome::Invalid,
            Class::Refused => Outcome::Succeeded,
            Class::Permission | Class::Budget | Class::Security => Outcome::Unknown,
            Class::Conflict | Class::Cancelled | Class::Fatal => Outcome::Unknown,
        }
    }

    /// Whether a breaker counts it. A provider that asks for fewer calls is alive.
    pub fn is_failure(self) -> bool {
        use Outcome::*;
        matches!(self, Overloaded { .. } | TimedOut | Failed | Invalid)
    }

    pub(crate) fn reason(self) -> LimitReason {
        match self {
            Outcome::RateLimited { .. } => LimitReason::RateLimited,
            Outcome::Overloaded { .. } => LimitReason::Overloaded,
            Outcome::TimedOut => LimitReason::TimedOut,
            Outcome::Failed | Outcome::Succeeded | Outcome::Invalid | Outcome::Unknown => {
                LimitReason::Recovered
            }
        }
    }
}

/// One adaptation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adapted {
    /// Of which resource.
    pub resource: ResourceId,
    /// What was changed.
    pub setting: LimitSetting,
    /// From this.
    pub from: u64,
    /// To this.
    pub to: u64,
    /// Why.
    pub reason: LimitReason,
    /// When.
    pub at: Timestamp,
}
