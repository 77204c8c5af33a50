//! Services that the run asks: what a provider tells one process holds for all.
//!
//! Each service has a resource in the table, which has no limit until one is learned (`samples`). The process that is told
//! "later" pauses it; the others look at it a few times a second, without the lock, and pause theirs.

use super::requests::table_name;
use super::{Known, SharedState};
use crate::capacity::services::learned_name;
use crate::capacity::terms::Counts;
use crate::fact::CapacityFact;
use convoke_capacity::ResourceId;
use convoke_govern::LearnedLimit;
use convoke_model::hash::HashMap;
use std::sync::MutexGuard;
use std::time::Duration;

/// Nothing is known.
pub(super) const NO_LIMIT: u32 = u32::MAX;

/// A service, as the run knows it.
pub(super) struct ServiceState {
    pub id: ResourceId,
    /// Until when it pauses.
    paused_until: u64,
    /// The limit in force.
    pub limit: u32,
    /// The limit of which people were told.
    pub told: u64,
}

impl SharedState {
    pub(super) fn services(&self) -> MutexGuard<'_, HashMap<String, ServiceState>> {
        self.services.lock().expect("a panic poisoned this lock")
    }

    pub(super) fn subscribe(&self, service: &str, remembered: Option<LearnedLimit>) {
        let name = learned_name(service);
        let defined = self.insist(|table| table.define(&table_name(&name), NO_LIMIT, "service"));
        let Some(Ok(defined)) = defined else { return };
        let (id, limit, counts) = (defined.id, defined.limit, Counts::Slots);
        self.known().insert(name, Known { id, limit, counts, learned: true });
        self.services().insert(
            service.to_owned(),
            ServiceState { id, paused_until: 0, limit: NO_LIMIT, told: NO_LIMIT.into() },
        );
        self.recall(service, remembered);
        self.check_pauses();
    }

    pub(super) fn pause(&self, service: &str, pause: Duration) {
        let Some(id) = self.service_id(service) else { return };
        let until = self.table.now().saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        let _ = self.insist(|table| table.pause(id, until));
    }

    pub(super) fn service_id(&self, service: &str) -> Option<ResourceId> {
        self.services().get(service).map(|known| known.id)
    }

    pub(super) fn with_service(&self, service: &str, act: impl FnOnce(ResourceId)) {
        if let Some(id) = self.service_id(service) {
            act(id);
        }
    }

    /// Tells the run about services that pause, or pause for longer, since it was last told.
    pub(super) fn check_pauses(&self) {
        let mut pauses = Vec::new();
        for (service, known) in &mut *self.services() {
            let Some(until) = self.table.paused_until(known.id).filter(|until| *until > known.paused_until)
            else {
                continue;
            };
            known.paused_until = until;
            let pause = Duration::from_nanos(until.saturating_sub(self.table.now()));
            pauses.push(CapacityFact::Paused { service: service.clone(), pause });
        }
        pauses.into_iter().for_each(|fact| self.tell(fact));
    }
}
