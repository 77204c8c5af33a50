//! May this start now?
//!
//! The face of the crate: demands come in, permits go out and come back. `choose` picks the next demand, `observe`
//! learns from outcomes, `explain` and `metrics` make the views for people.

use crate::adapt::{Adapted, Outcome};
use crate::answer::{Admission, NotHeld, Refused, Used};
use crate::chance::Chance;
use crate::hash::Map;
use crate::learning::knowledge::Sample;
use crate::metrics::Tally;
use crate::queue::choose::{Chosen, Survey};
use crate::queue::lanes::Lanes;
use crate::queue::rank::{Demand, Place, Rank, Tenant};
use crate::queue::tenants::{Row, Tenants};
use crate::resource::Resource;
use crate::spec::{Amount, Kind, Misconfigured, Origin, ResourceId, Spec};
use convoke_model::{LimitReason, LimitSetting, Timestamp, WhenSpent};
use std::collections::HashMap;

/// How a governor goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Demands that may wait at once; further ones are refused.
    pub queue: usize,
    /// Every so many grants of a resource one goes to the longest waiting, whatever its rank. At least 2.
    pub age_turn: u32,
    /// How often others may be granted what a demand is short of, before it is kept free for it.
    pub passes: u32,
    /// Where chance comes from.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { queue: 100_000, age_turn: 8, passes: 16, seed: 0 }
    }
}

/// What is learned about a resource from how a permit came back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note {
    pub resource: ResourceId,
    /// How many were in flight with it.
    pub level: u64,
    pub probe: bool,
}

#[derive(Debug)]
pub(crate) struct Permit {
    pub lane: u32,
    pub began: u64,
    pub notes: Vec<Note>,
    /// The provider has counted what counts on arrival.
    pub arrived: bool,
}

/// Grants permits.
#[derive(Debug)]
pub struct Governor {
    pub(crate) rules: Rules,
    pub(crate) resources: Vec<Resource>,
    pub(crate) names: HashMap<Box<str>, ResourceId>,
    /// Ids that can be given out again.
    pub(crate) retired: Vec<ResourceId>,
    pub(crate) tenants: Tenants,
    pub(crate) lanes: Lanes,
    pub(crate) places: Map<u64, Place>,
    pub(crate) permits: Map<u64, Permit>,
    pub(crate) survey: Survey,
    /// Lanes that were passed too often, in the order of that; what they need is kept free.
    pub(crate) holds: Vec<u32>,
    pub(crate) row: Row,
    pub(crate) tally: Tally,
    pub(crate) chance: Chance,
    /// Samples since they were last taken, for all processes.
    pub(crate) samples: Vec<(ResourceId, Sample)>,
    /// How many wait, by class.
    waiting: Box<[usize; 256]>,
    arrivals: u64,
    now: u64,
    shape: Vec<Amount>,
}

impl Governor {
    /// A governor of nothing but `slots`, at least one. Its queue has no bound of its own: the caller bounds it.
    pub fn new(limit: u32) -> Governor {
        let mut governor = Governor::with(Rules { queue: usize::MAX, ..Rules::default() });
        governor.add(Spec::slots("slots", u64::from(limit.max(1)))).expect("one slot or more is a limit");
        governor
    }

    /// A governor without resources.
    pub fn with(rules: Rules) -> Governor {
        Governor {
            rules: Rules { age_turn: rules.age_turn.max(2), ..rules },
            resources: Vec::new(),
            names: HashMap::new(),
            retired: Vec::new(),
            tenants: Tenants::default(),
            lanes: Lanes::default(),
            places: Map::default(),
            permits: Map::default(),
            survey: Survey::default(),
            holds: Vec::new(),
            row: Row::default(),
            tally: Tally::default(),
            chance: Chance::new(rules.seed),
            samples: Vec::new(),
            waiting: Box::new([0; 256]),
            arrivals: 0,
            now: 0,
            shape: Vec::new(),
        }
    }

    /// Adds a resource.
    pub fn add(&mut self, spec: Spec) -> Result<ResourceId, Misconfigured> {
        if let Some(fault) = spec.fault() {
            return Err(fault);
        }
        if self.names.contains_key(spec.name.as_str()) {
            return Err(Misconfigured::Twice(spec.name));
        }
        if !self.draws_from_its_like(&spec) {
            return Err(Misconfigured::Parent(spec.name));
        }
        Ok(self.place(spec))
    }

    fn place(&mut self, spec: Spec) -> ResourceId {
        let name = spec.name.as_str().into();
        let id = match self.retired.pop() {
            Some(id) => {
                self.resources[id.index()] = Resource::new(spec);
                id
            }
            None => {
                self.resources.push(Resource::new(spec));
                ResourceId(u32::try_from(self.resources.len() - 1).expect("fewer than 2^32 resources"))
            }
        };
        self.names.insert(name, id);
        id
    }

    fn draws_from_its_like(&self, spec: &Spec) -> bool {
        let Kind::Budget(rules) = &spec.kind else { return true };
        let Some(parent) = rules.parent else { return true };
        let parent = self.resources.get(parent.index()).map(|parent| &parent.kind);
        matches!(parent, Some(Kind::Budget(other)) if other.unit == rules.unit)
    }

    /// The resource of a name.
    pub fn resource(&self, name: &str) -> Option<ResourceId> {
        self.names.get(name).copied()
    }

    /// The name of a resource.
    pub fn name(&self, resource: ResourceId) -> &str {
        &self.resources[resource.index()].name
    }

    /// How much of a resource there is right now.
    pub fn limit(&self, resource: ResourceId) -> u64 {
        self.resources[resource.index()].effective()
    }

    /// What happens to work that a budget can no longer pay; `None` for what is no budget.
    pub fn when_spent(&self, resource: ResourceId) -> Option<WhenSpent> {
        match &self.resources[resource.index()].kind {
            Kind::Budget(rules) => Some(rules.when_spent.clone()),
            _ => None,
        }
    }

    /// How much of a resource is in use: slots taken, amounts of the window, what is spent and reserved.
    pub fn used(&mut self, resource: ResourceId, now: Timestamp) -> u64 {
        let now = self.tick(now);
        self.resources[resource.index()].meter.used(now)
    }

    /// What is gone of a budget, also of one that only reports and so has nothing in use; zero for what is no budget.
    pub fn spent_of(&mut self, budget: ResourceId, now: Timestamp) -> u64 {
        let now = self.tick(now);
        self.resources[budget.index()].meter.spent(now).unwrap_or(0)
    }

    /// The tenant of a name; a new one has weight 1.
    pub fn tenant(&mut self, name: &str) -> Tenant {
        self.tenants.of(name)
    }

    /// How many turns a tenant has for one of the others.
    pub fn set_weight(&mut self, tenant: Tenant, weight: u32) {
        self.tenants.set_weight(tenant, weight);
    }

    /// Changes a limit while it is in use. Nothing that runs is stopped; nothing new starts above it.
    pub fn set_limit(
        &mut self,
        resource: ResourceId,
        limit: u64,
        origin: Origin,
        now: Timestamp,
    ) -> Result<Adapted, Misconfigured> {
        let known = &mut self.resources[resource.index()];
        let spec = Spec::new(&*known.name, known.kind.clone(), limit);
        if let Some(fault) = spec.fault() {
            return Err(fault);
        }
        let from = known.limit;
        (known.limit, known.origin) = (limit, origin);
        known.refresh();
        Ok(Adapted {
            resource,
            setting: LimitSetting::Limit,
            from,
            to: limit,
            reason: LimitReason::Set,
            at: now,
        })
    }

    /// Takes a demand into the queue, or says why not.
    pub fn demand(&mut self, demand: Demand<'_>, now: Timestamp) -> Result<(), Refused> {
        if self.places.len() >= self.rules.queue && !self.is_known(demand.key) {
            let full = Refused::Full { limit: self.rules.queue };
            self.tally.refuse(&full);
            return Err(full);
        }
        self.demand_further(demand, now)
    }

    /// Makes room in a full queue for a demand of this rank: the lowest that waits and may go gives way, if it is of a lower
    /// class: of the lowest class and priority the one that came last. `None` if there is room, or no such demand.
    pub fn give_way(&mut self, rank: Rank, may_go: impl Fn(u64) -> bool) -> Option<u64> {
        let lower = self.waiting.iter().skip(rank.class as usize + 1).any(|waiting| *waiting > 0);
        if self.places.len() < self.rules.queue || !lower {
            return None;
        }
        let lower = self.places.iter().filter(|(key, place)| place.rank.class > rank.class && may_go(**key));
        let lowest = lower.max_by_key(|(_, place)| (place.rank.class, place.rank.priority, place.age));
        let key = lowest.map(|(key, _)| *key)?;
        self.tally.overflowed += 1;
        self.dequeue(key);
        Some(key)
    }

    /// As [`demand`](Self::demand), for work that was accepted before: it is never turned away because many wait.
    pub fn demand_further(&mut self, demand: Demand<'_>, now: Timestamp) -> Result<(), Refused> {
        let now = self.tick(now);
        let taken = self.take(demand, now);
        if let Err(refused) = &taken {
            self.tally.refuse(refused);
        }
        taken
    }

    fn take(&mut self, demand: Demand<'_>, now: u64) -> Result<(), Refused> {
        if self.is_known(demand.key) {
            return Err(Refused::Known(demand.key));
        }
        let mut shape = std::mem::take(&mut self.shape);
        self.form(demand.needs, &mut shape);
        let fault = self.never_fits(&shape, now);
        if fault.is_none() {
            self.enqueue(demand, &shape, now);
        }
        self.shape = shape;
        fault.map_or(Ok(()), Err)
    }

    fn is_known(&self, key: u64) -> bool {
        self.places.contains_key(&key) || self.permits.contains_key(&key)
    }

    fn enqueue(&mut self, demand: Demand<'_>, shape: &[Amount], now: u64) {
        let lane = self.lanes.of(shape);
        let before = self.lanes.load(lane);
        self.arrivals += 1;
        let place = Place { rank: demand.rank, age: self.arrivals, since: now, lane };
        self.lanes[lane].push(demand.key, &place, &mut self.tenants);
        self.places.insert(demand.key, place);
        self.waiting[demand.rank.class as usize] += 1;
        self.lanes.note(lane, before);
    }

    /// Takes a demand back; false if it does not wait.
    pub fn withdraw(&mut self, key: u64) -> bool {
        self.dequeue(key).is_some()
    }

    /// Takes a demand out of the queue.
    pub(crate) fn dequeue(&mut self, key: u64) -> Option<Place> {
        let place = self.places.remove(&key)?;
        self.waiting[place.rank.class as usize] -= 1;
        let before = self.lanes.load(place.lane);
        self.lanes[place.lane].remove(&place, &mut self.tenants);
        self.lanes.note(place.lane, before);
        if self.lanes[place.lane].len() == 0 {
            self.let_go(place.lane);
        }
        Some(place)
    }

    /// Grants one permit, if a waiting demand fits.
    pub fn admit(&mut self, now: Timestamp) -> Admission {
        let now = self.tick(now);
        if self.places.is_empty() {
            return Admission::Idle;
        }
        self.look_around(now);
        if let Some((lane, on)) = self.survey.spent {
            return self.turn_away(lane, on);
        }
        match self.choose() {
            Some(chosen) => {
                self.grant(chosen, now);
                Admission::Granted(chosen.key)
            }
            None => self.blocked(),
        }
    }

    fn grant(&mut self, chosen: Chosen, now: u64) {
        let turns = self.turns_taken(&chosen);
        let place = self.dequeue(chosen.key).expect("who is chosen waits");
        let before = self.lanes.load(place.lane);
        self.tenants.charge(place.rank.class, place.rank.tenant);
        let lane = &mut self.lanes[place.lane];
        lane.held += 1;
        lane.passes = 0;
        lane.made_way += u32::from(chosen.made_way);
        let notes = self.take_all(place.lane, now);
        turns.into_iter().for_each(|id| self.resources[id.index()].since_turn = 0);
        self.row.add(place.rank.class, place.rank.tenant);
        self.permits.insert(chosen.key, Permit { lane: place.lane, began: now, notes, arrived: false });
        self.lanes.note(place.lane, before);
        self.let_go(place.lane);
        self.count_passes(place.lane, now);
        self.tally.grant(now.saturating_sub(place.since));
    }

    /// Takes everything that a lane's demand needs.
    fn take_all(&mut self, lane: u32, now: u64) -> Vec<Note> {
        let mut notes = Vec::new();
        for need in &self.lanes[lane].needs {
            let resource = &mut self.resources[need.resource.index()];
            resource.since_turn += 1;
            resource.would_wait += u64::from(resource.overdrawn_by(need.count, now));
            resource.meter.take(need.count);
            resource.back_pressure.pass(now, &mut self.chance);
            if resource.adapts() {
                let probe = resource.breaker.as_mut().is_some_and(|breaker| breaker.enter());
                notes.push(Note { resource: need.resource, level: resource.meter.used(now), probe });
            }
        }
        notes
    }

    /// Takes a permit back: what it was used for, and how it went. Says what was learned.
    pub fn release(
        &mut self,
        key: u64,
        used: Used<'_>,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Vec<Adapted>, NotHeld> {
        let now = self.tick(now);
        let Some(permit) = self.permits.remove(&key) else {
            self.tally.not_held += 1;
            return Err(NotHeld(key));
        };
        let before = self.lanes.load(permit.lane);
        self.lanes[permit.lane].held -= 1;
        self.lanes.note(permit.lane, before);
        self.settle(&permit, used, now);
        self.tally.released += 1;
        Ok(if permit.notes.is_empty() { Vec::new() } else { self.learn(&permit, outcome, now) })
    }

    /// Whether a demand waits.
    pub fn waits(&self, key: u64) -> bool {
        self.places.contains_key(&key)
    }

    /// Permits outstanding.
    pub fn held(&self) -> usize {
        self.permits.len()
    }

    /// Demands waiting.
    pub fn waiting(&self) -> usize {
        self.places.len()
    }

    /// Time never goes back.
    pub(crate) fn tick(&mut self, now: Timestamp) -> u64 {
        self.now = self.now.max(now.0);
        self.now
    }
}
