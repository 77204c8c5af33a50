//! The demands that need the same: one of them fits exactly when all of them do.
//!
//! A lane keeps two orders of its demands: by rank (class, the turn of the tenant, priority, path, age) and by age
//! alone. Every operation takes logarithmic time.

use crate::hash::Map;
use crate::rank::{Order, Place, Tenant};
use crate::spec::{Amount, ResourceId};
use crate::tenants::Tag;
use std::collections::{BTreeMap, BTreeSet};

/// The demand of a lane that is next, compared with those of other lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Head {
    class: u8,
    tag: Tag,
    order: Order,
    pub key: u64,
    pub lane: u32,
}

impl Head {
    /// The number of its arrival.
    pub fn age(&self) -> u64 {
        self.order.2
    }
}

#[derive(Debug, Default)]
struct ClassQueue {
    /// Tenants by whose turn it is.
    turns: BTreeSet<(Tag, Tenant)>,
    tenants: Map<Tenant, BTreeMap<Order, u64>>,
}

/// Demands of one shape.
#[derive(Debug)]
pub(crate) struct Lane {
    pub needs: Box<[Amount]>,
    classes: BTreeMap<u8, ClassQueue>,
    by_age: BTreeMap<u64, u64>,
    /// Permits of this shape that are out.
    pub held: usize,
    /// How often others were granted what this lane is short of.
    pub passes: u32,
    /// Grants that the lane got because it had been passed too often.
    pub made_way: u32,
    /// While something is kept free for this lane: how much of each of its needs is kept for earlier ones.
    pub kept_before: Option<Vec<u64>>,
    /// Whether one more would fit, as of the last look around.
    pub fits: bool,
    /// Its place among the lanes in which somebody waits.
    pub busy_at: Option<u32>,
}

impl Lane {
    pub fn new(needs: &[Amount]) -> Lane {
        Lane {
            needs: needs.into(),
            classes: BTreeMap::new(),
            by_age: BTreeMap::new(),
            held: 0,
            passes: 0,
            made_way: 0,
            kept_before: None,
            fits: false,
            busy_at: None,
        }
    }

    pub fn len(&self) -> usize {
        self.by_age.len()
    }

    pub fn needs(&self, resource: ResourceId) -> bool {
        self.needs.iter().any(|need| need.resource == resource)
    }

    /// Whether demands of this tenant and class wait here.
    pub fn has(&self, class: u8, tenant: Tenant) -> bool {
        self.classes.get(&class).is_some_and(|queue| queue.tenants.contains_key(&tenant))
    }

    /// Whether demands of another tenant of this class wait here.
    pub fn has_other(&self, class: u8, tenant: Tenant) -> bool {
        let tenants = self.classes.get(&class).map(|queue| &queue.tenants);
        tenants.is_some_and(|tenants| tenants.len() > usize::from(tenants.contains_key(&tenant)))
    }

    /// Adds a demand; `tag` is its tenant's.
    pub fn push(&mut self, key: u64, place: &Place, tag: Tag) {
        let queue = self.classes.entry(place.rank.class).or_default();
        queue.turns.insert((tag, place.rank.tenant));
        queue.tenants.entry(place.rank.tenant).or_default().insert(place.order(), key);
        self.by_age.insert(place.age, key);
    }

    /// Takes a demand out; true if it was the last of its tenant and class.
    pub fn remove(&mut self, place: &Place, tag: Tag) -> bool {
        self.by_age.remove(&place.age);
        let tenant = place.rank.tenant;
        let queue = self.classes.get_mut(&place.rank.class).expect("a demand that waits is in its class");
        let demands = queue.tenants.get_mut(&tenant).expect("a demand that waits is with its tenant");
        demands.remove(&place.order());
        let last = demands.is_empty();
        if last {
            queue.tenants.remove(&tenant);
            queue.turns.remove(&(tag, tenant));
        }
        last
    }

    pub fn retag(&mut self, class: u8, tenant: Tenant, old: Tag, new: Tag) {
        let queue = self.classes.get_mut(&class).expect("a tenant with a tag waits here");
        let known = queue.turns.remove(&(old, tenant));
        debug_assert!(known, "the tag is the one that the lane is sorted by");
        queue.turns.insert((new, tenant));
    }

    /// Who is next by rank.
    pub fn head(&self, lane: u32) -> Option<Head> {
        let (class, queue) = self.classes.iter().find(|(_, queue)| !queue.turns.is_empty())?;
        let (tag, tenant) = queue.turns.first()?;
        let (order, key) = queue.tenants[tenant].first_key_value()?;
        Some(Head { class: *class, tag: *tag, order: *order, key: *key, lane })
    }

    /// Who has waited longest: age and key.
    pub fn oldest(&self) -> Option<(u64, u64)> {
        self.by_age.first_key_value().map(|(age, key)| (*age, *key))
    }
}
