//! Back-pressure and crowds: what a process asks about a resource before it goes on, without the lock.
//!
//! A provider that said "later" pauses the resource for all processes of the machine. A resource is crowded when what this
//! process gives back would go to another process, or to no process; only then is it worth the way through the table.

use crate::capacity::Capacity;
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::failpoint::step;
use crate::layout::ResourceSlot;
use crate::leases::LONGEST_TTL;
use crate::resources::ResourceId;
use crate::table::Relaxed;
use std::sync::atomic::Ordering;

impl Capacity {
    /// Pauses a resource for all processes until this moment ([`now`](Self::now) and later times, in nanoseconds): no demand that
    /// names it is granted before. Later only: an earlier moment than the one in force changes nothing. What is out stays out.
    pub fn pause(&self, id: ResourceId, until: u64) -> Result<(), Error> {
        let longest = self.clock.now().saturating_add(nanoseconds(LONGEST_TTL));
        if until > longest {
            return Err(Error::invalid(format!("a resource pauses for {LONGEST_TTL:?} at most")));
        }
        let mut held = self.lock()?;
        held.known(id)?.paused_until.fetch_max(until, Ordering::Release);
        step();
        held.note_moment(until);
        held.note_spent();
        Ok(())
    }

    /// The moment at which a resource resumes; `None` if it does not pause. Needs no lock.
    pub fn paused_until(&self, id: ResourceId) -> Option<u64> {
        let until = self.peek(id)?.paused_until.load(Ordering::Acquire);
        (self.clock.now() < until).then_some(until)
    }

    /// Whether a lease of this resource had better be given back than used for the next piece of work: another process waits,
    /// more is out than the limit allows (it was lowered), or the resource pauses. Needs no lock and costs a few loads.
    ///
    /// May say yes when the other process waits for something else. May say no for the microseconds in which a demand enters the
    /// queue, or for as long as a process is stopped inside the lock, when nothing could be granted anyway.
    pub fn crowded(&self, id: ResourceId) -> bool {
        let Some(slot) = self.peek(id) else { return true };
        let derived = &self.mapping.header.derived;
        let others_wait = slot.waiting.load(Relaxed) != 0
            && derived.queue_length.load(Relaxed) > self.slot().waiting.load(Relaxed);
        let over = slot.out() > u64::from(slot.limit.load(Relaxed));
        let resumes_at = slot.paused_until.load(Relaxed);
        others_wait || over || (resumes_at != 0 && self.clock.now() < resumes_at)
    }

    /// The slot of a resource, if it is that resource's still.
    fn peek(&self, id: ResourceId) -> Option<&ResourceSlot> {
        let slot = self.mapping.resource(id.index());
        (slot.is_defined() && slot.generation.load(Relaxed) == id.generation()).then_some(slot)
    }
}
