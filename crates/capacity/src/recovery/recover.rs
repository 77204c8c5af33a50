//! Computing everything that can be computed from the slots, after a process died while it held the tables.
//!
//! Idempotent: a process that dies in here leaves the dirty word set, and the next holder begins again. Afterwards counters,
//! lists and hints say exactly what the slots say.

use crate::failpoint::step;
use crate::layout::{LeaseState, NONE, WaiterState};
use crate::table::{Held, Relaxed, add};
use std::collections::HashMap;

/// Brings counters, lists and hints in line with the slots.
pub fn recover(held: &mut Held<'_>) {
    held.finish_settlement();
    clear_counters(held);
    step();
    recount_leases(held);
    recount_lingering(held);
    step();
    finish_hand_overs(held);
    step();
    rebuild_queue(held);
    step();
    let header = &held.table().header;
    header.counters.recoveries.fetch_add(1, Relaxed);
    // The process that died may have changed a limit and not said so. Once too often is harmless.
    header.limits_generation.fetch_add(1, Relaxed);
    held.note_all_freed();
}

fn clear_counters(held: &Held<'_>) {
    for index in 0..held.resources_top() as u32 {
        let resource = held.resource(index);
        for counter in [&resource.in_use, &resource.quarantined, &resource.waiting] {
            counter.store(0, Relaxed);
        }
    }
    for process in &held.table().processes {
        process.waiting.store(0, Relaxed);
    }
}

fn recount_leases(held: &Held<'_>) {
    let derived = &held.table().header.derived;
    let (mut free, mut out) = (NONE, 0);
    // From the top down, so that the free list begins with the lowest slot.
    for index in (0..derived.leases_top.load(Relaxed)).rev() {
        let lease = held.lease(index);
        let state = lease.state();
        if state == LeaseState::Free {
            lease.next.store(free, Relaxed);
            free = index;
            continue;
        }
        out += 1;
        for (resource, amount) in lease.amounts.read().iter() {
            let slot = held.resource(resource);
            add(if state == LeaseState::Quarantined { &slot.quarantined } else { &slot.in_use }, amount);
        }
    }
    derived.leases_free.store(free, Relaxed);
    derived.leases_out.store(out, Relaxed);
    // Unknown is "now": the next look finds the true time.
    derived.next_due.store(0, Relaxed);
}

fn recount_lingering(held: &Held<'_>) {
    let derived = &held.table().header.derived;
    for index in 0..derived.resources_top.load(Relaxed) {
        let lingering = held.table().lingering(index).after(0);
        held.resource(index).lingering.store(lingering, Relaxed);
    }
    derived.next_moment.store(0, Relaxed);
}

/// A lease that was made for a ticket is that ticket's, also if its maker died before it could say so.
fn finish_hand_overs(held: &mut Held<'_>) {
    let made: HashMap<u64, u32> = held
        .leases_out()
        .map(|index| (held.lease(index).ticket.load(Relaxed), index))
        .filter(|(ticket, _)| *ticket != 0)
        .collect();
    for index in 0..held.table().header.derived.waiters_top.load(Relaxed) {
        let waiter = held.waiter(index);
        let lease = made.get(&waiter.ticket.load(Relaxed));
        if let (WaiterState::Waiting, Some(lease)) = (waiter.state(), lease) {
            crate::queue::answer(held, index, WaiterState::Granted, *lease);
        }
    }
}

fn rebuild_queue(held: &mut Held<'_>) {
    let derived = &held.table().header.derived;
    let mut free = NONE;
    let mut waiting = Vec::new();
    for index in (0..derived.waiters_top.load(Relaxed)).rev() {
        match held.waiter(index).state() {
            WaiterState::Free => {
                held.waiter(index).next.store(free, Relaxed);
                free = index;
            }
            WaiterState::Waiting => waiting.push((held.waiter(index).ticket.load(Relaxed), index)),
            // The process that should have told it and woken it may be the one that died.
            WaiterState::Granted | WaiterState::Refused => crate::queue::tell(held, index),
        }
    }
    derived.waiters_free.store(free, Relaxed);
    derived.queue_head.store(NONE, Relaxed);
    derived.queue_tail.store(NONE, Relaxed);
    derived.queue_length.store(0, Relaxed);
    waiting.sort_unstable();
    for (_, index) in waiting {
        crate::queue::append(held, index);
    }
}
