//! What an attempt needs before it may start, and how it stands against others.
//!
//! Invariant: everything that an attempt needs is asked for at once, so that no attempt holds a part and waits for the rest.

use super::{Named, Owner, Permits, key_of, owner_of};
use crate::capacity::services::{Service, first_model};
use crate::capacity::terms::{Want, Wants};
use convoke_govern::{Amount, Demand, Governor, Rank, Refused, ResourceId};
use convoke_model::Timestamp;
use convoke_plan::{Kind, Labels, Node};
use convoke_schedule::TaskIx;
use std::sync::Arc;
use std::time::Duration;

/// How an attempt stands against others.
#[derive(Debug, Clone)]
pub(crate) struct Precedence {
    /// The labels that hold for it.
    pub labels: Labels,
    /// How much work depends on it.
    pub path: u32,
    /// The order among equals; smaller comes first.
    pub order: u64,
}

impl Permits {
    /// Asks for a permit for the next attempt of a task. Refused if it can never be had, or too many wait.
    pub(crate) fn demand(
        &mut self,
        task: TaskIx,
        node: &Node,
        precedence: Precedence,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let rank = Rank { order: precedence.order, ..self.rank(&precedence.labels, precedence.path) };
        let mut needs = vec![Amount::of(self.slots, 1)];
        let tenant = precedence.labels.tenant.as_deref();
        needs.extend(self.named_needs(node, tenant).map(|(named, count)| Amount::of(named.local, count)));
        let service = self.first_service(node, now);
        needs.extend(service.iter().flat_map(|service| service.slots()).map(|id| Amount::of(id, 1)));
        needs.extend(self.run_slot.iter().map(|slot| Amount::of(slot.resource(), 1)));
        needs.extend(self.guarded_by(node, now).map(|id| Amount::of(id, 1)));
        let room = self.room(&needs, now);
        let wants = self.wants(node, tenant);
        let lease = self.attempt_leases.demand(task, wants, &mut self.governor);
        let idle = lease.and_then(|lease| self.attempt_leases.room(lease, &self.ledger));
        let room = idle.map_or(room, |idle| room.min(idle));
        needs.extend(lease.map(|id| Amount::of(id, 1)));
        let demand = Demand { key: key_of(task), rank, needs: &needs };
        let most = room.saturating_add(self.longest_queue);
        if self.governor.waiting() as u64 >= most {
            self.make_room(rank);
        }
        let taken = match (self.governor.waiting() as u64) < most {
            true => self.governor.demand_further(demand, now),
            false => self.governor.demand(demand, now),
        };
        taken.inspect_err(|_| self.attempt_leases.forget(task))
    }

    /// How many attempts with these needs could start now, as far as this process knows: they do not wait, and the bound of
    /// the queue does not count them.
    fn room(&mut self, needs: &[Amount], now: Timestamp) -> u64 {
        let free = |governor: &mut Governor, need: &Amount| {
            let free = governor.limit(need.resource).saturating_sub(governor.used(need.resource, now));
            free / need.count.max(1)
        };
        needs.iter().map(|need| free(&mut self.governor, need)).min().unwrap_or(0)
    }

    /// How a task, or a call of it, stands against others.
    pub(crate) fn rank(&mut self, labels: &Labels, path: u32) -> Rank {
        let tenant = labels.tenant.as_deref().map(|name| self.governor.tenant(name)).unwrap_or_default();
        let (class, priority) = (labels.class.unwrap_or_default(), labels.priority.unwrap_or_default());
        Rank { class: class as u8, tenant, priority: priority as u8, path, order: 0 }
    }

    fn named_needs<'a>(
        &'a self,
        node: &'a Node,
        tenant: Option<&str>,
    ) -> impl Iterator<Item = (&'a Named, u64)> {
        let tenant =
            tenant.and_then(|name| self.named.get(&format!("tenant:{name}"))).map(|named| (named, 1));
        let resources = node.resources.iter();
        let named = resources
            .filter_map(|(name, count)| Some((self.named.get(&format!("resource:{name}"))?, *count)));
        tenant.into_iter().chain(named)
    }

    /// The service whose slot comes with an attempt's permit. Most attempts that run programs only go on with answers, and make
    /// no call.
    fn first_service(&mut self, node: &Node, now: Timestamp) -> Option<Arc<Service>> {
        let Kind::Agent(agent) = &node.kind else { return None };
        self.services.of_first(agent, &mut self.governor, now)
    }

    /// In a full queue an attempt of a lower class that has not begun gives way. Calls never do: their attempts have begun.
    fn make_room(&mut self, rank: Rank) {
        let has_not_begun = |key| matches!(owner_of(key), Owner::Attempt(_));
        if let Some(key) = self.governor.give_way(rank, has_not_begun)
            && let Owner::Attempt(task) = owner_of(key)
        {
            self.withdraw(task);
            self.displaced.push(task);
        }
    }

    /// The breaker of an agent's step, which watches the step's own model.
    pub(crate) fn breaker_of(&mut self, node: &Node) -> Option<ResourceId> {
        let Kind::Agent(agent) = &node.kind else { return None };
        self.services.breaker(node.step_name(), agent, &mut self.governor)
    }

    /// The breaker that an attempt has to pass. A step with further models does not wait for it: while it is open, the next model
    /// is asked.
    fn guarded_by(&mut self, node: &Node, now: Timestamp) -> Option<ResourceId> {
        self.breaker_of(node).filter(|_| !self.passes_by(node, now))
    }

    /// Whether an attempt need not wait for the breaker of its step, which is open: there are further models.
    pub(crate) fn passes_by(&mut self, node: &Node, now: Timestamp) -> bool {
        let has_others = matches!(&node.kind, Kind::Agent(agent) if agent.settings.fallback.is_some());
        has_others && self.broken(node, now).is_some()
    }

    /// Until when the breaker of a step is open, and its name.
    pub(crate) fn broken(&mut self, node: &Node, now: Timestamp) -> Option<(String, Timestamp)> {
        let breaker = self.breaker_of(node)?;
        let until = self.governor.broken_until(breaker, now)?;
        Some((self.governor.name(breaker).to_owned(), until))
    }

    /// The breaker of a step that has failed too often and not recovered, and how long it is waited for.
    pub(crate) fn patience(&mut self, node: &Node) -> Option<(String, Duration)> {
        let breaker = self.breaker_of(node).filter(|breaker| self.governor.is_broken(*breaker))?;
        Some((self.governor.name(breaker).to_owned(), self.services.longest_wait()))
    }

    /// The breaker that a call has to pass: that of its step, if it goes to the step's own model and no probe has gone well yet.
    /// The call waits for it, and is the probe itself where there is none. An attempt that probes has passed it.
    pub(crate) fn hindered_by(&mut self, task: TaskIx, node: &Node, model: &str) -> Option<ResourceId> {
        let Kind::Agent(agent) = &node.kind else { return None };
        if first_model(agent).is_some_and(|own| own != model) {
            return None;
        }
        let breaker = self.breaker_of(node)?;
        let is_probe = self.governor.is_probe(key_of(task), breaker);
        (!is_probe && self.governor.is_broken(breaker)).then_some(breaker)
    }

    /// What an attempt needs of what all processes share.
    fn wants(&self, node: &Node, tenant: Option<&str>) -> Wants {
        if self.plain.is_empty() {
            return self.plain.clone();
        }
        let mut named = self.named_needs(node, tenant).peekable();
        if named.peek().is_none() {
            return self.plain.clone();
        }
        let more = named.map(|(named, count)| Want { of: named.shared.clone(), count });
        self.plain.iter().cloned().chain(more).collect()
    }
}
