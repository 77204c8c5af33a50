//! Doors of services: what a provider tells one process holds for all.
//!
//! Each service that a run asks has a door in the table, which counts nothing. Whoever is told "later" shuts it; the others
//! look at it a few times a second, without the lock, and shut their own.

use super::Office;
use super::asks::table_name;
use crate::fact::Capacity as News;
use convoke_capacity::ResourceId;
use std::time::Duration;

/// A door counts nothing, so its limit is none.
const NO_LIMIT: u32 = u32::MAX;

impl Office {
    pub(super) fn heed(&self, service: &str) {
        let door =
            self.insist(|table| table.define(&table_name(&format!("door:{service}")), NO_LIMIT, "service"));
        if let Some(Ok(door)) = door {
            self.doors
                .lock()
                .expect("nobody panics while holding it")
                .insert(service.to_owned(), (door.id, 0));
            self.look_at_doors();
        }
    }

    pub(super) fn shut(&self, service: &str, pause: Duration) {
        let Some(id) = self.door(service) else { return };
        let until = self.table.now().saturating_add(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX));
        let _ = self.insist(|table| table.shut(id, until));
    }

    fn door(&self, service: &str) -> Option<ResourceId> {
        let doors = self.doors.lock().expect("nobody panics while holding it");
        doors.get(service).map(|(id, _)| *id)
    }

    /// Tells the run about doors that were shut, or shut for longer, since it was last told.
    pub(super) fn look_at_doors(&self) {
        let mut shut = Vec::new();
        for (service, (id, known)) in &mut *self.doors.lock().expect("nobody panics while holding it") {
            let Some(until) = self.table.shut_until(*id).filter(|until| until > known) else { continue };
            *known = until;
            let pause = Duration::from_nanos(until.saturating_sub(self.table.now()));
            shut.push(News::Shut { service: service.clone(), pause });
        }
        shut.into_iter().for_each(|news| self.tell(news));
    }
}
