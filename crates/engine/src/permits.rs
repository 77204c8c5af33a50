//! Who may start, and who may ask a model: what tasks and calls need, and what they hold. Pure.
//!
//! Two levels. An attempt takes what it needs for all its time: a slot of the run, of its tenant, of named resources;
//! and with it, so that it does not hold these in vain, what its first call needs. Every further call takes what it
//! needs by itself: a slot of its model, rates, money. So nobody who holds something waits for what others hold of the
//! same kind, and nothing can wait for itself.
//!
//! What an attempt needs of the machine, which all processes share, is counted like everything else, as far as this process
//! holds leases of it (`holdings`); a call that needs something shared asks for its lease once it has all the rest, and
//! those who hold such leases are calls that are being made. Asking is an effect, and the answer is a fact.

use crate::adrift::Adrift;
use crate::berth::{Berth, ORCHESTRATIONS};
use crate::calls::CallBook;
use crate::core::Effect;
use crate::holdings::Holdings;
use crate::leases::{Leases, Wants};
use crate::limits::Limits;
use crate::paths::Paths;
use crate::purses::Purses;
use crate::services::{Service, Services};
use crate::spending::Spent;
use crate::terms::{AskNo, CallNo, Calls, Counts, Fence, Shared, Terms, Want};
use convoke_govern::{
    Adapted, Admission, Amount, Demand, Governor, Learned, Metrics, Origin, Outcome, Rank, Refused,
    ResourceId, Rules, Spec, Used,
};
use convoke_model::Timestamp;
use convoke_plan::{Agent, Kind, Labels, Node};
use convoke_schedule::{Scheduler, TaskIx};
use std::collections::HashMap;
use std::sync::Arc;

/// Where the table keeps to a service's limit: so many attempts more than that are begun, so that one of them waits
/// there when a call ends. An attempt has to be on disk before it can ask.
const AHEAD: u64 = 4;

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
    pub(crate) holdings: Holdings,
    /// The run's place among all runs, where these are limited.
    pub(crate) berth: Option<Berth>,
    pub(crate) leases: Leases,
    pub(crate) calls: CallBook,
    pub(crate) adrift: Adrift,
    pub(crate) purses: Purses,
    pub(crate) paths: Paths,
    /// The run has as many attempts at once as the machine may have.
    follows_machine: bool,
    /// Attempts that may wait at once.
    longest_queue: u64,
    /// Other processes wait for what this one holds.
    pub crowded: bool,
}

#[derive(Debug, Clone)]
struct Named {
    local: ResourceId,
    shared: Arc<Shared>,
}

/// What was said of a budget.
#[derive(Debug)]
pub(crate) enum Said {
    /// People allow so much of it in all.
    Allowed(String, u64),
    /// It is spent, and this follows.
    Spent(String, String),
}

/// What became of asking who may start.
pub(crate) enum Next {
    /// This attempt may.
    Start(TaskIx),
    /// Somebody waits for this; perhaps until a known moment.
    Blocked(u64, ResourceId, Option<Timestamp>),
    /// Nobody waits for anything in this process.
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
        let berth = runs.map(|want| Berth::new(want, &mut governor));
        let mut permits = Permits {
            berth,
            services: Services::new(most, limits),
            governor,
            slots,
            named: HashMap::new(),
            plain: machine.into_iter().collect(),
            holdings: Holdings::default(),
            leases: Leases::default(),
            calls: CallBook::default(),
            adrift: Adrift::default(),
            purses: Purses::new(limits),
            paths: Paths::new(limits.asks_nobody, limits.durations.clone()),
            follows_machine: limits.follows_machine,
            longest_queue: limits.queue.longest as u64,
            crowded: false,
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

    /// Asks for a permit for the next attempt of a task. Refused if it can never be had, or too many wait.
    pub(crate) fn demand(
        &mut self,
        task: TaskIx,
        node: &Node,
        path: u32,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let rank = self.rank(&node.labels, path);
        let mut needs = vec![Amount::of(self.slots, 1)];
        needs.extend(self.named_needs(node).map(|(named, count)| Amount::of(named.local, count)));
        let service = self.first_service(node, now);
        needs.extend(service.iter().flat_map(|service| service.slots()).map(|id| Amount::of(id, 1)));
        needs.extend(self.berth.iter().map(|berth| Amount::of(berth.resource(), 1)));
        needs.extend(self.breaker_of(node).map(|id| Amount::of(id, 1)));
        let room = self.room(&needs, now);
        let wants = self.wants(node);
        let lease = self.holdings.demand(task, wants, &mut self.governor);
        let room = lease.and_then(|lease| self.holdings.room(lease)).map_or(room, |idle| room.min(idle));
        needs.extend(lease.map(|id| Amount::of(id, 1)));
        let demand = Demand { key: key_of(task), rank, needs: &needs };
        let taken = match (self.governor.waiting() as u64) < room.saturating_add(self.longest_queue) {
            true => self.governor.demand_further(demand, now),
            false => self.governor.demand(demand, now),
        };
        taken.inspect_err(|_| self.holdings.forget(task))
    }

    /// How many with these needs could start now, as far as this process knows: they do not wait, and are not counted by who
    /// bounds the queue.
    fn room(&mut self, needs: &[Amount], now: Timestamp) -> u64 {
        let free = |governor: &mut Governor, need: &Amount| {
            let free = governor.limit(need.resource).saturating_sub(governor.used(need.resource, now));
            free / need.count.max(1)
        };
        needs.iter().map(|need| free(&mut self.governor, need)).min().unwrap_or(0)
    }

    /// Settles what a task's calls are paid from.
    pub(crate) fn pay(&mut self, task: TaskIx, scheduler: &Scheduler) {
        self.purses.open(task, scheduler, &mut self.governor);
    }

    /// What was spent before this process drove the run is spent.
    pub fn spent_before(&mut self, spent: &Spent, scheduler: &Scheduler) {
        self.purses.spent_before(spent, scheduler, &mut self.governor);
    }

    /// A person lets a task go on that a budget could not pay: as much again as there was, of all that it must ask for.
    pub(crate) fn allow(&mut self, task: TaskIx, scheduler: &Scheduler, now: Timestamp) -> Vec<Adapted> {
        self.pay(task, scheduler);
        let budgets = self.purses.asked_for(task);
        self.purses.forget(task);
        budgets.into_iter().filter_map(|budget| self.raise(budget, now)).collect()
    }

    fn raise(&mut self, budget: ResourceId, now: Timestamp) -> Option<Adapted> {
        let limit = self.governor.limit(budget);
        let to = limit.max(self.governor.used(budget, now)).saturating_add(limit.max(1));
        self.purses.allow(self.governor.name(budget), to);
        self.governor.set_limit(budget, to, Origin::Operator, now).ok()
    }

    /// What was said of a budget before this process drove the run.
    pub(crate) fn said_before(&mut self, said: &Said) {
        match said {
            Said::Allowed(budget, limit) => self.purses.allow(budget, *limit),
            Said::Spent(budget, then) => self.purses.told_before(budget, then),
        }
    }

    /// How a task, or a call of it, stands against others.
    pub(crate) fn rank(&mut self, labels: &Labels, path: u32) -> Rank {
        let tenant = labels.tenant.as_deref().map(|name| self.governor.tenant(name)).unwrap_or_default();
        Rank { class: labels.class as u8, tenant, priority: labels.priority as u8, path }
    }

    fn named_needs<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = (&'a Named, u64)> {
        let tenant = node.labels.tenant.as_deref();
        let tenant =
            tenant.and_then(|name| self.named.get(&format!("tenant:{name}"))).map(|named| (named, 1));
        let resources = node.resources.iter();
        let named = resources
            .filter_map(|(name, count)| Some((self.named.get(&format!("resource:{name}"))?, *count)));
        tenant.into_iter().chain(named)
    }

    /// What comes with an attempt's permit. Most attempts that run programs only go on with answers, and ask nobody.
    fn first_service(&mut self, node: &Node, now: Timestamp) -> Option<Arc<Service>> {
        let Kind::Agent(agent) = &node.kind else { return None };
        self.services.of_first(agent, &mut self.governor, now)
    }

    /// The breaker of an agent's step.
    fn breaker_of(&mut self, node: &Node) -> Option<ResourceId> {
        let (Kind::Agent(_) | Kind::Reduce(_)) = &node.kind else { return None };
        self.services.of_role(&node.name, &mut self.governor)
    }

    /// What an attempt needs of what all processes share.
    fn wants(&self, node: &Node) -> Wants {
        if self.plain.is_empty() {
            return self.plain.clone();
        }
        let mut named = self.named_needs(node).peekable();
        if named.peek().is_none() {
            return self.plain.clone();
        }
        let more = named.map(|(named, count)| Want { of: named.shared.clone(), count });
        self.plain.iter().cloned().chain(more).collect()
    }

    /// Grants what can be granted, up to the next attempt that may start. Calls that may be made are told, and what is
    /// shared is asked for, by effects.
    pub(crate) fn admit(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> Next {
        loop {
            match self.governor.admit(now) {
                Admission::Granted(key) => match owner_of(key) {
                    Owner::Attempt(task) => {
                        self.holdings.take(task);
                        return Next::Start(task);
                    }
                    Owner::Call(call) => self.paid(call, key, now, effects),
                },
                Admission::Spent { key, on, then } => {
                    // Attempts ask for no money; their calls do.
                    if let Owner::Call(call) = owner_of(key) {
                        self.unpaid(call, on, then, effects);
                    }
                }
                Admission::Blocked { key, on, until } => return Next::Blocked(key, on, until),
                Admission::Idle => return Next::Idle,
            }
        }
    }

    /// Sees to it that a call has a lease, if it needs one; false if it has to wait for it.
    pub(crate) fn secure(&mut self, call: CallNo, wants: Wants, effects: &mut Vec<Effect>) -> bool {
        if wants.is_empty() {
            return true;
        }
        let ask = self.leases.ask(call, wants.clone());
        effects.push(Effect::AskCapacity { ask, wants: wants.to_vec() });
        false
    }

    /// The machine has given a lease. One that nobody wants any more goes back.
    pub(crate) fn leased(&mut self, ask: AskNo, fence: Fence, now: Timestamp, effects: &mut Vec<Effect>) {
        let governor = &mut self.governor;
        if self.berth.as_mut().is_some_and(|berth| berth.granted(ask, fence, governor)) {
            return;
        }
        if self.holdings.granted(ask, fence, governor) {
            return;
        }
        match self.leases.granted(ask, fence) {
            Ok(call) => self.admit_call(call, now, effects),
            Err(back) => effects.push(Effect::GiveBack(back)),
        }
    }

    /// A lease ran out before it could be used.
    pub(crate) fn ask_again(&mut self, ask: AskNo, effects: &mut Vec<Effect>) {
        let berth = self.berth.as_ref().and_then(|berth| berth.wants(ask)).map(|want| vec![want.clone()]);
        let others =
            || self.holdings.wants(ask).or_else(|| self.leases.wants(ask)).map(|wants| wants.to_vec());
        if let Some(wants) = berth.or_else(others) {
            effects.push(Effect::AskCapacity { ask, wants });
        }
    }

    /// The machine has nothing free for a wish.
    pub(crate) fn queued(&mut self, ask: AskNo) {
        self.berth.iter_mut().for_each(|berth| berth.queued(ask));
        self.holdings.queued(ask);
    }

    /// Whether waiting for a resource is worth telling: what was only just asked for is not.
    pub(crate) fn is_worth_telling(&self, resource: ResourceId) -> bool {
        match self.berth.as_ref().filter(|berth| berth.resource() == resource) {
            Some(berth) => berth.is_waited_for(),
            None => self.holdings.is_worth_telling(resource),
        }
    }

    /// This process is done with the run: its place goes to the next one.
    pub(crate) fn leave(&mut self) -> Option<crate::terms::Return> {
        self.berth.as_mut()?.leave()
    }

    /// Somebody changed a limit of the whole machine; what this process counts by itself follows.
    pub(crate) fn set_limit(&mut self, name: &str, limit: u64, now: Timestamp) {
        let resource = match name {
            "machine" if self.follows_machine => Some(self.slots),
            // The table counts runs; what this process counts by that name is whether it may begin.
            "machine" | ORCHESTRATIONS => None,
            name => self.governor.resource(name),
        };
        if let Some(resource) = resource {
            let _ = self.governor.set_limit(resource, limit, Origin::Operator, now);
        }
    }

    /// Who waits for what can never be had any more, and why. They wait no longer.
    pub(crate) fn impossible(&mut self, now: Timestamp) -> Vec<(Owner, Refused)> {
        let refused = self.governor.impossible(now).into_iter();
        let refused: Vec<_> = refused.map(|(key, why)| (owner_of(key), why)).collect();
        for (owner, _) in &refused {
            if let Owner::Attempt(task) = owner {
                self.holdings.forget(*task);
            }
        }
        refused
    }

    /// What an answer says about the limits of its service bounds the rates that are configured for it.
    pub(crate) fn limits_seen(
        &mut self,
        agent: &Agent,
        seen: &convoke_agent::Limits,
        now: Timestamp,
    ) -> Vec<Adapted> {
        let Some(service) = self.services.of(agent, &seen.model, &mut self.governor, now) else {
            return Vec::new();
        };
        let requests = service.request_rates().map(|id| (id, seen.requests));
        let rates: Vec<_> = requests.chain(service.token_rates().map(|id| (id, seen.tokens))).collect();
        let adapted = rates
            .into_iter()
            .filter_map(|(id, meter)| self.governor.limits_seen(id, meter.limit, meter.remaining, now));
        adapted.collect()
    }

    /// Another process was told to come back later.
    pub(crate) fn shut(&mut self, name: &str, until: Timestamp, now: Timestamp) -> Option<Adapted> {
        let resource = self.governor.resource(name)?;
        self.governor.shut(resource, until, now)
    }

    /// All processes together know something else of a service.
    pub(crate) fn know(&mut self, learned: &crate::fact::Learned) {
        if let Some(resource) = self.governor.resource(&learned.service) {
            let ahead = if learned.limited { AHEAD } else { 0 };
            self.governor.know(resource, learned.knowledge, ahead);
            self.services.limit(resource, learned.limited);
        }
    }

    /// The fencing token of an attempt's lease.
    pub(crate) fn lease_of(&self, task: TaskIx) -> Option<u64> {
        self.holdings.fence(task).map(|fence| fence.0)
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
        let fence = self.holdings.fence(task);
        let calls = match (&node.kind, agent) {
            (Kind::Agent(agent), _) => self.first_call(task, agent, now, effects),
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
        let freed = self.governor.release(key_of(task), Used::AsReserved, outcome, now);
        debug_assert!(freed.is_ok(), "an attempt holds a permit");
        self.purses.forget(task);
        self.holdings.end(task, self.crowded, &mut self.governor, effects);
        freed.unwrap_or_default()
    }

    /// Numbers about permits: who waits for what, how much is in use, how long it took.
    pub fn metrics(&mut self, now: Timestamp) -> Metrics {
        self.governor.metrics(now)
    }

    /// What was learned about services so far, to be kept for later runs.
    pub fn learned(&self, now: Timestamp) -> Learned {
        self.governor.learned(now)
    }

    /// Takes back what a task waits for.
    pub(crate) fn withdraw(&mut self, task: TaskIx) {
        self.governor.withdraw(key_of(task));
        self.holdings.forget(task);
    }

    /// Ends a turn: gives back what nobody has taken, and asks for what would let somebody start.
    pub(crate) fn settle_turn(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        // Before anything is asked for: who is told at once that a service is shut asks it nothing.
        let met = self.services.met.drain(..);
        effects.splice(0..0, met.map(|(service, remembered)| Effect::Heed { service, remembered }));
        let leases = &mut self.leases;
        let mut may_begin = true;
        if let Some(berth) = &mut self.berth {
            let (back, asked) = berth.settle(&self.governor, || leases.number());
            effects.extend(back.map(Effect::GiveBack));
            effects.extend(asked.map(|(ask, want)| Effect::AskCapacity { ask, wants: vec![want] }));
            may_begin = berth.is_held();
        }
        let lacks = |governor: &mut Governor| if may_begin { governor.lacks(now) } else { Vec::new() };
        self.holdings.settle(&mut self.governor, lacks, || leases.number(), effects);
    }
}

fn shared(name: String, limit: u64, origin: &str) -> Arc<Shared> {
    let (counts, origin) = (Counts::Slots, origin.into());
    Arc::new(Shared { name, limit, origin, counts, window: None, says_spent: false })
}

/// Who a key of the governor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Attempt(TaskIx),
    Call(CallNo),
}

const CALL: u64 = 1 << 63;

pub(crate) fn key_of(task: TaskIx) -> u64 {
    task.0.into()
}

/// Calls have two keys: one for what came with the attempt's permit, one for what they ask for themselves.
pub(crate) fn call_keys(call: CallNo) -> [u64; 2] {
    [CALL | call.0 << 1, CALL | call.0 << 1 | 1]
}

pub(crate) fn owner_of(key: u64) -> Owner {
    match key & CALL == 0 {
        true => Owner::Attempt(TaskIx(u32::try_from(key).expect("keys of attempts are numbers of tasks"))),
        false => Owner::Call(CallNo((key & !CALL) >> 1)),
    }
}
