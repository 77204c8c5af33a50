//! Doors of services: what a provider tells one process holds for all.
//!
//! Each service that a run asks has a resource in the table, which has no limit until one is learned (`lessons`). Whoever
//! is told "later" shuts it; the others look at it a few times a second, without the lock, and shut their own.

use super::asks::table_name;
use super::{Known, Office};
use crate::capacity::services::learned_name;
use crate::capacity::terms::Counts;
use crate::fact::Capacity as News;
use convoke_capacity::ResourceId;
use convoke_govern::LearnedLimit;
use std::collections::HashMap;
use std::sync::MutexGuard;
use std::time::Duration;

/// Nothing is known.
pub(super) const NO_LIMIT: u32 = u32::MAX;

/// A service, as the run knows it.
pub(super) struct Door {
    pub id: ResourceId,
    /// Until when it is shut.
    shut: u64,
    /// The limit in force.
    pub limit: u32,
    /// The limit of which people were told.
    pub told: u64,
}

impl Office {
    pub(super) fn doors(&self) -> MutexGuard<'_, HashMap<String, Door>> {
        self.doors.lock().expect("nobody panics while holding it")
    }

    pub(super) fn heed(&self, service: &str, remembered: Option<LearnedLimit>) {
        let name = learned_name(service);
        let defined = self.insist(|table| table.define(&table_name(&name), NO_LIMIT, "service"));
        let Some(Ok(defined)) = defined else { return };
        let (id, limit, counts) = (defined.id, defined.limit, Counts::Slots);
        self.known().insert(name, Known { id, limit, counts, learned: true });
        self.doors().insert(service.to_owned(), Door { id, shut: 0, limit: NO_LIMIT, told: NO_LIMIT.into() });
        self.recall(service, remembered);
        self.look_at_doors();
    }

    pub(super) fn shut(&self, service: &str, pause: Duration) {
        let Some(id) = self.door(service) else { return };
        let until = self.table.now().saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        let _ = self.insist(|table| table.shut(id, until));
    }

    pub(super) fn door(&self, service: &str) -> Option<ResourceId> {
        self.doors().get(service).map(|door| door.id)
    }

    pub(super) fn with_door(&self, service: &str, act: impl FnOnce(ResourceId)) {
        if let Some(id) = self.door(service) {
            act(id);
        }
    }

    /// Tells the run about doors that were shut, or shut for longer, since it was last told.
    pub(super) fn look_at_doors(&self) {
        let mut shut = Vec::new();
        for (service, door) in &mut *self.doors() {
            let Some(until) = self.table.shut_until(door.id).filter(|until| *until > door.shut) else {
                continue;
            };
            door.shut = until;
            let pause = Duration::from_nanos(until.saturating_sub(self.table.now()));
            shut.push(News::Shut { service: service.clone(), pause });
        }
        shut.into_iter().for_each(|news| self.tell(news));
    }
}
