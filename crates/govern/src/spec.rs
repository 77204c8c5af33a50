//! The specification of a resource, as the caller configures it.

use convoke_model::WhenSpent;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A resource that a governor knows; a small number instead of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub(crate) u32);

impl ResourceId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// So much of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount {
    /// Of what.
    pub resource: ResourceId,
    /// How much: slots, requests, tokens, or millionths of a US dollar.
    pub count: u64,
}

impl Amount {
    /// So much of a resource.
    pub fn of(resource: ResourceId, count: u64) -> Amount {
        Amount { resource, count }
    }
}

/// Where a limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Nothing is configured.
    Default,
    /// A configuration file.
    Config,
    /// A variable of the environment.
    Environment,
    /// The workflow.
    Workflow,
    /// A person changed it while it was in use.
    Operator,
    /// How calls fared.
    Learned,
    /// What the provider says in its answers.
    Provider,
    /// What this process holds of what all processes share.
    Share,
}

impl Origin {
    /// The word used in messages.
    pub fn word(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::Config => "config",
            Origin::Environment => "environment",
            Origin::Workflow => "workflow",
            Origin::Operator => "operator",
            Origin::Learned => "learned",
            Origin::Provider => "provider",
            Origin::Share => "share",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How a resource is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Taken and given back.
    Slots,
    /// So much per window of time.
    Rate(RateRules),
    /// Spent once.
    Budget(BudgetRules),
    /// Not counted at all: closed, or open until a moment. For breakers of things that have no limit of their own.
    Breaker,
}

impl Kind {
    /// The word used in messages.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Slots => "slots",
            Kind::Rate(_) => "rate",
            Kind::Budget(_) => "budget",
            Kind::Breaker => "breaker",
        }
    }
}

/// How a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRules {
    /// The length of the window.
    pub window: Duration,
    /// When the provider counts a call.
    pub counts: Counts,
}

/// When a provider counts what a call uses. Until we know that it has, it may still count it at any moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// When the call arrives: requests.
    Arrivals,
    /// At any time until the call has ended: tokens.
    Ends,
}

/// How a budget is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetRules {
    /// What is counted.
    pub unit: Unit,
    /// When it is full again.
    pub period: Period,
    /// The budget that this one draws from: whatever is reserved or spent here is reserved or spent there too.
    pub parent: Option<ResourceId>,
    /// What happens to work that it can no longer pay.
    pub when_spent: WhenSpent,
    /// Only report: nothing is reserved and nothing waits.
    pub audit: bool,
}

impl BudgetRules {
    /// Money for as long as the run lasts; work that cannot be paid stops.
    pub fn money() -> BudgetRules {
        BudgetRules {
            unit: Unit::Money,
            period: Period::Whole,
            parent: None,
            when_spent: WhenSpent::Stop,
            audit: false,
        }
    }

    /// Tokens for as long as the run lasts; work that cannot be paid stops.
    pub fn tokens() -> BudgetRules {
        BudgetRules { unit: Unit::Tokens, ..BudgetRules::money() }
    }
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Millionths of a US dollar.
    Money,
    /// Tokens.
    Tokens,
}

/// When a budget is full again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// Never.
    Whole,
    /// At midnight, UTC.
    Day,
}

/// A resource, before a governor knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its name: `slots`, `model:openai/gpt-5`, `tenant:acme`, `gpu`.
    pub name: String,
    /// How it is counted.
    pub kind: Kind,
    /// How much there is.
    pub limit: u64,
    /// Where the limit comes from.
    pub origin: Origin,
    /// Slots only: learn how many are good for, beginning with this many. `limit` is then the most.
    pub learn_from: Option<u64>,
    /// Refuse everything for a while after failures in a row.
    pub breaker: Option<BreakerRules>,
}

/// When a breaker opens and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerRules {
    /// Failures in a row that open it.
    pub failures: u32,
    /// Probes in a row that have to succeed to close it.
    pub successes: u32,
    /// How long it stays open the first time; twice as long each time that a probe fails.
    pub cool_down: Duration,
    /// The longest that it stays open.
    pub longest: Duration,
}

impl Default for BreakerRules {
    fn default() -> BreakerRules {
        BreakerRules {
            failures: 3,
            successes: 1,
            cool_down: Duration::from_secs(30),
            longest: Duration::from_secs(600),
        }
    }
}

impl Spec {
    /// A resource of a kind.
    pub fn new(name: impl Into<String>, kind: Kind, limit: u64) -> Spec {
        Spec { name: name.into(), kind, limit, origin: Origin::Default, learn_from: None, breaker: None }
    }

    /// So many at once.
    pub fn slots(name: impl Into<String>, limit: u64) -> Spec {
        Spec::new(name, Kind::Slots, limit)
    }

    /// So much in any minute.
    pub fn per_minute(name: impl Into<String>, limit: u64, counts: Counts) -> Spec {
        Spec::new(name, Kind::Rate(RateRules { window: Duration::from_secs(60), counts }), limit)
    }

    /// So much to spend.
    pub fn budget(name: impl Into<String>, limit: u64, rules: BudgetRules) -> Spec {
        Spec::new(name, Kind::Budget(rules), limit)
    }

    /// A breaker without a limit.
    pub fn breaker_only(name: impl Into<String>, breaker: BreakerRules) -> Spec {
        Spec::new(name, Kind::Breaker, u64::MAX).breaker(breaker)
    }

    /// Sets where the limit comes from.
    pub fn origin(mut self, origin: Origin) -> Spec {
        self.origin = origin;
        self
    }

    /// Learns how many slots are good for, beginning with `start`.
    pub fn learn_from(mut self, start: u64) -> Spec {
        self.learn_from = Some(start);
        self
    }

    /// Adds a breaker.
    pub fn breaker(mut self, rules: BreakerRules) -> Spec {
        self.breaker = Some(rules);
        self
    }
}

/// Why a specification of a resource is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misconfigured {
    /// Nothing could ever start.
    #[error("resource `{0}`: a limit of 0 lets nothing start")]
    Zero(String),
    /// There is one of that name.
    #[error("resource `{0}` is defined twice")]
    Twice(String),
    /// The window is empty, or longer than a day.
    #[error("resource `{0}`: the window of a rate is between a second and a day")]
    Window(String),
    /// A budget draws from something that is not a budget of the same unit.
    #[error("resource `{0}` draws from something that is not a budget of the same unit")]
    Parent(String),
    /// Learning makes no sense for what is not taken and given back.
    #[error("resource `{0}`: only slots can be learned")]
    Learning(String),
    /// A breaker that opens at nothing or never closes.
    #[error("resource `{0}`: a breaker needs at least one failure, one success and some time to cool down")]
    Breaker(String),
    /// More than anybody can mean.
    #[error("resource `{0}`: a limit of {1} is more than can be meant")]
    Absurd(String, u64),
}

/// Slots above this number are a slip of the finger.
const MOST_SLOTS: u64 = 1_000_000_000;

impl Spec {
    /// What is wrong with it, taken by itself.
    pub(crate) fn fault(&self) -> Option<Misconfigured> {
        let name = || self.name.clone();
        if self.limit == 0 && !matches!(self.kind, Kind::Budget(_)) {
            return Some(Misconfigured::Zero(name()));
        }
        if self.kind == Kind::Slots && self.limit > MOST_SLOTS {
            return Some(Misconfigured::Absurd(name(), self.limit));
        }
        if let Kind::Rate(rules) = &self.kind
            && !(1..=86_400).contains(&rules.window.as_secs())
        {
            return Some(Misconfigured::Window(name()));
        }
        if self.learn_from.is_some() && self.kind != Kind::Slots {
            return Some(Misconfigured::Learning(name()));
        }
        let breaks =
            self.breaker.is_some_and(|b| b.failures == 0 || b.successes == 0 || b.cool_down.is_zero());
        breaks.then(|| Misconfigured::Breaker(name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Spec::slots("gpu", 0).fault(), Some(Misconfigured::Zero("gpu".into())));
        assert_eq!(Spec::slots("gpu", u64::MAX).fault(), Some(Misconfigured::Absurd("gpu".into(), u64::MAX)));
        let rate = Kind::Rate(RateRules { window: Duration::ZERO, counts: Counts::Ends });
        assert_eq!(Spec::new("r", rate, 1).fault(), Some(Misconfigured::Window("r".into())));
        let learned = Spec::budget("b", 1, BudgetRules::money()).learn_from(1);
        assert_eq!(learned.fault(), Some(Misconfigured::Learning("b".into())));
        let never = BreakerRules { failures: 0, ..BreakerRules::default() };
        assert_eq!(Spec::breaker_only("d", never).fault(), Some(Misconfigured::Breaker("d".into())));
        assert_eq!(Spec::budget("b", 0, BudgetRules::money()).fault(), None, "no money is a budget too");
    }
}
