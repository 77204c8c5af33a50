//! The demands that need the same: one of them fits exactly when all of them do.
//!
//! A lane keeps two orders of its demands: by rank (class, the turn of the tenant, priority, path, order, age) and by age
//! alone. Every operation takes logarithmic time.

use crate::queue::by_age::ByAge;
use crate::queue::class::{ClassQueue, Front};
use crate::queue::holdback::Hold;
use crate::queue::rank::{Place, Tenant};
use crate::queue::tenants::Tenants;
use crate::spec::{Amount, ResourceId};

/// The demand of a lane that is next, compared with those of other lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Head {
    class: u8,
    pub front: Front,
    pub lane: u32,
}

/// Demands of one shape.
#[derive(Debug)]
pub(crate) struct Lane {
    pub needs: Box<[Amount]>,
    /// In order.
    classes: Vec<(u8, ClassQueue)>,
    by_age: ByAge,
    /// Permits of this shape that are out.
    pub held: usize,
    /// How often others were granted what this lane is short of.
    pub passes: u32,
    /// Grants that the lane got because it had been passed too often.
    pub made_way: u32,
    /// While something is kept free for this lane.
    pub hold: Option<Hold>,
    /// Whether one more would fit, as of the last look around.
    pub fits: bool,
    /// Its place among the lanes with waiting demands.
    pub busy_at: Option<u32>,
}

impl Lane {
    pub fn new(needs: &[Amount]) -> Lane {
        Lane {
            needs: needs.into(),
            classes: Vec::new(),
            by_age: ByAge::default(),
            held: 0,
            passes: 0,
            made_way: 0,
            hold: None,
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

    /// Whether demands of another tenant of this class wait here.
    pub fn has_other(&self, class: u8, tenant: Tenant) -> bool {
        self.classes.iter().any(|(other, queue)| *other == class && queue.has_other(tenant))
    }

    pub fn push(&mut self, key: u64, place: &Place, tenants: &mut Tenants) {
        self.class(place.rank.class).push(key, place, tenants);
        self.by_age.push(place.age, key);
    }

    pub fn remove(&mut self, place: &Place, tenants: &mut Tenants) {
        self.class(place.rank.class).remove(place, tenants);
        self.by_age.remove(place.age);
    }

    fn class(&mut self, class: u8) -> &mut ClassQueue {
        let at = self.classes.binary_search_by_key(&class, |(class, _)| *class).unwrap_or_else(|at| {
            self.classes.insert(at, (class, ClassQueue::default()));
            at
        });
        &mut self.classes[at].1
    }

    /// The next demand by rank.
    pub fn head(&mut self, lane: u32, tenants: &Tenants) -> Option<Head> {
        let (class, queue) = self.classes.iter_mut().find(|(_, queue)| !queue.is_empty())?;
        let front = queue.front(*class, tenants)?;
        Some(Head { class: *class, front, lane })
    }

    /// The demand that has waited longest: age and key.
    pub fn oldest(&self) -> Option<(u64, u64)> {
        self.by_age.first()
    }
}
