//! What this process holds of what all processes of a machine share.
//!
//! The governor grants from what its process holds, and says what it lacks; its caller asks the machine for that and
//! tells it the answer. Fewer than are in use may be held for a while: then nothing new starts, and nothing is stopped.

use crate::governor::Governor;
use crate::spec::ResourceId;
use convoke_model::Timestamp;

/// What more would let a demand start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lack {
    /// Of what.
    pub resource: ResourceId,
    /// How much more could be used at once.
    pub count: u64,
}

impl Governor {
    /// Says how much of a resource this process holds; `None` if it is not shared.
    pub fn set_share(&mut self, resource: ResourceId, held: Option<u64>) {
        let resource = &mut self.resources[resource.index()];
        resource.share = held;
        resource.refresh();
    }

    /// How much of its share the process does not use now and could give away.
    pub fn spare(&mut self, resource: ResourceId, now: Timestamp) -> u64 {
        let now = self.tick(now);
        let resource = &mut self.resources[resource.index()];
        let used = resource.meter.used(now).saturating_add(resource.held_back);
        resource.share.map_or(0, |share| share.saturating_sub(used))
    }

    /// What waiting demands could use at once beyond what the process holds.
    pub fn lacks(&mut self, now: Timestamp) -> Vec<Lack> {
        let now = self.tick(now);
        let mut wanted: Vec<Lack> = Vec::new();
        for at in 0..self.lanes.busy().len() {
            let lane = self.lanes.busy()[at];
            self.add_lacks(lane, now, &mut wanted);
        }
        wanted.sort_unstable_by_key(|lack| lack.resource);
        wanted.into_iter().filter_map(|want| self.bounded(want, now)).collect()
    }

    /// What a lane wants, as far as nothing but its share keeps it from starting.
    fn add_lacks(&mut self, lane: u32, now: u64, wanted: &mut Vec<Lack>) {
        let more = self.could_start(lane, now);
        let needs = self.lanes[lane].needs.iter();
        for need in needs.filter(|need| self.resources[need.resource.index()].share.is_some()) {
            let count = need.count.saturating_mul(more);
            match wanted.iter_mut().find(|lack| lack.resource == need.resource) {
                Some(lack) => lack.count = lack.count.saturating_add(count),
                None => wanted.push(Lack { resource: need.resource, count }),
            }
        }
    }

    /// How many of a lane could start if the process held all that is shared.
    fn could_start(&mut self, lane: u32, now: u64) -> u64 {
        let mut more = self.lanes[lane].len() as u64;
        for at in 0..self.lanes[lane].needs.len() {
            let need = self.lanes[lane].needs[at];
            let kept = self.kept_from(lane, at);
            let resource = &mut self.resources[need.resource.index()];
            let room = resource.room_beyond_share(now).saturating_sub(kept);
            more = more.min(room.checked_div(need.count).unwrap_or(more));
        }
        more
    }

    fn bounded(&mut self, want: Lack, now: u64) -> Option<Lack> {
        let resource = &mut self.resources[want.resource.index()];
        let used = resource.meter.used(now);
        let share = resource.share?;
        let useful = used.saturating_add(want.count).min(resource.beyond_share());
        let count = useful.saturating_sub(share.max(used));
        (count > 0).then_some(Lack { count, ..want })
    }
}
