//! A resource at work: its limits, its meter, its pressure.
//!
//! What counts is the smallest of what is configured, what this process holds of it, what the provider says and what
//! was learned. Keeps true: the effective limit is up to date after every change of one of them.

use crate::back_pressure::BackPressure;
use crate::breaker::{Breaker, Pass};
use crate::learning::learn::Learner;
use crate::meter::Meter;
use crate::spec::{Kind, Origin, Spec};
use convoke_model::WhenSpent;

/// A resource that a governor knows.
#[derive(Debug)]
pub(crate) struct Resource {
    pub name: Box<str>,
    pub kind: Kind,
    pub limit: u64,
    pub origin: Origin,
    /// What this process holds of it, where all processes share it.
    pub share: Option<u64>,
    /// What the provider says it is.
    pub seen: Option<u64>,
    pub learner: Option<Learner>,
    /// What is learned of it is learned by all processes together.
    pub learns_together: bool,
    /// All processes together keep to what was learned: so many more than that are let in here, to be there when one ends.
    pub ahead: u64,
    pub breaker: Option<Breaker>,
    pub back_pressure: BackPressure,
    pub meter: Meter,
    /// Grants of it since the last turn of the longest waiting.
    pub since_turn: u64,
    /// Kept free for lanes that were passed too often.
    pub held_back: u64,
    /// Demands that an auditing budget would have kept waiting.
    pub would_wait: u64,
    /// It is over, and its id can be given out again.
    pub retired: bool,
    effective: u64,
}

/// Whether so much of a resource is to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    Fits,
    /// Not now; perhaps from a known moment on.
    Short(Option<u64>),
    /// Not as the budget stands, whatever comes back from permits that hold some of it.
    Spent,
}

impl Resource {
    pub fn new(spec: Spec) -> Resource {
        let mut resource = Resource {
            meter: Meter::of(&spec.kind),
            learner: spec.learn_from.map(|start| Learner::new(start, spec.limit)),
            breaker: spec.breaker.map(Breaker::new),
            name: spec.name.into(),
            kind: spec.kind,
            limit: spec.limit,
            origin: spec.origin,
            share: None,
            learns_together: false,
            ahead: 0,
            seen: None,
            back_pressure: BackPressure::default(),
            since_turn: 0,
            held_back: 0,
            would_wait: 0,
            retired: false,
            effective: 0,
        };
        resource.refresh();
        resource
    }

    /// To be called after a change of any of the limits.
    pub fn refresh(&mut self) {
        if let Some(learner) = &mut self.learner {
            learner.set_most(self.limit);
        }
        self.effective = self.bounds().map(|(bound, _)| bound).min().unwrap_or(self.limit);
    }

    fn bounds(&self) -> impl Iterator<Item = (u64, Origin)> {
        let learned = self.learner.as_ref().map(|learner| (learner.limit() + self.ahead, Origin::Learned));
        let seen = self.seen.map(|seen| (seen, Origin::Provider));
        let share = self.share.map(|share| (share, Origin::Share));
        std::iter::once((self.limit, self.origin)).chain(seen).chain(learned).chain(share)
    }

    /// What may be in use at most, now.
    #[inline]
    pub fn effective(&self) -> u64 {
        self.effective
    }

    /// Where the effective limit comes from.
    pub fn effective_origin(&self) -> Origin {
        self.bounds().find(|(bound, _)| *bound == self.effective).map_or(self.origin, |(_, origin)| origin)
    }

    /// What could be in use at most if this process held all of it.
    pub fn beyond_share(&self) -> u64 {
        let others = self.bounds().filter(|(_, origin)| *origin != Origin::Share);
        others.map(|(bound, _)| bound).min().unwrap_or(self.limit)
    }

    /// How much more could be in use if this process held all of it.
    pub fn room_beyond_share(&mut self, now: u64) -> u64 {
        let paused = self.back_pressure.blocked_until(now).is_some();
        let broken = self.breaker.as_ref().is_some_and(|breaker| breaker.pass(now) != Pass::Free);
        match paused || broken {
            true => 0,
            false if self.is_audit() => u64::MAX,
            false => self.beyond_share().saturating_sub(self.meter.used(now)),
        }
    }

    /// Whether a demand that needs `count` can be admitted, if `kept` is kept free for others.
    #[inline]
    pub fn fit(&mut self, count: u64, kept: u64, now: u64) -> Fit {
        if let Some(until) = self.back_pressure.blocked_until(now) {
            return Fit::Short(Some(until));
        }
        if let Some(Pass::Wait(until)) = self.breaker.as_ref().map(|breaker| breaker.pass(now)) {
            return Fit::Short(until);
        }
        let free = self.effective.saturating_sub(self.meter.used(now));
        if count.saturating_add(kept) <= free || self.is_audit() {
            return Fit::Fits;
        }
        self.shortage(count, kept, now)
    }

    fn shortage(&mut self, count: u64, kept: u64, now: u64) -> Fit {
        if let (Meter::Budget(budget), Kind::Budget(rules)) = (&mut self.meter, &self.kind)
            && rules.when_spent != WhenSpent::Queue
            && budget.spent(now).saturating_add(count) > self.limit
        {
            return Fit::Spent;
        }
        Fit::Short(self.meter.fits_at(count.saturating_add(kept), self.effective, now))
    }

    /// Whether waiting and the ends of others are all that it takes for `count` to fit.
    pub fn will_fit(&mut self, count: u64, now: u64) -> bool {
        let open = self.back_pressure.blocked_until(now).is_none();
        let closed = self.breaker.as_ref().is_none_or(Breaker::is_closed);
        let spent = match &mut self.meter {
            Meter::Budget(budget) => budget.spent(now),
            _ => 0,
        };
        open && closed && (self.is_audit() || count.saturating_add(spent) <= self.effective)
    }

    pub fn is_audit(&self) -> bool {
        matches!(&self.meter, Meter::Budget(budget) if budget.audit)
    }

    /// Whether it only watches, and would have kept this one waiting.
    #[inline]
    pub fn overdrawn_by(&mut self, count: u64, now: u64) -> bool {
        match &mut self.meter {
            Meter::Budget(budget) if budget.audit => budget.spent(now).saturating_add(count) > self.effective,
            _ => false,
        }
    }

    /// Whether something is learned about it from calls.
    pub fn adapts(&self) -> bool {
        self.learner.is_some() || self.breaker.is_some()
    }

    /// Whether the next grant of it goes to the longest waiting.
    #[inline]
    pub fn is_age_turn(&self, every: u64) -> bool {
        self.since_turn + 1 >= every
    }
}
