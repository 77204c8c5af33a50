//! Moments that no process brings about: amounts of a rate end, pauses end.
//!
//! A turn at the tables begins with what has passed before it, so that its caller meets the tables as they are at its time, and
//! waiting demands are served first. A process with demands in the queue sleeps no longer than until the next moment; the
//! others look at their intervals. One word says when it is, so no process scans for nothing.

use crate::capacity::Capacity;
use crate::error::Error;
use crate::failpoint::step;
use crate::queue;
use crate::table::{Held, Relaxed};
use std::time::Duration;

impl Capacity {
    /// How long this process may sleep before time itself may have freed what it waits for.
    pub(crate) fn until_next_moment(&self) -> Duration {
        if self.slot().waiting.load(Relaxed) == 0 {
            return Duration::MAX;
        }
        let next = self.mapping.header.derived.next_moment.load(Relaxed);
        Duration::from_nanos(next.saturating_sub(self.clock.now()))
    }

    /// Lets a moment that has come pass, if anybody waits. A turn does so by itself.
    pub(crate) fn pass_moment_if_due(&self) -> Result<(), Error> {
        let derived = &self.mapping.header.derived;
        let somebody_waits = derived.queue_length.load(Relaxed) != 0;
        if somebody_waits && self.clock.now() >= derived.next_moment.load(Relaxed) {
            drop(self.lock()?);
        }
        Ok(())
    }
}

impl Held<'_> {
    /// Remembers a moment.
    pub(crate) fn note_moment(&self, time: u64) {
        self.table().header.derived.next_moment.fetch_min(time, Relaxed);
    }

    /// Applies the moments that have passed before this turn, and serves demands because of them.
    pub(crate) fn pass_moments(&mut self) {
        let derived = &self.table().header.derived;
        if self.now < derived.next_moment.load(Relaxed) {
            return;
        }
        let next = (0..derived.resources_top.load(Relaxed)).map(|index| self.pass_for(index)).min();
        derived.next_moment.store(next.unwrap_or(u64::MAX), Relaxed);
        step();
        queue::dispatch(self);
        self.freed.clear();
        self.all_freed = false;
    }

    /// Answers with the next moment of this resource.
    fn pass_for(&mut self, index: u32) -> u64 {
        let slot = self.resource(index);
        let resumes_at = slot.paused_until.load(Relaxed);
        if slot.lingering.load(Relaxed) == 0 && resumes_at == 0 {
            return u64::MAX;
        }
        let buckets = self.table().lingering(index);
        while let Some(amount) = buckets.lapse(self.now) {
            step();
            slot.lingering.store(slot.lingering.load(Relaxed) - amount, Relaxed);
        }
        self.note_freed(index);
        let next_end = buckets.next_end(self.now);
        if self.now < resumes_at { next_end.min(resumes_at) } else { next_end }
    }
}
