//! The table of `convoke capacity`: each limit with its origin, its holders and the demands that wait for it.

use crate::governor::Governor;
use crate::spec::Origin;
use convoke_model::Timestamp;
use serde::Serialize;

/// One resource, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Slots, rate, budget or breaker.
    pub kind: &'static str,
    /// The limit as configured.
    pub limit: u64,
    /// Where the configured limit comes from.
    pub origin: Origin,
    /// What may be in use at most now.
    pub effective: u64,
    /// Where that limit comes from.
    pub effective_origin: Origin,
    /// What is in use: slots taken, amounts of the window, money reserved and spent.
    pub used: u64,
    /// What was spent; budgets only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<u64>,
    /// Kept free for demands that were passed too often.
    pub held_back: u64,
    /// The keys that hold some of it, in order.
    pub held_by: Vec<u64>,
    /// How many demands wait for it first of all.
    pub waiting: usize,
    /// Until when back-pressure or an open breaker lets no demand start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Timestamp>,
    /// It only reports; so many demands it would have kept waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<u64>,
}

impl Governor {
    /// How every resource stands. For people: it looks at all permits.
    pub fn explain(&mut self, now: Timestamp) -> Vec<Standing> {
        let now = self.tick(now);
        let waiting = self.waiting_for(now);
        let mut standings: Vec<_> = (0..self.resources.len()).map(|at| self.standing(at, now)).collect();
        for (resource, count) in waiting {
            standings[resource.index()].waiting = count;
        }
        for (key, permit) in &self.permits {
            let needs = self.lanes[permit.lane].needs.iter();
            needs.for_each(|need| standings[need.resource.index()].held_by.push(*key));
        }
        standings.iter_mut().for_each(|standing| standing.held_by.sort_unstable());
        let known = standings.into_iter().zip(&self.resources).filter(|(_, resource)| !resource.retired);
        known.map(|(standing, _)| standing).collect()
    }

    fn standing(&mut self, at: usize, now: u64) -> Standing {
        let resource = &mut self.resources[at];
        let paused = resource.back_pressure.paused_until(now);
        let broken = resource.breaker.as_ref().and_then(|breaker| breaker.open_until(now));
        Standing {
            name: resource.name.to_string(),
            kind: resource.kind.word(),
            limit: resource.limit,
            origin: resource.origin,
            effective: resource.effective(),
            effective_origin: resource.effective_origin(),
            used: resource.meter.used(now),
            spent: resource.meter.spent(now),
            held_back: resource.held_back,
            held_by: Vec::new(),
            waiting: 0,
            paused_until: paused.max(broken).map(Timestamp),
            audit: resource.is_audit().then_some(resource.would_wait),
        }
    }
}
