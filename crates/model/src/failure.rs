//! Failure is typed: a class says what kind of thing went wrong.
//!
//! [`Failure::remedy`] is what a step's `retry` says about another attempt. The scheduler decides before it what has precedence
//! (a stop, a spent budget, an attempt that was lost) and after it what a composite does instead of failing.
//! No code searches messages. A failure is journalled, so it is data that can be read back years later.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The twelve kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The provider asked for fewer requests (429).
    RateLimit,
    /// The provider has no capacity right now (529, 503).
    Capacity,
    /// Something took too long.
    Timeout,
    /// A fault that may pass: a server error, a lost connection.
    Transient,
    /// An answer came, but it does not fit.
    InvalidOutput,
    /// The model declined.
    Refused,
    /// Not allowed: credentials, clearance.
    Permission,
    /// Money, tokens, iterations or tasks ran out.
    Budget,
    /// A guard stopped it.
    Security,
    /// The same thing was changed elsewhere.
    Conflict,
    /// It was told to stop.
    Cancelled,
    /// It cannot work, however often it is tried.
    Fatal,
}

impl Class {
    /// All classes, in the order of the reference.
    pub const ALL: [Class; 12] = [
        Class::RateLimit,
        Class::Capacity,
        Class::Timeout,
        Class::Transient,
        Class::InvalidOutput,
        Class::Refused,
        Class::Permission,
        Class::Budget,
        Class::Security,
        Class::Conflict,
        Class::Cancelled,
        Class::Fatal,
    ];

    /// The word used in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            Class::RateLimit => "rate_limit",
            Class::Capacity => "capacity",
            Class::Timeout => "timeout",
            Class::Transient => "transient",
            Class::InvalidOutput => "invalid_output",
            Class::Refused => "refused",
            Class::Permission => "permission",
            Class::Budget => "budget",
            Class::Security => "security",
            Class::Conflict => "conflict",
            Class::Cancelled => "cancelled",
            Class::Fatal => "fatal",
        }
    }

    /// The class that a word names.
    pub fn from_word(word: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.word() == word)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What went wrong with an attempt, a task or a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind of failure.
    pub class: Class,
    /// A finer word inside the class, such as `schema_invalid` or `max_iterations`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For people: the thing, then the cause.
    pub message: String,
    /// What a person could do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The provider said to come back after this many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Failure {
    /// A failure of a class with a message.
    pub fn new(class: Class, message: impl Into<String>) -> Failure {
        Failure { class, reason: None, message: message.into(), hint: None, retry_after_ms: None }
    }

    /// Adds the finer word.
    pub fn reason(mut self, reason: impl Into<String>) -> Failure {
        self.reason = Some(reason.into());
        self
    }

    /// Adds advice.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// The message behind its finer word, for texts that quote it.
    pub fn with_reason(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{reason}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// What a retry policy says after `tried` attempts: the only reading of that policy.
    pub fn remedy(&self, retry: &Retry, tried: u32) -> Remedy {
        if tried >= retry.most(self.class) || !retry.on.contains(self.class) || self.is_final() {
            return Remedy::Fail;
        }
        let stated = Duration::from_millis(self.retry_after_ms.unwrap_or(0));
        Remedy::RetryAfter(retry.backoff(tried).max(stated))
    }

    /// Failures that another attempt cannot change, whatever the policy says.
    fn is_final(&self) -> bool {
        matches!(self.class, Class::Cancelled | Class::Security)
            || self.reason.as_deref() == Some(reason::TASK_TIMEOUT)
    }

    /// Whether another attempt goes on with the conversation that this one broke off. An answer that could not be used,
    /// or a conversation that ran too long, is begun anew.
    pub fn keeps_conversation(&self) -> bool {
        use Class::*;
        matches!(self.class, RateLimit | Capacity | Timeout | Transient | Permission | Cancelled)
            && self.reason.as_deref() != Some(reason::SESSION_TIMEOUT)
    }

    /// The limit that was reached, if that is what ended the work.
    pub fn limit(&self) -> Option<&str> {
        self.reason.as_deref().filter(|word| reason::LIMITS.contains(word))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Finer words that more than one part of Convoke must know.
pub mod reason {
    /// The task's own `timeout` passed; final.
    pub const TASK_TIMEOUT: &str = "task_timeout";
    /// No person answered in time.
    pub const ANSWER_TIMEOUT: &str = "answer_timeout";
    /// `limits.max_iterations` was reached.
    pub const MAX_ITERATIONS: &str = "max_iterations";
    /// `limits.max_tasks` was reached.
    pub const MAX_TASKS: &str = "max_tasks";
    /// `limits.timeout_seconds` passed.
    pub const RUN_TIMEOUT: &str = "timeout_seconds";
    /// A budget in money that the run stands or falls with is spent.
    pub const BUDGET: &str = "budget_usd";
    /// A budget in tokens that the run stands or falls with is spent.
    pub const BUDGET_TOKENS: &str = "budget_tokens";
    /// The money of a step, a group or a sub-workflow is spent.
    pub const PART_BUDGET: &str = "budget_usd_of_step";
    /// The tokens of a step, a group or a sub-workflow are spent.
    pub const PART_BUDGET_TOKENS: &str = "budget_tokens_of_step";
    /// A budget is spent, and a person is to say whether it goes on.
    pub const BUDGET_ASK: &str = "budget_ask";
    /// A step has failed too often in a row, and is left alone for a while.
    pub const BREAKER_OPEN: &str = "breaker_open";
    /// An attempt or a call waited longer for its permit than `max_wait` allows.
    pub const MAX_WAIT: &str = "max_wait";
    /// As many attempts wait as may, and none of a lower class.
    pub const QUEUE_FULL: &str = "queue_full";
    /// A budget in money cannot be kept for a model without a price.
    pub const UNPRICED: &str = "unpriced";
    /// The reasons of work that never reached a service: it waited in vain, or was left alone.
    pub const NOT_ASKED: &[&str] = &[BREAKER_OPEN, MAX_WAIT, QUEUE_FULL];
    /// The reasons that make a run end with "limit reached".
    pub const LIMITS: &[&str] = &[MAX_ITERATIONS, MAX_TASKS, RUN_TIMEOUT, BUDGET, BUDGET_TOKENS];
    /// A conversation took longer than its session may.
    pub const SESSION_TIMEOUT: &str = "session_timeout";
    /// A request was longer than the model's context.
    pub const CONTEXT_OVERFLOW: &str = "context_overflow";
    /// The lease of an attempt ran out while its process was away.
    pub const FENCED: &str = "fenced";
    /// An answer does not meet its success criteria; also the code of the note when it is asked for again.
    pub const CRITERIA_UNMET: &str = "criteria_unmet";
    /// Whether success criteria are met could not be judged.
    pub const NO_VERDICT: &str = "no_verdict";
    /// What was said to be done does not hold, after as many returns as there may be.
    pub const UNPROVEN: &str = "unproven";
    /// A condition cannot be checked here, so that nothing was begun.
    pub const UNPROVABLE: &str = "unprovable";
    /// This machine has no descriptor or no process left.
    pub const NO_ROOM: &str = "no_room";
    /// A text could not be rendered.
    pub const TEMPLATE: &str = "template";
    /// A command ended with another exit code than 0, and what it wrote is not what it declares.
    pub const EXIT_CODE: &str = "exit_code";
    /// A call that a policy forbids was wanted, and the policy says that this ends the run.
    pub const POLICY_VIOLATION: &str = "policy_violation";
    /// A change of what the runs of a project share could not be made.
    pub const PROJECT_UNWRITTEN: &str = "project_unwritten";
    /// The engine stopped the attempt because it was told to let go of the run.
    pub const INTERRUPTED: &str = "interrupted";
    /// The same, before the attempt's command was started: nothing has happened, and no person is asked about it.
    pub const INTERRUPTED_UNSTARTED: &str = "interrupted_unstarted";
    /// An attempt was cut off, and nothing says whether it had its effect.
    pub const UNKNOWN_OUTCOME: &str = "unknown_outcome";
    /// The record of a command that outlived the engine is lost, or its machine was restarted: how it ended is unknown.
    pub const RECORD_LOST: &str = "record_lost";
    /// A command was cancelled before it was started.
    pub const NEVER_STARTED: &str = "never_started";
    /// A worker called a tool that its contract does not admit.
    pub const TOOL_NOT_ALLOWED: &str = "tool_not_allowed";
    /// A person did not allow the call of a tool step, or it was refused.
    pub const CALL_DENIED: &str = "call_denied";
    /// A model that the contract does not name was to answer.
    pub const MODEL_NOT_ALLOWED: &str = "model_not_allowed";
    /// Work in a workspace contradicts what the target branch got meanwhile.
    pub const MERGE_CONFLICT: &str = "merge_conflict";
    /// The target branch is checked out somewhere with changes that are in no commit.
    pub const DIRTY_CHECKOUT: &str = "dirty_checkout";
    /// A workspace could not be made or let go of.
    pub const WORKSPACE: &str = "workspace";
    /// There are not so many free ports.
    pub const NO_PORTS: &str = "no_ports";
    /// A `terminate` step with status failed.
    pub const TERMINATED: &str = "terminated";
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Another attempt, not before this much time has passed.
    RetryAfter(Duration),
    /// Give up on the task.
    Fail,
}

/// A set of failure classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Classes(pub u16);

impl Classes {
    /// Every class.
    pub const ANY: Classes = Classes(0x0fff);
    /// What `retry_on: provider_error` means.
    pub const PROVIDER_ERROR: Classes =
        Classes(1 << Class::RateLimit as u16 | 1 << Class::Capacity as u16 | 1 << Class::Transient as u16);
    /// What `retry_on: timeout` means.
    pub const TIMEOUT: Classes = Classes(1 << Class::Timeout as u16);

    /// The set of these classes.
    pub fn of(classes: &[Class]) -> Classes {
        Classes(classes.iter().fold(0, |bits, class| bits | 1 << *class as u16))
    }

    /// Both sets.
    pub const fn with(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    /// Whether a class is in the set.
    pub fn contains(self, class: Class) -> bool {
        self.0 & (1 << class as u16) != 0
    }
}

/// How a task is tried again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// The same, where the service had no room for the last one (class `rate_limit`).
    pub max_rate_limited: u32,
    /// The delay before the second attempt, in milliseconds.
    pub base_ms: u64,
    /// What the delay is multiplied by each time (1 = fixed).
    pub factor: u32,
    /// The longest delay, in milliseconds.
    pub cap_ms: u64,
    /// Which classes are worth another attempt.
    pub on: Classes,
}

impl Retry {
    /// Agents without a `retry:` of their own: three attempts, 1 s, doubling, at most 30 s. A service that has no room is asked
    /// up to eight times: a refused call has done nothing wrong, and while the limit of a service is still being learned the
    /// same task can be refused several times in a row.
    pub fn agent_default() -> Retry {
        let on = Classes::PROVIDER_ERROR.with(Classes::TIMEOUT);
        Retry { max_attempts: 3, max_rate_limited: 8, base_ms: 1000, factor: 2, cap_ms: 30_000, on }
    }

    /// Every other kind: one attempt.
    pub fn once() -> Retry {
        Retry { max_attempts: 1, max_rate_limited: 1, ..Retry::agent_default() }
    }

    fn most(&self, class: Class) -> u32 {
        if class == Class::RateLimit { self.max_rate_limited } else { self.max_attempts }
    }

    /// The delay after `tried` attempts, before jitter.
    pub fn backoff(&self, tried: u32) -> Duration {
        let factor = u64::from(self.factor).saturating_pow(tried.saturating_sub(1));
        Duration::from_millis(self.base_ms.saturating_mul(factor).min(self.cap_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap() {
        let retry = Retry { max_attempts: 9, ..Retry::agent_default() };
        let delays: Vec<_> = (1..8).map(|tried| retry.backoff(tried).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn a_stated_delay_is_a_minimum() {
        let mut failure = Failure::new(Class::RateLimit, "slow down");
        failure.retry_after_ms = Some(5000);
        assert_eq!(failure.remedy(&Retry::agent_default(), 1), Remedy::RetryAfter(Duration::from_secs(5)));
        failure.retry_after_ms = Some(1);
        assert_eq!(failure.remedy(&Retry::agent_default(), 2), Remedy::RetryAfter(Duration::from_secs(2)));
        assert_eq!(failure.remedy(&Retry::agent_default(), 8), Remedy::Fail);
    }

    #[test]
    fn a_service_without_room_is_asked_more_often_than_one_that_fails() {
        let tries = |class| {
            let failure = Failure::new(class, "x");
            (1..20).find(|tried| failure.remedy(&Retry::agent_default(), *tried) == Remedy::Fail)
        };
        assert_eq!((tries(Class::RateLimit), tries(Class::Transient)), (Some(8), Some(3)));
    }

    #[test]
    fn what_cannot_get_better_is_not_tried_again() {
        let retry = Retry { on: Classes::ANY, ..Retry::agent_default() };
        assert_eq!(Failure::new(Class::Cancelled, "x").remedy(&retry, 1), Remedy::Fail);
        let timeout = Failure::new(Class::Timeout, "x").reason(reason::TASK_TIMEOUT);
        assert_eq!(timeout.remedy(&retry, 1), Remedy::Fail);
        assert_eq!(Failure::new(Class::Fatal, "x").remedy(&Retry::agent_default(), 1), Remedy::Fail);
    }

    #[test]
    fn every_class_has_one_word() {
        for class in Class::ALL {
            assert_eq!(Class::from_word(class.word()), Some(class));
            assert_eq!(serde_json::to_string(&class).unwrap(), format!("\"{}\"", class.word()));
            assert!(Classes::ANY.contains(class));
        }
    }
}
