//! What was reserved, and what was used of it.

use crate::answer::{NotHeld, Used};
use crate::governor::{Governor, Permit};
use crate::meter::Meter;
use crate::spec::{Amount, Counts, ResourceId};
use convoke_model::Timestamp;

impl Governor {
    /// The provider has seen the call: what counts on arrival has been counted by now.
    pub fn arrived(&mut self, key: u64, now: Timestamp) -> Result<(), NotHeld> {
        let now = self.tick(now);
        let permit = self.permits.get_mut(&key).ok_or(NotHeld(key))?;
        if std::mem::replace(&mut permit.arrived, true) {
            return Ok(());
        }
        for need in &self.lanes[permit.lane].needs {
            if let Meter::Rate(rate) = &mut self.resources[need.resource.index()].meter
                && rate.counts == Counts::Arrivals
            {
                rate.settle(need.count, need.count, now);
            }
        }
        Ok(())
    }

    /// Something was used without a permit: an answer that came too late, or what an earlier process had settled.
    /// Budgets that the resource draws from pay too.
    pub fn charge(&mut self, used: Amount, now: Timestamp) {
        let now = self.tick(now);
        let mut next = Some(used.resource);
        while let Some(resource) = next {
            match &mut self.resources[resource.index()].meter {
                Meter::Rate(rate) => rate.count(used.count, now),
                Meter::Budget(budget) => budget.spend(used.count, now),
                Meter::Slots { .. } | Meter::Breaker => {}
            }
            next = self.parent(resource);
        }
    }

    /// Gives back all that a permit holds.
    pub(crate) fn settle(&mut self, permit: &Permit, used: Used<'_>, now: u64) {
        for at in 0..self.lanes[permit.lane].needs.len() {
            let need = self.lanes[permit.lane].needs[at];
            let count = self.used_of(need, used);
            let meter = &mut self.resources[need.resource.index()].meter;
            let counted =
                matches!(meter, Meter::Rate(rate) if rate.counts == Counts::Arrivals) && permit.arrived;
            if !counted {
                meter.settle(need.count, count, now);
            }
        }
    }

    #[inline]
    fn used_of(&self, need: Amount, used: Used<'_>) -> u64 {
        match used {
            Used::Nothing => 0,
            Used::AsReserved => need.count,
            Used::Amounts(amounts) => self.said(need.resource, amounts).unwrap_or(need.count),
        }
    }

    /// What is said to have been used of a resource: by name, or by what draws from it.
    fn said(&self, resource: ResourceId, amounts: &[Amount]) -> Option<u64> {
        let named = amounts.iter().find(|amount| amount.resource == resource);
        let drawn = || {
            let below = amounts.iter().filter(|amount| self.draws_from(amount.resource, resource));
            below.map(|amount| amount.count).max()
        };
        named.map(|amount| amount.count).or_else(drawn)
    }
}
