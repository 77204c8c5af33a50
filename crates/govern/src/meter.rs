//! How much of a resource is in use: one meter per kind.
//!
//! A meter counts and never decides. What is taken is given back exactly once, which the governor sees to; a meter that
//! is given more than was taken says so by ending the program, because its numbers are wrong from then on.

mod budget;
mod rate;

pub(crate) use budget::Budget;
pub(crate) use rate::Rate;

use crate::spec::{Kind, Period};

/// The numbers of one resource.
#[derive(Debug)]
pub(crate) enum Meter {
    Slots { used: u64 },
    Rate(Rate),
    Budget(Budget),
    Breaker,
}

impl Meter {
    pub fn of(kind: &Kind) -> Meter {
        match kind {
            Kind::Slots => Meter::Slots { used: 0 },
            Kind::Rate(rules) => Meter::Rate(Rate::new(*rules)),
            Kind::Budget(rules) => Meter::Budget(Budget::new(rules.period == Period::Day, rules.audit)),
            Kind::Breaker => Meter::Breaker,
        }
    }

    /// What is not to be had of `limit`, at `now`.
    #[inline]
    pub fn used(&mut self, now: u64) -> u64 {
        match self {
            Meter::Slots { used } => *used,
            Meter::Rate(rate) => rate.used(now),
            Meter::Budget(budget) => budget.used(now),
            Meter::Breaker => 0,
        }
    }

    /// When `count` will fit into `room`, if that is only a matter of time.
    pub fn fits_at(&self, count: u64, room: u64, now: u64) -> Option<u64> {
        match self {
            Meter::Slots { .. } | Meter::Breaker => None,
            Meter::Rate(rate) => rate.fits_at(count, room),
            Meter::Budget(budget) => budget.fits_at(count, room, now),
        }
    }

    #[inline]
    pub fn take(&mut self, count: u64) {
        match self {
            Meter::Slots { used } => *used += count,
            Meter::Rate(rate) => rate.reserve(count),
            Meter::Budget(budget) => budget.reserve(count),
            Meter::Breaker => {}
        }
    }

    /// Gives back what was taken, and keeps what was used of it.
    #[inline]
    pub fn settle(&mut self, taken: u64, used: u64, now: u64) {
        match self {
            Meter::Slots { used: out } => *out = out.checked_sub(taken).expect("slots given back were taken"),
            Meter::Rate(rate) => rate.settle(taken, used, now),
            Meter::Budget(budget) => budget.settle(taken, used, now),
            Meter::Breaker => {}
        }
    }

    /// What was spent of a budget.
    pub fn spent(&mut self, now: u64) -> Option<u64> {
        match self {
            Meter::Budget(budget) => Some(budget.spent(now)),
            Meter::Slots { .. } | Meter::Rate(_) | Meter::Breaker => None,
        }
    }
}
