//! The queue: order, fairness, bounds.

use super::*;
use crate::{Error, PASSES, WAITERS};
use std::time::Instant;

#[test]
fn capacity_goes_to_whoever_came_first() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (a, b) = (define(&one, "slots", 1), define(&two, "slots", 1));
    let held = take(&one, a, 1);
    let first = two.enqueue(&[(b, 1)], TTL).unwrap();
    let second = one.enqueue(&[(a, 1)], TTL).unwrap();
    assert_eq!((fetched(&two, first), fetched(&one, second)), (None, None));
    one.release(&held).unwrap();
    assert_eq!(blocked(one.reserve(&[(a, 1)], TTL).unwrap()), "slots", "nobody gets in between");
    let lease = fetched(&two, first).unwrap();
    assert_eq!(fetched(&one, second), None);
    two.release(&lease).unwrap();
    assert!(fetched(&one, second).is_some());
}

#[test]
fn a_free_demand_is_granted_as_it_enters_the_queue() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 1);
    let ticket = capacity.enqueue(&[(slots, 1)], TTL).unwrap();
    assert!(fetched(&capacity, ticket).is_some());
    assert!(matches!(capacity.fetch(ticket), Err(Error::NoTicket { .. })), "a ticket is used up");
}

#[test]
fn one_process_has_two_grants_in_a_row_at_most_while_another_waits() {
    let world = World::new();
    let (big, small) = (world.open("big"), world.open("small"));
    let (a, b) = (define(&big, "slots", 1), define(&small, "slots", 1));
    let mut held = take(&big, a, 1);
    let mut tickets: Vec<Ticket> = (0..10).map(|_| big.enqueue(&[(a, 1)], TTL).unwrap()).collect();
    let late = small.enqueue(&[(b, 1)], TTL).unwrap();
    let mut before = 0;
    loop {
        big.release(&held).unwrap();
        if let Some(lease) = fetched(&small, late) {
            small.release(&lease).unwrap();
            break;
        }
        held = fetched(&big, tickets.remove(0)).unwrap();
        before += 1;
    }
    assert_eq!(before, 1, "the grant before the queue counts as well");
    held = fetched(&big, tickets.remove(0)).expect("alone again, it gets everything");
    for ticket in tickets {
        big.release(&held).unwrap();
        held = fetched(&big, ticket).unwrap();
    }
}

#[test]
fn a_process_that_had_its_turns_does_not_overtake_itself() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (slots, gpu) = (define(&one, "slots", 4), define(&one, "gpu", 2));
    let other = define(&two, "other", 1);
    let all = granted(one.reserve(&[(slots, 4), (gpu, 1)], TTL).unwrap());
    let first = one.enqueue(&[(slots, 4), (gpu, 1)], TTL).unwrap();
    take(&one, gpu, 1);
    let second = one.enqueue(&[(slots, 1)], TTL).unwrap();
    take(&two, other, 1);
    two.enqueue(&[(other, 1)], TTL).unwrap();
    one.release(&all).unwrap();
    assert!(fetched(&one, first).is_some(), "nobody else waits for what it has had its turns of");
    assert_eq!(fetched(&one, second), None);
}

#[test]
fn a_large_demand_is_passed_a_bounded_number_of_times() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 4);
    let mut small: Vec<Lease> = (0..3).map(|_| take(&capacity, slots, 1)).collect();
    let large = capacity.enqueue(&[(slots, 4)], TTL).unwrap();
    for _ in 0..PASSES {
        capacity.release(&small.remove(0)).unwrap();
        small.push(take(&capacity, slots, 1));
    }
    assert_eq!(
        blocked(capacity.reserve(&[(slots, 1)], TTL).unwrap()),
        "slots",
        "what is free is kept for it"
    );
    let behind = capacity.enqueue(&[(slots, 1)], TTL).unwrap();
    for lease in small {
        assert_eq!(fetched(&capacity, large), None);
        capacity.release(&lease).unwrap();
    }
    let lease = fetched(&capacity, large).unwrap();
    assert_eq!(fetched(&capacity, behind), None);
    capacity.release(&lease).unwrap();
    assert!(fetched(&capacity, behind).is_some());
}

#[test]
fn who_withdraws_makes_room_for_those_behind() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 4);
    let small = take(&capacity, slots, 1);
    let large = capacity.enqueue(&[(slots, 4)], TTL).unwrap();
    let passing: Vec<Ticket> = (0..PASSES).map(|_| capacity.enqueue(&[(slots, 1)], TTL).unwrap()).collect();
    for ticket in &passing[..3] {
        assert!(fetched(&capacity, *ticket).is_some());
    }
    assert_eq!(fetched(&capacity, passing[3]), None);
    capacity.withdraw(large).unwrap();
    assert!(matches!(capacity.withdraw(large), Err(Error::NoTicket { .. })));
    capacity.release(&small).unwrap();
    assert!(fetched(&capacity, passing[3]).is_some());
    assert_eq!(usage(&capacity.snapshot(), "slots"), (4, 0));
}

#[test]
fn withdrawing_after_the_grant_gives_it_back() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 1);
    let ticket = capacity.enqueue(&[(slots, 1)], TTL).unwrap();
    capacity.withdraw(ticket).unwrap();
    assert_eq!(usage(&capacity.snapshot(), "slots"), (0, 0));
}

#[test]
fn a_grant_that_ran_out_before_it_was_fetched_is_given_back() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (slots, theirs) = (define(&one, "slots", 1), define(&two, "slots", 1));
    let ticket = one.enqueue(&[(slots, 1)], TTL).unwrap();
    let behind = two.enqueue(&[(theirs, 1)], TTL).unwrap();
    world.pass(TTL);
    assert_eq!(two.reclaim().unwrap().freed, 1, "nothing was started with it: no quarantine");
    let lease =
        fetched(&two, behind).expect("who waits behind a stopped process gets what that did not fetch");
    assert_eq!(one.fetch(ticket).unwrap(), Waited::Lapsed);
    assert_eq!(usage(&two.snapshot(), "slots"), (1, 0), "and keeps it");
    two.release(&lease).unwrap();
    super::audit::audit(&two);
}

#[test]
fn killed_waiters_leave_the_queue_granted_or_not() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open_elsewhere("two"));
    let (a, b) = (define(&one, "slots", 1), define(&two, "slots", 1));
    let granted_to_the_dead = two.enqueue(&[(b, 1)], TTL).unwrap();
    two.enqueue(&[(b, 1)], TTL).unwrap();
    let ours = one.enqueue(&[(a, 1)], TTL).unwrap();
    assert_eq!(two.snapshot().waiters.len(), 3);
    assert!(two.snapshot().waiters.iter().any(|w| w.ticket == granted_to_the_dead.number && w.granted));
    two.die();
    let reclaimed = one.reclaim().unwrap();
    assert_eq!((reclaimed.freed, reclaimed.withdrawn), (1, 2));
    assert!(fetched(&one, ours).is_some());
}

#[test]
fn a_lowered_limit_stops_grants_and_refuses_what_can_never_be() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 4);
    let leases: Vec<Lease> = (0..4).map(|_| take(&capacity, slots, 1)).collect();
    let (large, small) =
        (capacity.enqueue(&[(slots, 3)], TTL).unwrap(), capacity.enqueue(&[(slots, 1)], TTL).unwrap());
    assert_eq!(capacity.set_limit("slots", 2, "test").unwrap(), Some(4));
    assert!(matches!(capacity.fetch(large), Err(Error::NeverFits { wanted: 3, limit: 2, .. })));
    for lease in &leases[..2] {
        capacity.release(lease).unwrap();
        assert_eq!(fetched(&capacity, small), None);
    }
    assert_eq!(usage(&capacity.snapshot(), "slots"), (2, 0), "nothing is taken away");
    capacity.release(&leases[2]).unwrap();
    assert!(fetched(&capacity, small).is_some());
    capacity.set_limit("slots", 3, "test").unwrap();
    take(&capacity, slots, 1);
}

#[test]
fn a_raised_limit_serves_the_queue() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 1);
    take(&capacity, slots, 1);
    let ticket = capacity.enqueue(&[(slots, 1)], TTL).unwrap();
    capacity.set_limit("slots", 2, "test").unwrap();
    assert!(fetched(&capacity, ticket).is_some());
}

#[test]
fn a_full_queue_is_a_refusal_and_evicts_nobody() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 1);
    let held = take(&capacity, slots, 1);
    let tickets: Vec<Ticket> = (0..WAITERS).map(|_| capacity.enqueue(&[(slots, 1)], TTL).unwrap()).collect();
    let error = capacity.enqueue(&[(slots, 1)], TTL).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error}");
    capacity.release(&held).unwrap();
    assert!(fetched(&capacity, tickets[0]).is_some());
    capacity.enqueue(&[(slots, 1)], TTL).unwrap();
    assert_eq!(capacity.snapshot().waiters.len(), WAITERS);
}

#[test]
fn a_waiting_thread_wakes_with_its_answer_and_one_bell_serves_many_tickets() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 1);
    let held = take(&capacity, slots, 1);
    let (first, second) =
        (capacity.enqueue(&[(slots, 1)], TTL).unwrap(), capacity.enqueue(&[(slots, 1)], TTL).unwrap());
    assert_eq!(capacity.wait(first, Duration::ZERO).unwrap(), Waited::NotYet);
    let lease = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| capacity.wait(first, Duration::from_secs(60)));
        capacity.release(&held).unwrap();
        waiter.join().unwrap().unwrap()
    });
    let Waited::Granted(lease) = lease else { panic!("{lease:?}") };
    let heard = capacity.listen(u32::MAX, Duration::ZERO).unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let listener = scope.spawn(|| capacity.listen(heard, Duration::from_secs(60)));
        capacity.release(&lease).unwrap();
        assert_ne!(listener.join().unwrap().unwrap(), heard);
    });
    assert!(begin.elapsed() < Duration::from_secs(30));
    assert!(fetched(&capacity, second).is_some());
}
