//! Getting back what the dead and the late have left.
//!
//! The kernel is asked outside the lock; inside it only slots are changed. A lease of a process that has ended is free at once:
//! its connections are closed, unless another process does one of its tasks still (`steal.rs`). What its rates have counted
//! lingers, as if counted at this moment. A lease that expired while its holder may live goes into quarantine, and out of it when
//! nothing can be running on it any more. A grant that was not fetched is freed at once: nothing was started with it.

use crate::capacity::Capacity;
use crate::clock::nanoseconds;
use crate::error::Error;
use crate::failpoint::step;
use crate::join;
use crate::layout::{LeaseState, ProcessKey, WaiterState};
use crate::liveness::Liveness;
use crate::queue;
use crate::resources;
use crate::table::{Held, Relaxed};
use crate::waiting::SEARCH_EVERY;
use std::collections::HashSet;

/// What a search brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Processes that were found dead.
    pub dead: u32,
    /// Leases freed: of dead processes, or at the end of their quarantine.
    pub freed: u32,
    /// Leases that expired and are in quarantine now.
    pub quarantined: u32,
    /// Demands of dead processes.
    pub withdrawn: u32,
    /// Claims of dead claimants, on offer again.
    pub reverted: u32,
}

impl Capacity {
    /// Looks for dead processes and expired leases, and puts their capacity where it belongs. Call it from a timer, four times a
    /// second or so; waiters do it on their own.
    pub fn reclaim(&self) -> Result<Reclaimed, Error> {
        self.mapping.header.searched_at.store(self.clock.now(), Relaxed);
        let judged: Vec<_> = self.judge().taken().map(|key| (key, self.judge().judge(key))).collect();
        let of = |wanted| judged.iter().filter(move |(_, found)| *found == wanted).map(|(key, _)| *key);
        let dead: Vec<ProcessKey> = of(Liveness::Dead).collect();
        let closed: Vec<ProcessKey> = of(Liveness::Closed).collect();
        let reverted = self.revert_claims(&dead);
        let (survived, dead) = self.part_by_claimants(dead);
        let due = self.clock.now() >= self.mapping.header.derived.next_due.load(Relaxed);
        if dead.is_empty() && survived.is_empty() && closed.is_empty() && !due {
            self.pass_moment_if_due()?;
            return Ok(Reclaimed { reverted, ..Reclaimed::default() });
        }
        let mut held = self.lock()?;
        let mut reclaimed = sweep(&mut held, &dead, &[&closed[..], &survived].concat());
        vacate_closed(&held, &closed);
        reclaimed.reverted = reverted;
        Ok(reclaimed)
    }

    /// Searches, unless another process has just done so. Answers whether it did.
    pub(crate) fn search_if_due(&self) -> Result<bool, Error> {
        let now = self.clock.now();
        let last = self.mapping.header.searched_at.load(Relaxed);
        if now.saturating_sub(last) < nanoseconds(SEARCH_EVERY) {
            return Ok(false);
        }
        if self.mapping.header.searched_at.compare_exchange(last, now, Relaxed, Relaxed).is_err() {
            return Ok(false);
        }
        self.reclaim().map(|_| true)
    }
}

/// Frees what the dead left, puts what expired into quarantine, ends quarantines that are over, and withdraws demands
/// whose answers will not be fetched: those of the dead, and those of processes that have `parted` from the table but live.
pub(crate) fn sweep(held: &mut Held<'_>, dead: &[ProcessKey], parted: &[ProcessKey]) -> Reclaimed {
    let mut reclaimed = Reclaimed { dead: dead.len() as u32, ..Reclaimed::default() };
    let dead: HashSet<ProcessKey> = dead.iter().copied().collect();
    reclaimed.freed += take_back_unfetched(held);
    let mut next_due = u64::MAX;
    for index in held.leases_out() {
        next_due = next_due.min(sweep_lease(held, index, &dead, &mut reclaimed));
    }
    held.table().header.derived.next_due.store(next_due, Relaxed);
    for index in 0..held.table().header.derived.waiters_top.load(Relaxed) {
        let owner = ProcessKey::unpack(held.waiter(index).owner.load(Relaxed));
        let abandoned = is_gone(held, owner, &dead) || parted.contains(&owner);
        if abandoned && held.waiter(index).state() != WaiterState::Free {
            queue::drop_waiter(held, index);
            reclaimed.withdrawn += 1;
            step();
        }
    }
    for key in dead {
        resources::forget_dead(held, key);
        step();
        join::vacate(held.table(), key);
    }
    reclaimed
}

/// Frees grants that ran out before they were fetched. Nothing was started with them, so there is nothing to wait for: a process
/// that is stopped while it waits must not keep for ever what it was given meanwhile. It finds its ticket lapsed.
fn take_back_unfetched(held: &mut Held<'_>) -> u32 {
    let mut freed = 0;
    for index in 0..held.table().header.derived.waiters_top.load(Relaxed) {
        if let Some(lease) = queue::unfetched(held, index).filter(|lease| held.is_over(*lease)) {
            held.free(lease);
            held.count(|counters| &counters.reclaimed);
            freed += 1;
            step();
        }
    }
    freed
}

/// Answers with when this lease wants to be looked at again.
fn sweep_lease(held: &mut Held<'_>, index: u32, dead: &HashSet<ProcessKey>, found: &mut Reclaimed) -> u64 {
    let lease = held.lease(index);
    let owner = ProcessKey::unpack(lease.owner.load(Relaxed));
    let in_quarantine = lease.state() == LeaseState::Quarantined;
    let due = if in_quarantine { lease.quarantine_ends() } else { lease.expires_at.load(Relaxed) };
    if is_gone(held, owner, dead) || (in_quarantine && held.now >= due) {
        held.end(index);
        held.count(|counters| &counters.reclaimed);
        found.freed += 1;
        return u64::MAX;
    }
    if held.now < due {
        return due;
    }
    held.quarantine(index);
    found.quarantined += 1;
    lease.quarantine_ends()
}

fn is_gone(held: &Held<'_>, owner: ProcessKey, dead: &HashSet<ProcessKey>) -> bool {
    dead.contains(&owner) || !held.is_current(owner)
}

/// A process that has let go of the table needs its slot only while leases of its are out.
fn vacate_closed(held: &Held<'_>, closed: &[ProcessKey]) {
    let busy: HashSet<u64> = held.leases_out().map(|index| held.lease(index).owner.load(Relaxed)).collect();
    for key in closed.iter().filter(|key| !busy.contains(&key.pack())) {
        resources::forget_dead(held, *key);
        join::vacate(held.table(), *key);
    }
}
