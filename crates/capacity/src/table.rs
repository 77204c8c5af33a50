//! The tables while they are held: leases made, changed and freed, counters kept with them.
//!
//! Order inside each change: write the fields, commit the slot's state, then bring the counters in line. A process killed at
//! any point in between leaves a slot that is wholly before or wholly after the change, and the dirty word set.

use crate::capacity::Capacity;
use crate::cells::Vector;
use crate::error::Error;
use crate::extents::Table;
use crate::failpoint::step;
use crate::layout::{
    LEASES, LeaseSlot, LeaseState, NONE, ProcessKey, ProcessSlot, ResourceSlot, Standing, WaiterSlot,
};
use crate::mapping::Mapping;
use crate::{queue, recover, signals};
use std::sync::atomic::{AtomicU32, Ordering, fence};

pub use Ordering::Relaxed;

/// The tables, held by this process until it is dropped.
pub struct Held<'a> {
    capacity: &'a Capacity,
    /// When this turn was asked for: from before the wait for the lock, so that what is counted from it ends early, not late.
    pub now: u64,
    /// Resources of which there may be more now, while demands wait for them.
    pub(crate) freed: Vec<u32>,
    /// Any waiting demand may be able to go now, whatever for.
    pub(crate) all_freed: bool,
    /// Waiters that got their answer, to be woken once the tables are let go.
    pub(crate) answered: Vec<u32>,
}

/// What a lease is made of.
pub struct Terms {
    /// The process that gets it.
    pub owner: ProcessKey,
    /// What it holds.
    pub amounts: Vector,
    /// How long it lasts without a heartbeat.
    pub ttl: u64,
    /// How long a call made with it may go on after it expired.
    pub hold_after: u64,
    /// The ticket it answers, or zero.
    pub ticket: u64,
}

impl<'a> Held<'a> {
    /// Begins a turn. The lock is held already.
    pub(crate) fn begin(capacity: &'a Capacity, now: u64) -> Self {
        let mut held = Self { capacity, now, freed: Vec::new(), all_freed: false, answered: Vec::new() };
        let words = &capacity.mapping.header.lock;
        words.turns.fetch_add(1, Relaxed);
        let died_inside = words.dirty.load(Relaxed) != 0;
        words.dirty.store(1, Relaxed);
        // No change may come before this store: a kill cuts the program between two instructions, and a reader without
        // the lock goes by it.
        fence(Ordering::Release);
        step();
        if died_inside {
            recover::recover(&mut held);
        }
        held.pass_moments();
        held
    }

    /// The mapped file.
    pub fn table(&self) -> &'a Mapping {
        &self.capacity.mapping
    }

    /// This process.
    pub fn own(&self) -> ProcessKey {
        self.capacity.own
    }

    /// A resource's slot.
    pub fn resource(&self, index: u32) -> &'a ResourceSlot {
        self.table().resource(index)
    }

    /// A lease's slot.
    pub fn lease(&self, index: u32) -> &'a LeaseSlot {
        self.table().lease(index)
    }

    /// A waiter's slot.
    pub fn waiter(&self, index: u32) -> &'a WaiterSlot {
        self.table().waiter(index)
    }

    /// A process's slot.
    pub fn process(&self, index: u32) -> &'a ProcessSlot {
        &self.table().processes[index as usize]
    }

    /// The resource of which there is not enough, if any.
    pub fn lacking(&self, amounts: &Vector) -> Option<u32> {
        amounts.iter().find(|(index, amount)| self.lacks(*index, *amount)).map(|(index, _)| index)
    }

    /// Whether there is less of a resource than this.
    pub fn lacks(&self, index: u32, amount: u32) -> bool {
        self.resource(index).free(self.now) < amount
    }

    /// Makes a lease. What it takes must be free; callers look first, in the same turn.
    pub fn grant(&mut self, terms: &Terms) -> Result<u32, Error> {
        let index = self.take_lease_slot()?;
        let lease = self.lease(index);
        let token = self.table().header.last_token.fetch_add(1, Relaxed) + 1;
        lease.token.store(token, Relaxed);
        lease.owner.store(terms.owner.pack(), Relaxed);
        lease.granted_at.store(self.now, Relaxed);
        lease.ttl.store(terms.ttl, Relaxed);
        lease.expires_at.store(self.now.saturating_add(terms.ttl), Relaxed);
        lease.hold_after.store(terms.hold_after, Relaxed);
        lease.ticket.store(terms.ticket, Relaxed);
        lease.amounts.write(&terms.amounts);
        step();
        lease.commit(LeaseState::Held);
        step();
        self.count_grant(terms);
        Ok(index)
    }

    fn count_grant(&mut self, terms: &Terms) {
        let owner = terms.owner.pack();
        for (index, amount) in terms.amounts.iter() {
            let resource = self.resource(index);
            add(&resource.in_use, amount);
            let again = resource.last.load(Relaxed) == owner;
            resource
                .streak
                .store(if again { resource.streak.load(Relaxed).saturating_add(1) } else { 1 }, Relaxed);
            resource.last.store(owner, Relaxed);
            step();
            if resource.is_rate() {
                self.note_spent();
            }
        }
        let header = &self.table().header;
        header.counters.grants.fetch_add(1, Relaxed);
        self.note_due(self.now.saturating_add(terms.ttl));
    }

    /// Frees a lease: its capacity can be granted again in this very turn.
    pub fn free(&mut self, index: u32) {
        let lease = self.lease(index);
        let (state, amounts) = (lease.state(), lease.amounts.read());
        lease.commit(LeaseState::Free);
        step();
        for (resource, amount) in amounts.iter() {
            let slot = self.resource(resource);
            take(if state == LeaseState::Quarantined { &slot.quarantined } else { &slot.in_use }, amount);
            step();
            self.note_freed(resource);
        }
        let derived = &self.table().header.derived;
        let free = derived.leases_free.load(Relaxed);
        let was_full = free == NONE && derived.leases_top.load(Relaxed) == self.table().slots(Table::Leases);
        lease.next.store(free, Relaxed);
        derived.leases_free.store(index, Relaxed);
        step();
        if was_full {
            // A demand may wait for nothing but a slot.
            self.note_all_freed();
        }
        take(&derived.leases_out, 1);
    }

    /// Puts an expired lease into quarantine: it can no longer be used, and still counts.
    pub fn quarantine(&mut self, index: u32) {
        let lease = self.lease(index);
        lease.commit(LeaseState::Quarantined);
        step();
        for (resource, amount) in lease.amounts.read().iter() {
            let slot = self.resource(resource);
            take(&slot.in_use, amount);
            step();
            add(&slot.quarantined, amount);
        }
        self.table().header.counters.quarantined.fetch_add(1, Relaxed);
        self.note_due(lease.quarantine_ends());
    }

    /// Remembers that there is more of a resource, if anybody cares.
    pub fn note_freed(&mut self, resource: u32) {
        if self.resource(resource).waiting.load(Relaxed) != 0 {
            self.freed.push(resource);
        }
    }

    /// Remembers to look at the whole queue.
    pub fn note_all_freed(&mut self) {
        self.all_freed = true;
    }

    /// Remembers that there is less of something that only time brings back: what was kept for demands that now wait for time is
    /// kept no more.
    pub fn note_spent(&mut self) {
        self.all_freed |= self.table().header.derived.queue_length.load(Relaxed) != 0;
    }

    /// Remembers when there will be something to look at.
    pub fn note_due(&self, time: u64) {
        self.table().header.derived.next_due.fetch_min(time, Relaxed);
    }

    fn take_lease_slot(&mut self) -> Result<u32, Error> {
        let derived = &self.table().header.derived;
        let free = derived.leases_free.load(Relaxed);
        let index = if free != NONE {
            derived.leases_free.store(self.lease(free).next.load(Relaxed), Relaxed);
            free
        } else {
            let top = derived.leases_top.load(Relaxed);
            if top as usize == LEASES {
                return Err(Error::Full { table: "leases", size: LEASES });
            }
            self.table().make_room(Table::Leases, top)?;
            derived.leases_top.store(top + 1, Relaxed);
            top
        };
        step();
        add(&derived.leases_out, 1);
        Ok(index)
    }

    /// Every lease that is out.
    pub fn leases_out(&self) -> impl Iterator<Item = u32> + use<'a> {
        let table = self.table();
        (0..table.header.derived.leases_top.load(Relaxed))
            .filter(|index| table.lease(*index).state() != LeaseState::Free)
    }

    /// Whether a process is in its slot still. Says nothing about whether it lives.
    pub fn is_current(&self, key: ProcessKey) -> bool {
        let (generation, standing) = self.process(key.index).standing();
        generation == key.generation && standing != Standing::Free
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // After a panic the tables may be half changed: the next holder computes them anew.
        if !std::thread::panicking() {
            queue::dispatch(self);
            self.table().header.lock.dirty.store(0, Ordering::Release);
        }
        step();
        self.capacity.unlock();
        for index in self.answered.drain(..) {
            wake(&self.capacity.mapping, index);
        }
    }
}

/// Wakes the waiter for this ticket's answer: the thread that sleeps on it, or its process's listener.
fn wake(table: &Mapping, waiter: u32) {
    let slot = table.waiter(waiter);
    let process = &table.processes[ProcessKey::unpack(slot.owner.load(Relaxed)).index as usize];
    signals::wake(&slot.signal, &slot.sleeping);
    ring(process);
}

/// Tells a process that something it may wait for has happened.
pub fn ring(process: &ProcessSlot) {
    signals::ring(&process.bell, &process.listening);
}

/// Raises a counter. It counts slots of a fixed table or units of a limit, so it cannot overflow; if it did, that is a bug.
pub fn add(counter: &AtomicU32, amount: u32) {
    let sum = counter.load(Relaxed).checked_add(amount).expect("a counter of the table overflowed");
    counter.store(sum, Relaxed);
}

/// Lowers a counter. Below zero is a bug, and is never clamped: the panic leaves the tables dirty, and they are recounted.
pub fn take(counter: &AtomicU32, amount: u32) {
    let rest = counter.load(Relaxed).checked_sub(amount).expect("a counter of the table fell below zero");
    counter.store(rest, Relaxed);
}
