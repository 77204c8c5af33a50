//! The limits that the owner of the machine states, as data. `cli` reads them from the configuration and the environment.
//!
//! These limits hold for all processes of one state directory together, but for what is said of a run.

use crate::capacity::durations::Durations;
use convoke_govern::{BreakerRules, Learned};
use convoke_model::Budget;
use convoke_schedule::ConfiguredBudgets;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Everything that is limited besides what a workflow says about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Attempts at once of all processes, and where that limit comes from. `None`: this process takes no part in sharing.
    pub machine: Option<Stated>,
    /// Runs at once of all processes; `None`: as many as are started.
    pub orchestrations: Option<Stated>,
    /// Limits of model services. Every entry that fits a call holds for it.
    pub services: Vec<ServiceLimit>,
    /// Answers are played back: no service is asked, so none is counted. An answer may then wait for the one that was
    /// recorded before it, and its call must meanwhile hold nothing that the other needs.
    pub asks_nobody: bool,
    /// Limits of tenants.
    pub tenants: Vec<TenantLimit>,
    /// Resources that steps can name, such as `gpu`.
    pub resources: Vec<(String, Stated)>,
    /// What all runs of a day (UTC) may spend.
    pub day: Option<Budget>,
    /// What a run may spend whose file says nothing.
    pub run: Option<Budget>,
    /// When a step is left alone after failures; `None`: never.
    pub breaker: Option<Breaker>,
    /// How the queue goes about it.
    pub queue: Queue,
    /// How long an attempt may wait for its permit, where the workflow says nothing; `None`: as long as it takes.
    pub max_wait: Option<Duration>,
    /// Where chance comes from: another number in each process, so that they do not do the same at the same moment.
    pub seed: u64,
    /// A run has as many attempts at once as the machine may have, also when that is changed.
    pub follows_machine: bool,
    /// What earlier runs have learned about services. Of one machine, like the next.
    #[serde(skip)]
    pub learned: Learned,
    /// How long steps have taken in earlier runs.
    #[serde(skip)]
    pub durations: Durations,
}

impl Limits {
    /// The budgets among them.
    pub fn configured_budgets(&self) -> ConfiguredBudgets {
        let tenants = self.tenants.iter();
        let tenants = tenants.filter_map(|tenant| Some((tenant.name.clone(), tenant.budget.clone()?)));
        ConfiguredBudgets { day: self.day.clone(), run: self.run.clone(), tenants: tenants.collect() }
    }
}

/// A limit and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stated {
    /// How much.
    pub limit: u64,
    /// Where it comes from, for people: `default`, `convoke.toml:3`, `environment variable CONVOKE_…`.
    pub origin: String,
}

/// The limits of a service: of all its models, or of one. They are counted per key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceLimit {
    /// The provider's name, as files and configuration call it.
    pub provider: String,
    /// The model; `None` for all models of the provider together.
    pub model: Option<String>,
    /// Calls at once.
    pub concurrency: Option<Stated>,
    /// Calls in any minute.
    pub requests_per_minute: Option<Stated>,
    /// Tokens in any minute, sent and received.
    pub tokens_per_minute: Option<Stated>,
}

/// The limits of a tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantLimit {
    /// Its name, as labels call it.
    pub name: String,
    /// Attempts at once.
    pub concurrency: Option<Stated>,
    /// Turns that it has for one of the others.
    pub weight: Option<u32>,
    /// What it may spend in a day (UTC).
    pub budget: Option<Budget>,
}

/// When something that fails is left alone, and when it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Failures in a row that open it.
    pub failures: u32,
    /// Probes in a row that have to succeed to close it.
    pub successes: u32,
    /// Seconds that it stays open the first time.
    pub cool_down_seconds: u64,
    /// Seconds that a step without another way waits for it in all; then it fails.
    pub max_wait_seconds: u64,
    /// For each step with its model, each model, or each provider.
    pub per: BreakerKey,
}

impl Default for Breaker {
    fn default() -> Breaker {
        let (failures, successes, per) = (3, 1, BreakerKey::Role);
        Breaker { failures, successes, cool_down_seconds: 30, max_wait_seconds: 1_800, per }
    }
}

impl Breaker {
    /// As the governor has it.
    pub(crate) fn rules(&self) -> BreakerRules {
        let cool_down = Duration::from_secs(self.cool_down_seconds);
        let longest = BreakerRules::default().longest.max(cool_down);
        BreakerRules { failures: self.failures, successes: self.successes, cool_down, longest }
    }
}

/// What a breaker is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BreakerKey {
    /// One step of a workflow, with its model and its provider.
    #[default]
    Role,
    /// One model of a provider, whichever steps ask it.
    Model,
    /// All models of a provider.
    Provider,
}

/// How the queue of a run goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Demands that may wait at once; further ones are refused.
    pub longest: usize,
    /// Every so many grants of a resource one goes to the longest waiting.
    pub age_turn: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { longest: usize::MAX, age_turn: 8 }
    }
}
