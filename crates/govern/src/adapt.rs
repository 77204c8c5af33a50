//! How calls fared, and what was changed because of it.
//!
//! Every change is a value, so that it can be journalled with its reason.

use crate::spec::ResourceId;
use convoke_model::{Class, Failure, Timestamp, reason};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How a call fared, as far as capacity is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered. What the answer says does not matter here.
    Succeeded,
    /// It was answered, and nobody can use the answer: the service has room, and a breaker counts it.
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

    pub(crate) fn reason(self) -> Reason {
        match self {
            Outcome::RateLimited { .. } => Reason::RateLimited,
            Outcome::Overloaded { .. } => Reason::Overloaded,
            Outcome::TimedOut => Reason::TimedOut,
            Outcome::Failed | Outcome::Succeeded | Outcome::Invalid | Outcome::Unknown => Reason::Recovered,
        }
    }
}

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// How much there is.
    Limit,
    /// The moment until which nobody may start, in microseconds; 0 if everybody may.
    PausedUntil,
}

/// Why it was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
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
    /// Somebody said so.
    Set,
}

impl Reason {
    /// The word used in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            Reason::RateLimited => "rate_limited",
            Reason::Overloaded => "overloaded",
            Reason::TimedOut => "timed_out",
            Reason::Recovered => "recovered",
            Reason::HeadersSeen => "headers_seen",
            Reason::BreakerOpened => "breaker_opened",
            Reason::BreakerClosed => "breaker_closed",
            Reason::Remembered => "remembered",
            Reason::Shared => "shared",
            Reason::Set => "set",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// One adaptation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adapted {
    /// Of which resource.
    pub resource: ResourceId,
    /// What was changed.
    pub setting: Setting,
    /// From this.
    pub from: u64,
    /// To this.
    pub to: u64,
    /// Why.
    pub reason: Reason,
    /// When.
    pub at: Timestamp,
}
