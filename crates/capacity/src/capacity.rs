//! One process's handle to the shared table: opening, leaving, and what both need.

use crate::clock::{Clock, MachineClock, nanoseconds};
use crate::error::Error;
use crate::join;
use crate::kernel::Facts;
use crate::layout::{LeaseState, ProcessKey, ProcessSlot, Standing};
use crate::liveness::Judge;
use crate::mapping::Mapping;
use crate::table::{Held, Relaxed};
use crate::{queue, resources};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How a process describes itself. Its process id and start time come from the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// What it does, for people. Up to 48 bytes are kept.
    pub label: String,
    /// The run it drives, if it drives one. Up to 48 bytes are kept.
    pub run: String,
    /// Its working directory, as a key that its owner chooses.
    pub working_dir: u64,
}

/// How a process takes part.
#[derive(Debug, Clone)]
pub struct Options {
    /// After this time without progress the holder of the table is named as stuck.
    pub stuck_after: Duration,
    /// The absolute deadline of every call that this process makes. It must enforce that itself.
    pub max_call_time: Duration,
    /// Added to it before quarantined capacity is free again.
    pub margin: Duration,
    /// Where time comes from.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stuck_after: Duration::from_secs(1),
            max_call_time: Duration::from_secs(600),
            margin: Duration::from_secs(10),
            clock: Clock::Machine,
        }
    }
}

/// A process's part in the capacity of its machine.
///
/// Any thread may use it. Every method that changes something may wait for other processes, for microseconds as a rule, and for
/// [`Options::stuck_after`] at most: callers that must never wait use a thread of their own. A child made by `fork` alone must
/// not use it; one that executes another program has not got it.
///
/// Dropping it leaves the table: demands are withdrawn, offers taken back, leases that nothing was started with are freed, and
/// consumed ones are put into quarantine until this process ends or their calls must be over.
#[derive(Debug)]
pub struct Capacity {
    pub(crate) mapping: Mapping,
    pub(crate) own: ProcessKey,
    pub(crate) facts: Facts,
    pub(crate) clock: MachineClock,
    pub(crate) options: Options,
    pub(crate) rescue: Mutex<()>,
}

impl Capacity {
    /// Takes part in the table at this path, which is made if there is none of this boot.
    pub fn open(path: &Path, identity: &Identity, options: Options) -> Result<Self, Error> {
        let clock = MachineClock::new(options.clock.clone());
        let facts = Facts::own(clock.offset());
        Self::open_as(path, identity, options, facts)
    }

    /// As [`open`](Self::open), for a process with these facts.
    pub(crate) fn open_as(
        path: &Path,
        identity: &Identity,
        options: Options,
        facts: Facts,
    ) -> Result<Self, Error> {
        let clock = MachineClock::new(options.clock.clone());
        let now = clock.now();
        let (mapping, own) =
            Mapping::open(path, options.stuck_after, |mapping| join::join(mapping, &facts, identity, now))?;
        let capacity = Self { mapping, own, facts, clock, options, rescue: Mutex::new(()) };
        capacity.clear_the_slot()?;
        Ok(capacity)
    }

    /// Clears what an earlier process in this slot, or any dead one, has left behind.
    fn clear_the_slot(&self) -> Result<(), Error> {
        let (survived, dead) = self.part_by_claimants(self.judge().dead());
        let mut held = self.lock()?;
        for index in 0..held.resources_top() as u32 {
            let users = &self.mapping.resource(index).users[self.own.index as usize / 64];
            users.fetch_and(!(1 << (self.own.index % 64)), Relaxed);
            self.mapping.learned(index).unleased[self.own.index as usize].store(0, Relaxed);
        }
        crate::reclaim::sweep(&mut held, &dead, &survived);
        Ok(())
    }

    /// Nanoseconds on the clock that all times of the table are on.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The process id that others see this process under.
    pub fn pid(&self) -> u32 {
        self.facts.pid
    }

    pub(crate) fn judge(&self) -> Judge<'_> {
        Judge { mapping: &self.mapping, own: Some(self.own), facts: &self.facts }
    }

    pub(crate) fn slot(&self) -> &ProcessSlot {
        &self.mapping.processes[self.own.index as usize]
    }

    pub(crate) fn hold_after(&self) -> u64 {
        nanoseconds(self.options.max_call_time).saturating_add(nanoseconds(self.options.margin))
    }

    fn leave(&self) -> Result<(), Error> {
        self.set_standing(Standing::Closed);
        self.leave_offers();
        let mut held = self.lock()?;
        for index in 0..self.mapping.header.derived.waiters_top.load(Relaxed) {
            if held.waiter(index).owner.load(Relaxed) == self.own.pack() {
                queue::drop_waiter(&mut held, index);
            }
        }
        let busy = held.leave_leases();
        resources::forget_dead(&held, self.own);
        if !busy {
            self.set_standing(Standing::Free);
        }
        Ok(())
    }

    fn set_standing(&self, standing: Standing) {
        let word = ProcessSlot::standing_word(self.own.generation, standing);
        self.slot().standing.store(word, Ordering::SeqCst);
    }
}

impl Held<'_> {
    /// How many resource slots were ever used.
    pub(crate) fn resources_top(&self) -> usize {
        self.table().header.derived.resources_top.load(Relaxed) as usize
    }

    /// Ends this process's leases. Answers whether calls may still be under way.
    fn leave_leases(&mut self) -> bool {
        let mut busy = false;
        for index in self.leases_out() {
            let lease = self.lease(index);
            if ProcessKey::unpack(lease.owner.load(Relaxed)) != self.own() {
                continue;
            }
            match lease.state() {
                LeaseState::Held => self.free(index),
                LeaseState::Consumed => {
                    lease.expires_at.fetch_min(self.now, Relaxed);
                    self.quarantine(index);
                    busy = true;
                }
                LeaseState::Quarantined => busy = true,
                LeaseState::Free => {}
            }
        }
        busy
    }
}

impl Drop for Capacity {
    fn drop(&mut self) {
        // A table that is stuck stays as it is: this process's byte lock ends with the file, and others clear up after it.
        let _ = self.leave();
    }
}

#[cfg(test)]
impl Capacity {
    /// Ends as a killed process would: without a word.
    pub(crate) fn die(self) {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped or used again, so the mapping is moved out exactly once.
        drop(unsafe { std::ptr::read(&raw const this.mapping) });
    }
}
