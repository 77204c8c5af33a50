//! The demands of one lane and class: tenants by whose turn it is, each with its demands by priority, path and age.
//!
//! Tags of tenants change with every grant, in whatever lane. They only ever grow, so they are brought up to date here
//! when a tenant comes to the front and not before: as long as the front is up to date, no other tenant can be before it.

use crate::hash::Map;
use crate::queue::by_age::ByAge;
use crate::queue::rank::{Level, Place, Tenant};
use crate::queue::tenants::{Tag, Tenants};
use std::collections::{BTreeMap, BTreeSet};

/// Demands of one tenant.
#[derive(Debug, Default)]
struct TenantQueue {
    /// The tag by which it is sorted here; the tenant's own may be later.
    tag: Tag,
    levels: BTreeMap<Level, ByAge>,
}

/// The demands of one class.
#[derive(Debug, Default)]
pub(crate) struct ClassQueue {
    turns: BTreeSet<(Tag, Tenant)>,
    tenants: Map<Tenant, TenantQueue>,
}

/// The next demand of a class, and how it compares with others of the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Front {
    tag: Tag,
    level: Level,
    pub age: u64,
    pub key: u64,
}

impl ClassQueue {
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether demands of another tenant wait.
    pub fn has_other(&self, tenant: Tenant) -> bool {
        self.tenants.len() > usize::from(self.tenants.contains_key(&tenant))
    }

    pub fn push(&mut self, key: u64, place: &Place, tenants: &mut Tenants) {
        let tenant = place.rank.tenant;
        let queue = self.tenants.entry(tenant).or_insert_with(|| {
            let tag = tenants.enter(place.rank.class, tenant);
            self.turns.insert((tag, tenant));
            TenantQueue { tag, levels: BTreeMap::new() }
        });
        queue.levels.entry(place.level()).or_default().push(place.age, key);
    }

    pub fn remove(&mut self, place: &Place, tenants: &mut Tenants) {
        let tenant = place.rank.tenant;
        let queue = self.tenants.get_mut(&tenant).expect("a demand that waits is with its tenant");
        let level = queue.levels.get_mut(&place.level()).expect("and at its level");
        level.remove(place.age);
        if level.len() > 0 {
            return;
        }
        queue.levels.remove(&place.level());
        if queue.levels.is_empty() {
            self.turns.remove(&(queue.tag, tenant));
            self.tenants.remove(&tenant);
            tenants.leave(place.rank.class, tenant);
        }
    }

    /// The next demand.
    pub fn front(&mut self, class: u8, tenants: &Tenants) -> Option<Front> {
        loop {
            let (tag, tenant) = *self.turns.first()?;
            let queue = self.tenants.get_mut(&tenant).expect("a tenant with a turn has demands");
            let current = tenants.tag(class, tenant);
            // A tenant that is alone is next, whatever its tag.
            if current == tag || self.turns.len() == 1 {
                let (level, demands) = queue.levels.first_key_value()?;
                let (age, key) = demands.first()?;
                return Some(Front { tag: current, level: *level, age, key });
            }
            queue.tag = current;
            self.turns.pop_first();
            self.turns.insert((current, tenant));
        }
    }
}
