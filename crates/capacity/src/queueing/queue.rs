//! The queue of demands, and which is served next.
//!
//! Served in the order of their tickets, with three rules on top:
//!
//! - **Two in a row.** A process that had [`IN_A_ROW`] grants of a resource in a row lets another process that waits for it,
//!   and can go now, go first. Nothing is left idle for this: if no other process can go, it goes on.
//! - **Passing is bounded.** A demand that does not fit is passed by later ones that do, at most [`PASSES`] times; after that
//!   what it wants is kept for it, so it starts in finite time. While it lacks something that only time brings, because a
//!   resource pauses or a rate is used up, only what it lacks of rates is kept: slots would stand idle until then.
//! - **The process that frees capacity serves the queue.** The lease is made for the waiter in the same turn, so no demand can
//!   get in between, and only a waiter that has its answer is woken.
//!
//! SetAside true after every turn: no demand in the queue could be granted.

use crate::cells::Vector;
use crate::error::Error;
use crate::extents::Table;
use crate::failpoint::step;
use crate::layout::{LeaseState, NONE, ProcessKey, ProcessSlot, WAITERS, WaiterSlot, WaiterState};
use crate::signals;
use crate::table::{Held, Relaxed, Terms, add, take};

/// Grants in a row for one process while another waits for the same resource.
pub const IN_A_ROW: u32 = 2;
/// How often a demand that does not fit may be passed.
pub const PASSES: u32 = 8;

/// Puts a demand at the end of the queue. Answers with its slot and ticket.
pub fn enqueue(held: &mut Held<'_>, terms: &Terms) -> Result<(u32, u64), Error> {
    let index = take_slot(held)?;
    let ticket = held.table().header.last_ticket.fetch_add(1, Relaxed) + 1;
    let waiter = held.waiter(index);
    waiter.ticket.store(ticket, Relaxed);
    waiter.owner.store(terms.owner.pack(), Relaxed);
    waiter.since.store(held.now, Relaxed);
    waiter.ttl.store(terms.ttl, Relaxed);
    waiter.hold_after.store(terms.hold_after, Relaxed);
    waiter.lease.store(NONE, Relaxed);
    waiter.passed.store(0, Relaxed);
    waiter.signal.store(0, Relaxed);
    waiter.sleeping.store(0, Relaxed);
    waiter.amounts.write(&terms.amounts);
    step();
    waiter.commit(WaiterState::Waiting);
    step();
    append(held, index);
    held.freed.extend(terms.amounts.iter().map(|(resource, _)| resource));
    Ok((index, ticket))
}

/// Links a waiting slot to the end.
pub fn append(held: &mut Held<'_>, index: u32) {
    let derived = &held.table().header.derived;
    let waiter = held.waiter(index);
    let tail = derived.queue_tail.load(Relaxed);
    waiter.previous.store(tail, Relaxed);
    waiter.next.store(NONE, Relaxed);
    match tail {
        NONE => derived.queue_head.store(index, Relaxed),
        tail => held.waiter(tail).next.store(index, Relaxed),
    }
    step();
    derived.queue_tail.store(index, Relaxed);
    add(&derived.queue_length, 1);
    add(&owner_of(held, index).waiting, 1);
    for (resource, _) in waiter.amounts.read().iter() {
        add(&held.resource(resource).waiting, 1);
    }
}

/// Takes a waiting slot out of the queue. Others may have waited behind it for what it wanted.
pub fn unlink(held: &mut Held<'_>, index: u32) {
    let derived = &held.table().header.derived;
    let waiter = held.waiter(index);
    let (previous, next) = (waiter.previous.load(Relaxed), waiter.next.load(Relaxed));
    match previous {
        NONE => derived.queue_head.store(next, Relaxed),
        previous => held.waiter(previous).next.store(next, Relaxed),
    }
    step();
    match next {
        NONE => derived.queue_tail.store(previous, Relaxed),
        next => held.waiter(next).previous.store(previous, Relaxed),
    }
    take(&derived.queue_length, 1);
    take(&owner_of(held, index).waiting, 1);
    for (resource, _) in waiter.amounts.read().iter() {
        take(&held.resource(resource).waiting, 1);
        held.note_freed(resource);
    }
}

fn owner_of<'a>(held: &Held<'a>, index: u32) -> &'a ProcessSlot {
    held.process(ProcessKey::unpack(held.waiter(index).owner.load(Relaxed)).index)
}

/// Gives a waiter its answer. It stays in its slot until its process fetches the answer.
pub fn answer(held: &mut Held<'_>, index: u32, state: WaiterState, lease: u32) {
    let waiter = held.waiter(index);
    waiter.lease.store(lease, Relaxed);
    waiter.commit(state);
    step();
    tell(held, index);
}

/// Lets a waiter know that its answer is there, and wakes it when the tables are let go.
pub fn tell(held: &mut Held<'_>, index: u32) {
    signals::answer(&held.waiter(index).signal);
    held.answered.push(index);
}

/// Gives a slot back, out of the queue if it is in it.
pub fn free_slot(held: &mut Held<'_>, index: u32) {
    let derived = &held.table().header.derived;
    let waiter = held.waiter(index);
    let state = waiter.state();
    waiter.commit(WaiterState::Free);
    step();
    if state == WaiterState::Waiting {
        unlink(held, index);
    }
    waiter.next.store(derived.waiters_free.load(Relaxed), Relaxed);
    derived.waiters_free.store(index, Relaxed);
}

fn take_slot(held: &mut Held<'_>) -> Result<u32, Error> {
    let derived = &held.table().header.derived;
    let free = derived.waiters_free.load(Relaxed);
    if free != NONE {
        derived.waiters_free.store(held.waiter(free).next.load(Relaxed), Relaxed);
        return Ok(free);
    }
    let top = derived.waiters_top.load(Relaxed);
    if top as usize == WAITERS {
        return Err(Error::Full { table: "places in the queue", size: WAITERS });
    }
    held.table().make_room(Table::Waiters, top)?;
    derived.waiters_top.store(top + 1, Relaxed);
    Ok(top)
}

/// Serves the queue from what this turn freed, until no demand in it can go.
pub fn dispatch(held: &mut Held<'_>) {
    while worth_looking(held) {
        let Some(index) = next(held) else { break };
        if hand_over(held, index).is_err() {
            // No lease slot is free, and there is no room for more. The process that frees one looks at the whole queue.
            break;
        }
    }
}

/// Whether something that was freed is still free and waited for.
fn worth_looking(held: &Held<'_>) -> bool {
    let wanted = |index: u32| {
        let resource = held.resource(index);
        resource.waiting.load(Relaxed) > 0 && resource.free(held.now) > 0
    };
    let all = if held.all_freed { 0..held.resources_top() as u32 } else { 0..0 };
    held.freed.iter().copied().chain(all).any(wanted)
}

/// Makes the lease and gives it to the waiter. The lease names the ticket, which is what counts if this process dies now.
fn hand_over(held: &mut Held<'_>, index: u32) -> Result<(), Error> {
    let waiter = held.waiter(index);
    let terms = terms_of(waiter);
    note_passing(held, Some(index), &terms.amounts);
    let lease = held.grant(&terms)?;
    step();
    answer(held, index, WaiterState::Granted, lease);
    step();
    unlink(held, index);
    Ok(())
}

fn terms_of(waiter: &WaiterSlot) -> Terms {
    Terms {
        owner: ProcessKey::unpack(waiter.owner.load(Relaxed)),
        amounts: waiter.amounts.read(),
        ttl: waiter.ttl.load(Relaxed),
        hold_after: waiter.hold_after.load(Relaxed),
        ticket: waiter.ticket.load(Relaxed),
    }
}

/// The demand that goes next, if one can: the first, or after its turns the first of another process that waits for the same.
fn next(held: &Held<'_>) -> Option<u32> {
    let mut kept = SetAside::default();
    let mut first: Option<(u32, u64, Vector)> = None;
    for index in queued(held) {
        let waiter = held.waiter(index);
        let (owner, amounts) = (waiter.owner.load(Relaxed), waiter.amounts.read());
        if kept.blocks(&amounts) {
            continue;
        }
        if held.lacking(&amounts).is_some() {
            kept.keep_for(held, waiter, &amounts);
            continue;
        }
        match &first {
            Some((_, polite, had)) if *polite != owner && had.shares(&amounts) => return Some(index),
            Some(_) => {}
            None => {
                let had = turns_had(held, owner, &amounts);
                if had.is_empty() || waits_alone(held, index) {
                    return Some(index);
                }
                first = Some((index, owner, had));
            }
        }
    }
    first.map(|(index, _, _)| index)
}

/// What is kept for waiting demands, of what a demand outside the queue wants; `None` if it may take what is free.
pub fn kept_for_others(held: &Held<'_>, amounts: &Vector) -> Option<u32> {
    if amounts.iter().all(|(index, _)| held.resource(index).waiting.load(Relaxed) == 0) {
        return None;
    }
    let mut kept = SetAside::default();
    for index in queued(held) {
        let waiter = held.waiter(index);
        kept.keep_for(held, waiter, &waiter.amounts.read());
    }
    amounts.iter().map(|(index, _)| index).find(|index| kept.has(*index))
}

/// Counts a grant against those before it in the queue that want of the same.
pub fn note_passing(held: &Held<'_>, until: Option<u32>, amounts: &Vector) {
    if amounts.iter().all(|(index, _)| held.resource(index).waiting.load(Relaxed) == 0) {
        return;
    }
    for index in queued(held).take_while(|index| Some(*index) != until) {
        let waiter = held.waiter(index);
        let wanted = waiter.amounts.read();
        if wanted.shares(amounts) && held.lacking(&wanted).is_some() {
            waiter.passed.fetch_add(1, Relaxed);
        }
    }
}

/// The part of a demand of which its process has had its turns in a row.
fn turns_had(held: &Held<'_>, owner: u64, amounts: &Vector) -> Vector {
    let mut had = Vector::default();
    for (index, amount) in amounts.iter() {
        let resource = held.resource(index);
        if resource.last.load(Relaxed) == owner && resource.streak.load(Relaxed) >= IN_A_ROW {
            had.push(index, amount);
        }
    }
    had
}

/// Whether all waiting demands are of the same process, so that there is no other process to let go first.
fn waits_alone(held: &Held<'_>, index: u32) -> bool {
    held.table().header.derived.queue_length.load(Relaxed) == owner_of(held, index).waiting.load(Relaxed)
}

/// The queue, first to last.
pub fn queued<'a>(held: &Held<'a>) -> impl Iterator<Item = u32> + use<'a> {
    let table = held.table();
    let link = |index: u32| (index != NONE).then_some(index);
    let all = std::iter::successors(link(table.header.derived.queue_head.load(Relaxed)), move |index| {
        link(table.waiter(*index).next.load(Relaxed))
    });
    // A queue is never longer; a table that broke under this turn may be a ring.
    all.take(WAITERS)
}

/// Whether there is not enough of a resource, and no process can give it back: time must pass.
fn waits_for_time(held: &Held<'_>, index: u32, amount: u32) -> bool {
    let resource = held.resource(index);
    (resource.is_paused(held.now) || resource.is_rate()) && held.lacks(index, amount)
}

/// Resources that are kept for demands that were passed often enough.
#[derive(Default)]
struct SetAside {
    resources: Vec<u32>,
}

impl SetAside {
    fn keep_for(&mut self, held: &Held<'_>, waiter: &WaiterSlot, amounts: &Vector) {
        if waiter.passed.load(Relaxed) < PASSES {
            return;
        }
        let waits_for_time = amounts.iter().any(|(index, amount)| waits_for_time(held, index, amount));
        let kept = amounts.iter().filter(|(index, amount)| {
            !waits_for_time || (held.resource(*index).is_rate() && held.lacks(*index, *amount))
        });
        self.resources.extend(kept.map(|(index, _)| index));
    }

    fn has(&self, resource: u32) -> bool {
        self.resources.contains(&resource)
    }

    fn blocks(&self, amounts: &Vector) -> bool {
        amounts.iter().any(|(index, _)| self.has(index))
    }
}

/// Ends a demand, whatever has become of it: a lease that was made for it and not fetched is given back.
pub fn drop_waiter(held: &mut Held<'_>, index: u32) {
    let waiter = held.waiter(index);
    if waiter.state() == WaiterState::Free {
        return;
    }
    if let Some(lease) = unfetched(held, index) {
        held.free(lease);
    }
    free_slot(held, index);
}

/// The lease that was made for a waiter and not fetched, if it is out still.
pub fn unfetched(held: &Held<'_>, index: u32) -> Option<u32> {
    let waiter = held.waiter(index);
    let lease = Some(waiter.lease.load(Relaxed)).filter(|_| waiter.state() == WaiterState::Granted)?;
    let slot = held.lease(lease);
    // The slot may be another lease's by now.
    let is_ours = slot.ticket.load(Relaxed) == waiter.ticket.load(Relaxed);
    (is_ours && slot.state() != LeaseState::Free).then_some(lease)
}
