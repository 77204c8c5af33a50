//! Permits of attempts and of calls to models: what tasks and calls need, and what they hold. Pure.
//!
//! Two levels. An attempt takes what it needs for all its time: a slot of the run, of its tenant, of named resources;
//! and with it, so that it does not hold these in vain, what its first call needs. Every further call takes what it
//! needs by itself: a slot of its model, rates, money. So no holder waits for what others hold of the
//! same kind, and nothing can wait for itself.
//!
//! What an attempt needs of the machine, which all processes share, is counted like everything else, as far as this process
//! holds leases of it (`attempt_leases`); a call that needs something shared asks for its lease once it has all the rest, and
//! the holders of such leases are calls that are being made. Asking is an effect, and the answer is a fact.
//!
//! Here: what permits are made of, and an attempt's way from its grant to its end. `demand` says what an attempt needs,
//! `shared` deals with what all processes share, `money` with budgets, `learned` with what is found out about services,
//! `keys` with the attempts and calls that the governor's keys stand for.

mod demand;
mod keys;
mod learned;
mod money;
mod shared;
mod waits;

pub(crate) use demand::Precedence;
pub(crate) use keys::{Owner, call_keys, key_of, owner_of};
pub(crate) use money::BudgetNote;

use crate::capacity::attempt_leases::AttemptLeases;
use crate::capacity::budget::accounts::BudgetAccounts;
use crate::capacity::calls::OpenCalls;
use crate::capacity::ledger::Ledger;
use crate::capacity::limits::Limits;
use crate::capacity::metrics::Flow;
use crate::capacity::orphans::Orphans;
use crate::capacity::paths::Paths;
use crate::capacity::run_slot::{ORCHESTRATIONS, RunSlot};
use crate::capacity::services::Services;
use crate::capacity::terms::{Calls, Counts, Shared, Terms, Want, Wants};
use crate::core::Effect;
use convoke_govern::{Adapted, Admission, Governor, Outcome, Refused, ResourceId, Rules, Spec, Used};
use convoke_model::Timestamp;
use convoke_model::hash::{HashMap, HashSet};
use convoke_plan::{Agent, Kind, Node};
use convoke_schedule::TaskIx;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use waits::Bound;
use waits::Waits;

/// The permits of a run.
#[derive(Debug)]
pub struct Permits {
    pub(crate) governor: Governor,
    slots: ResourceId,
    pub(crate) services: Services,
    /// Resources that steps name, and tenants, by `resource:NAME` and `tenant:NAME`.
    named: HashMap<String, Named>,
    /// What every attempt needs of the machine.
    plain: Wants,
    pub(crate) attempt_leases: AttemptLeases,
    /// The run's place among all runs, where these are limited.
    pub(crate) run_slot: Option<RunSlot>,
    /// Lease requests and leases, whatever they are for.
    pub(crate) ledger: Ledger,
    pub(crate) calls: OpenCalls,
    pub(crate) orphans: Orphans,
    pub(crate) accounts: BudgetAccounts,
    pub(crate) paths: Paths,
    /// The run has as many attempts at once as the machine may have.
    follows_machine: bool,
    /// Attempts that may wait at once.
    longest_queue: u64,
    /// Until when attempts and calls may wait.
    pub(crate) waits: Waits,
    /// How long they may where nothing is said.
    pub(crate) max_wait: Option<Duration>,
    /// Attempts that gave way to others in a full queue.
    pub(crate) displaced: Vec<TaskIx>,
    /// Whose first model failed in the attempt that is under way, whatever became of the attempt.
    pub(crate) first_failed: HashMap<TaskIx, Outcome>,
    /// Other processes wait for what this one holds.
    pub(crate) crowded: bool,
    /// The attempts under way, and how many there were.
    running: HashSet<TaskIx>,
    attempts: Flow,
}

#[derive(Debug, Clone)]
struct Named {
    local: ResourceId,
    shared: Arc<Shared>,
}

/// The answer of the governor to a request for the next grant.
pub(crate) enum Next {
    /// This attempt may.
    Start(TaskIx),
    /// A demand waits for this resource; perhaps until a known moment.
    Blocked(u64, ResourceId, Option<Timestamp>),
    /// No demand waits for anything in this process.
    Idle,
}

impl Permits {
    /// The permits of a run that has so many attempts at once.
    pub fn new(max_concurrency: u32, limits: &Limits) -> Permits {
        let rules = Rules {
            queue: limits.queue.longest,
            age_turn: limits.queue.age_turn,
            seed: limits.seed,
            ..Rules::default()
        };
        let mut governor = Governor::with(rules);
        let most = u64::from(max_concurrency.max(1));
        let slots = governor.add(Spec::slots("slots", most)).expect("one slot or more is a limit");
        let machine = limits
            .machine
            .as_ref()
            .map(|stated| Want { of: shared("machine".into(), stated.limit, &stated.origin), count: 1 });
        let runs = limits.orchestrations.as_ref().filter(|_| machine.is_some());
        let runs = runs
            .map(|stated| Want { of: shared(ORCHESTRATIONS.into(), stated.limit, &stated.origin), count: 1 });
        let run_slot = runs.map(|want| RunSlot::new(want, &mut governor));
        let mut permits = Permits {
            run_slot,
            services: Services::new(most, limits),
            governor,
            slots,
            named: HashMap::default(),
            plain: machine.into_iter().collect(),
            attempt_leases: AttemptLeases::default(),
            ledger: Ledger::default(),
            calls: OpenCalls::default(),
            orphans: Orphans::default(),
            accounts: BudgetAccounts::new(limits),
            paths: Paths::new(limits.asks_nobody, limits.durations.clone()),
            follows_machine: limits.follows_machine,
            longest_queue: limits.queue.longest as u64,
            waits: Waits::default(),
            max_wait: limits.max_wait,
            displaced: Vec::new(),
            first_failed: HashMap::default(),
            crowded: false,
            running: HashSet::default(),
            attempts: Flow::default(),
        };
        permits.name_all(limits);
        permits
    }

    fn name_all(&mut self, limits: &Limits) {
        for (name, stated) in &limits.resources {
            self.add_named(format!("resource:{name}"), stated.limit, &stated.origin);
        }
        for tenant in &limits.tenants {
            if let Some(stated) = &tenant.concurrency {
                self.add_named(format!("tenant:{}", tenant.name), stated.limit, &stated.origin);
            }
            if let Some(weight) = tenant.weight {
                let id = self.governor.tenant(&tenant.name);
                self.governor.set_weight(id, weight);
            }
        }
    }

    fn add_named(&mut self, name: String, limit: u64, origin: &str) {
        let local = self.governor.add(Spec::slots(name.clone(), limit)).expect("checked when it was read");
        let shared = shared(name.clone(), limit, origin);
        self.named.insert(name, Named { local, shared });
    }

    /// Grants what can be granted, up to the next attempt that may start. Calls that may be made are told, and what is
    /// shared is asked for, by effects.
    pub(crate) fn admit(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> Next {
        loop {
            match self.governor.admit(now) {
                Admission::Granted(key) => match owner_of(key) {
                    Owner::Attempt(task) => {
                        self.waits.end(task);
                        self.attempt_leases.take(task);
                        return Next::Start(task);
                    }
                    Owner::Call(call) => self.paid(call, key, now, effects),
                },
                Admission::Spent { key, on, then } => {
                    // Attempts ask for no money; their calls do.
                    if let Owner::Call(call) = owner_of(key) {
                        self.unpaid(call, on, then, None, effects);
                    }
                }
                Admission::Blocked { key, on, until } => return Next::Blocked(key, on, until),
                Admission::Idle => return Next::Idle,
            }
        }
    }

    /// Attempts and calls that wait for what can never be had any more, and why. They wait no longer.
    pub(crate) fn impossible(&mut self, now: Timestamp) -> Vec<(Owner, Refused)> {
        let refused = self.governor.impossible(now).into_iter();
        let refused: Vec<_> = refused.map(|(key, why)| (owner_of(key), why)).collect();
        for (owner, _) in &refused {
            if let Owner::Attempt(task) = owner {
                self.attempt_leases.forget(*task);
            }
        }
        refused
    }

    /// On what terms an attempt runs that has its permit and its lease. What its first call needs is a permit of its own
    /// from here on.
    pub(crate) fn terms(
        &mut self,
        task: TaskIx,
        node: &Node,
        agent: Option<&Agent>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Terms {
        if self.running.insert(task) {
            self.attempts.begin();
        }
        let fence = self.attempt_leases.fence(task);
        let calls = match (&node.kind, agent) {
            (Kind::Agent(agent), _) => self.first_call(task, (node, agent), now, effects),
            (_, Some(agent)) => self.any_call(task, agent, now),
            (_, None) => Calls::Free,
        };
        Terms { fence, calls }
    }

    /// Takes an attempt's permit and lease back, and says what was learned from how it fared. Its last call must have been
    /// closed before.
    pub(crate) fn end(
        &mut self,
        task: TaskIx,
        outcome: Outcome,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Vec<Adapted> {
        // What the breaker watches is the step's own model, also where another one has answered instead.
        let outcome = self.first_failed.remove(&task).unwrap_or(outcome);
        if self.running.remove(&task) {
            self.attempts.end();
        }
        let freed = self.governor.release(key_of(task), Used::AsReserved, outcome, now);
        debug_assert!(freed.is_ok(), "an attempt holds a permit");
        self.accounts.forget(task);
        let shared = (&mut self.ledger, &mut self.governor);
        self.attempt_leases.end(task, self.crowded, shared, effects);
        freed.unwrap_or_default()
    }

    /// Takes back what a task waits for.
    pub(crate) fn withdraw(&mut self, task: TaskIx) {
        self.waits.end(task);
        self.governor.withdraw(key_of(task));
        self.attempt_leases.forget(task);
    }
}

fn shared(name: String, limit: u64, origin: &str) -> Arc<Shared> {
    let (counts, origin) = (Counts::Slots, origin.into());
    Arc::new(Shared { name, limit, origin, counts, window: None, says_spent: false })
}
