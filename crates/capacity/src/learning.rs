//! What processes learn of a resource together: a few words that the reporting process gives a meaning, and the limit that
//! follows from them.
//!
//! A sample is one step under the lock: the words as they are and how much is under way go in, new words and a limit come
//! out, and every user of the resource is told. So what one process learns holds for all from that moment, and two
//! that learn at once do so one after the other. How to learn is the callers' business (`govern`).
//!
//! Calls that are made while nothing is known of a resource need no lease of it; they are counted apart, without the lock,
//! so that the first sample knows how much was under way on the whole machine.

use crate::capacity::Capacity;
use crate::error::Error;
use crate::failpoint::step;
use crate::layout::{LearnedSlot, PROCESSES, WORDS};
use crate::resources::{ResourceId, is_user};
use crate::table::{Held, Relaxed};
use std::sync::atomic::Ordering;

/// What is known, as words. All zero: nothing.
pub type Words = [u64; WORDS];

/// What is known of a resource after a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLimit {
    /// What is known now.
    pub words: Words,
    /// The limit in force.
    pub limit: u32,
}

impl Capacity {
    /// Counts a call that is made without a lease. Needs no lock.
    pub fn call_started(&self, id: ResourceId) {
        self.unleased(id).fetch_add(1, Relaxed);
    }

    /// Such a call has ended.
    pub fn call_ended(&self, id: ResourceId) {
        // A count that was cleared meanwhile stays so.
        let _ = self.unleased(id).fetch_update(Relaxed, Relaxed, |count| count.checked_sub(1));
    }

    fn unleased(&self, id: ResourceId) -> &std::sync::atomic::AtomicU32 {
        &self.learned_slot(id).unleased[self.own.index as usize]
    }

    fn learned_slot(&self, id: ResourceId) -> &LearnedSlot {
        self.mapping.learned(id.index())
    }

    /// Learns something of a resource: `sample` is given what is known and how many calls are under way, changes the former
    /// and answers with the limit that follows; `None` leaves it. A limit that a person has set stays.
    pub fn report_sample(
        &self,
        id: ResourceId,
        origin: &str,
        sample: impl FnOnce(&mut Words, u64) -> Option<u32>,
    ) -> Result<KnownLimit, Error> {
        let mut held = self.lock()?;
        let slot = held.known(id)?;
        let (before, by_hand) = (held.learned_words(id.index()), slot.by_hand.load(Relaxed) != 0);
        let mut words = before;
        let under_way = held.under_way(id.index());
        let wanted = sample(&mut words, under_way).filter(|_| !by_hand);
        let slot = self.mapping.resource(id.index());
        let changed = wanted.filter(|limit| *limit != slot.limit.load(Relaxed));
        if words != before {
            held.write_learned(id.index(), &words);
        }
        if let Some(limit) = changed {
            held.write_limit(id.index(), limit, origin);
        }
        let known = KnownLimit { words, limit: slot.limit.load(Relaxed) };
        // Only a limit concerns others; what else is known they find when they learn themselves.
        if changed.is_some() {
            step();
            self.mapping.header.limits_generation.fetch_add(1, Ordering::Release);
            drop(held);
            self.ring_users(slot);
        }
        Ok(known)
    }

    /// Forgets what was learned of a resource, by its name: it has this limit again, also where a person had set another one.
    /// Answers with the limit before, or `None` for an unknown name.
    pub fn unlearn(&self, name: &str, limit: u32, origin: &str) -> Result<Option<u32>, Error> {
        let mut held = self.lock()?;
        let Some(index) = held.find_resource(name) else { return Ok(None) };
        let slot = held.resource(index);
        let before = slot.limit.load(Relaxed);
        held.write_learned(index, &[0; WORDS]);
        held.write_limit(index, limit, origin);
        slot.by_hand.store(0, Relaxed);
        step();
        self.mapping.header.limits_generation.fetch_add(1, Ordering::Release);
        drop(held);
        self.ring_users(slot);
        Ok(Some(before))
    }

    /// What is known of a resource, and the limit in force.
    pub fn learned(&self, id: ResourceId) -> Result<KnownLimit, Error> {
        let held = self.lock()?;
        let limit = held.known(id)?.limit.load(Relaxed);
        Ok(KnownLimit { words: held.learned_words(id.index()), limit })
    }
}

impl Held<'_> {
    /// What is known of a resource.
    fn learned_words(&self, index: u32) -> Words {
        let slot = self.table().learned(index);
        let copy = &slot.copies[slot.which.load(Ordering::Acquire) as usize % 2];
        std::array::from_fn(|word| copy[word].load(Relaxed))
    }

    /// Makes this what is known. A process that dies on the way has changed nothing.
    fn write_learned(&self, index: u32, words: &Words) {
        let slot = self.table().learned(index);
        let next = (slot.which.load(Relaxed) + 1) % 2;
        for (cell, word) in slot.copies[next as usize].iter().zip(words) {
            cell.store(*word, Relaxed);
        }
        step();
        slot.which.store(next, Ordering::Release);
        step();
    }

    /// A new resource: nothing is known of it, and nothing under way.
    pub(crate) fn forget_learned(&self, index: u32) {
        self.write_learned(index, &[0; WORDS]);
        let slot = self.table().learned(index);
        slot.unleased.iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Calls under way, with leases and without.
    fn under_way(&self, index: u32) -> u64 {
        let slot = self.resource(index);
        let counts = &self.table().learned(index).unleased;
        let unleased = (0..PROCESSES).filter(|process| is_user(slot, *process));
        let unleased: u64 = unleased.map(|process| u64::from(counts[process].load(Relaxed))).sum();
        u64::from(slot.in_use.load(Relaxed)) + u64::from(slot.quarantined.load(Relaxed)) + unleased
    }
}
