//! Compares everything derived with the slots it is derived from.

use crate::Capacity;
use crate::layout::{LeaseState, NONE, WaiterState};
use crate::queue::queued;
use crate::table::{Held, Relaxed};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU32;

/// Panics unless counters, lists and hints say exactly what the slots say.
pub fn audit(capacity: &Capacity) {
    let held = capacity.lock().expect("the tables can be had");
    assert_eq!(held.table().header.settlement.decided.load(Relaxed), 0, "a settlement is half done");
    audit_counters(&held);
    audit_leases(&held);
    audit_queue(&held);
}

fn audit_counters(held: &Held<'_>) {
    let mut sums: BTreeMap<u32, (u32, u32, u32)> = BTreeMap::new();
    for index in held.leases_out() {
        let lease = held.lease(index);
        for (resource, amount) in lease.amounts.read().iter() {
            let sum = sums.entry(resource).or_default();
            *(if lease.state() == LeaseState::Quarantined { &mut sum.1 } else { &mut sum.0 }) += amount;
        }
    }
    for index in queued(held) {
        held.waiter(index)
            .amounts
            .read()
            .iter()
            .for_each(|(resource, _)| sums.entry(resource).or_default().2 += 1);
    }
    for index in 0..held.resources_top() as u32 {
        let resource = held.resource(index);
        let counted =
            [&resource.in_use, &resource.quarantined, &resource.waiting].map(|count| count.load(Relaxed));
        let (in_use, quarantined, waiting) = sums.get(&index).copied().unwrap_or_default();
        assert_eq!(counted, [in_use, quarantined, waiting], "resource {index}: in use, quarantined, waiting");
        audit_moments(held, index);
    }
}

fn audit_moments(held: &Held<'_>, index: u32) {
    let (slot, buckets) = (held.resource(index), held.table().lingering(index));
    assert_eq!(slot.lingering.load(Relaxed), buckets.after(0), "resource {index}: lingering");
    assert_eq!(buckets.after(0), buckets.after(held.now), "resource {index}: what has ended counts still");
    let resumes_at = Some(slot.paused_until.load(Relaxed)).filter(|resumes_at| *resumes_at > held.now);
    let next = buckets.next_end(0).min(resumes_at.unwrap_or(u64::MAX));
    let noted = held.table().header.derived.next_moment.load(Relaxed);
    assert!(noted <= next, "nobody would look at resource {index} in time");
}

fn audit_leases(held: &Held<'_>) {
    let derived = &held.table().header.derived;
    let out: BTreeSet<u32> = held.leases_out().collect();
    assert_eq!(out.len(), derived.leases_out.load(Relaxed) as usize);
    let free = listed(&derived.leases_free, |index| &held.lease(index).next);
    assert!(free.is_disjoint(&out), "a lease that is out is in the free list");
    assert_eq!(free.len() + out.len(), derived.leases_top.load(Relaxed) as usize, "a lease slot leaked");
    for index in &out {
        let lease = held.lease(*index);
        let due = match lease.state() {
            LeaseState::Quarantined => lease.quarantine_ends(),
            _ => lease.expires_at.load(Relaxed),
        };
        assert!(derived.next_due.load(Relaxed) <= due, "nobody would look at lease {index} in time");
    }
    let tokens: BTreeSet<u64> = out.iter().map(|index| held.lease(*index).token.load(Relaxed)).collect();
    assert_eq!(tokens.len(), out.len(), "two leases have one token");
}

fn audit_queue(held: &Held<'_>) {
    let derived = &held.table().header.derived;
    let all = 0..derived.waiters_top.load(Relaxed);
    let waiting: BTreeSet<u32> =
        all.clone().filter(|i| held.waiter(*i).state() == WaiterState::Waiting).collect();
    let order: Vec<u32> = queued(held).collect();
    assert_eq!(order.iter().copied().collect::<BTreeSet<u32>>(), waiting);
    assert!(
        order.is_sorted_by_key(|index| held.waiter(*index).ticket.load(Relaxed)),
        "not first come first served"
    );
    assert_eq!(order.last().copied().unwrap_or(NONE), derived.queue_tail.load(Relaxed));
    assert_eq!(order.len(), derived.queue_length.load(Relaxed) as usize);
    for process in 0..crate::PROCESSES as u32 {
        let of = |index: &&u32| held.waiter(**index).owner.load(Relaxed) as u32 == process;
        let count = order.iter().filter(of).count();
        assert_eq!(
            count,
            held.process(process).waiting.load(Relaxed) as usize,
            "waiters of process {process}"
        );
    }
    let free = listed(&derived.waiters_free, |index| &held.waiter(index).next);
    let unused: BTreeSet<u32> = all.filter(|i| held.waiter(*i).state() == WaiterState::Free).collect();
    assert_eq!(free, unused, "a place in the queue leaked");
}

fn listed<'a>(first: &AtomicU32, next: impl Fn(u32) -> &'a AtomicU32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut index = first.load(Relaxed);
    while index != NONE {
        assert!(found.insert(index), "a list runs in circles");
        index = next(index).load(Relaxed);
    }
    found
}
