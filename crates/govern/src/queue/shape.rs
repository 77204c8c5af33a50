//! What a demand needs, in the form in which demands are compared.
//!
//! Sorted, each resource once, the budgets that a budget draws from included. Amounts of rates and budgets are estimates
//! and differ from call to call; they are rounded up to five significant bits, at most a sixteenth more, so that there
//! are few shapes and demands of one shape are interchangeable. What is reserved is the rounded amount; what is settled
//! is what was used.

use crate::answer::Refused;
use crate::governor::Governor;
use crate::meter::Meter;
use crate::resource::Resource;
use crate::spec::{Amount, Kind, ResourceId};
use convoke_model::{Timestamp, WhenSpent};

/// How many leading bits of an estimate count.
const BITS: u32 = 5;

impl Governor {
    /// Puts what is needed into its form.
    pub(crate) fn form(&self, needs: &[Amount], shape: &mut Vec<Amount>) {
        shape.clear();
        for need in needs {
            let resource = &self.resources[need.resource.index()];
            let count = resource.rounded(need.count);
            self.add_need(Amount::of(need.resource, count), shape);
        }
        shape.sort_unstable();
    }

    fn add_need(&self, need: Amount, shape: &mut Vec<Amount>) {
        match shape.iter_mut().find(|other| other.resource == need.resource) {
            // A call that draws from two budgets of the same parent costs the parent once.
            Some(other) => other.count = other.count.max(need.count),
            None => shape.push(need),
        }
        if let Some(parent) = self.parent(need.resource) {
            self.add_need(Amount::of(parent, need.count), shape);
        }
    }

    /// The budget that a budget draws from.
    pub(crate) fn parent(&self, resource: ResourceId) -> Option<ResourceId> {
        match &self.resources[resource.index()].kind {
            Kind::Budget(rules) => rules.parent,
            _ => None,
        }
    }

    /// Whether `resource` draws from `above`, at whatever distance.
    pub(crate) fn draws_from(&self, resource: ResourceId, above: ResourceId) -> bool {
        let mut next = self.parent(resource);
        while let Some(parent) = next {
            if parent == above {
                return true;
            }
            next = self.parent(parent);
        }
        false
    }

    /// Why nothing of this shape can ever be granted, as limits stand.
    pub(crate) fn never_fits(&mut self, shape: &[Amount], now: u64) -> Option<Refused> {
        shape.iter().find_map(|need| self.resources[need.resource.index()].never_fits(need.count, now))
    }
}

impl Governor {
    /// Demands that wait and can never be granted any more, because a limit was lowered below what they need. They wait no
    /// longer. To be asked after every limit that is set or seen.
    pub fn impossible(&mut self, now: Timestamp) -> Vec<(u64, Refused)> {
        let now = self.tick(now);
        let mut refused = Vec::new();
        for lane in self.lanes.busy().to_vec() {
            let needs = self.lanes[lane].needs.clone();
            let Some(why @ Refused::NeverFits { .. }) = self.never_fits(&needs, now) else { continue };
            while let Some((_, key)) = self.lanes[lane].oldest() {
                self.dequeue(key);
                self.tally.refuse(&why);
                refused.push((key, why.clone()));
            }
        }
        refused
    }
}

impl Resource {
    fn rounded(&self, count: u64) -> u64 {
        let rounded = match self.kind {
            Kind::Slots | Kind::Breaker => count,
            Kind::Rate(_) | Kind::Budget(_) => round_up(count),
        };
        // Rounding alone must not make it too much.
        if rounded > self.hard_limit() { count } else { rounded }
    }

    /// The limit that waiting cannot raise.
    fn hard_limit(&self) -> u64 {
        self.seen.map_or(self.limit, |seen| seen.min(self.limit))
    }

    #[inline]
    fn never_fits(&mut self, count: u64, now: u64) -> Option<Refused> {
        let limit = self.hard_limit();
        let spent = match &mut self.meter {
            Meter::Budget(budget) => budget.spent(now),
            _ => 0,
        };
        if count.saturating_add(spent) <= limit || self.is_audit() {
            return None;
        }
        let resource = self.name.to_string();
        match &self.kind {
            Kind::Budget(rules) if rules.when_spent != WhenSpent::Queue => {
                Some(Refused::Spent { resource, then: rules.when_spent.clone() })
            }
            _ => (count > limit).then_some(Refused::NeverFits { resource, count, limit }),
        }
    }
}

/// The next number with few significant bits.
fn round_up(count: u64) -> u64 {
    let bits = u64::BITS - count.leading_zeros();
    if bits <= BITS {
        return count;
    }
    let step = 1u64 << (bits - BITS);
    count.checked_next_multiple_of(step).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rounding_adds_at_most_a_sixteenth(count in 0u64..u64::MAX / 2) {
            let rounded = round_up(count);
            prop_assert!(rounded >= count && rounded - count <= count / 16);
            prop_assert_eq!(round_up(rounded), rounded);
        }
    }
}
