//! Back-pressure, crowds, and limits that change under live processes.

use super::*;
use crate::Error;

fn in_seconds(capacity: &Capacity, seconds: u64) -> u64 {
    capacity.now() + seconds * 1_000_000_000
}

#[test]
fn a_shut_door_holds_for_everybody_until_its_moment() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (a, b) = (define(&one, "slots", 4), define(&two, "slots", 4));
    let out = take(&two, b, 1);
    let until = in_seconds(&one, 30);
    one.pause(a, until).unwrap();
    assert_eq!(two.paused_until(b), Some(until));
    assert_eq!(blocked(two.reserve(&[(b, 1)], TTL).unwrap()), "slots");
    let ticket = two.enqueue(&[(b, 1)], TTL).unwrap();
    two.release(&out).unwrap();
    assert_eq!(fetched(&two, ticket), None);
    world.pass(Duration::from_nanos(30_000_000_000 - 1));
    one.heartbeat().unwrap();
    assert_eq!(fetched(&two, ticket), None);
    world.pass(Duration::from_nanos(1));
    assert_eq!(two.paused_until(b), None);
    one.heartbeat().unwrap();
    assert!(fetched(&two, ticket).is_some());
}

#[test]
fn a_door_opens_later_never_earlier() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 4);
    let (soon, late) = (in_seconds(&capacity, 1), in_seconds(&capacity, 60));
    capacity.pause(slots, late).unwrap();
    capacity.pause(slots, soon).unwrap();
    assert_eq!(capacity.paused_until(slots), Some(late));
    let absurd = capacity.pause(slots, u64::MAX).unwrap_err();
    assert!(matches!(absurd, Error::Invalid { .. }), "{absurd}");
    assert_eq!(capacity.paused_until(slots), Some(late));
    assert_eq!(capacity.snapshot().resources[0].paused_for, Some(Duration::from_secs(60)));
}

#[test]
fn nothing_else_waits_for_who_stands_before_a_shut_door() {
    let world = World::new();
    let capacity = world.open("one");
    let (slots, model) = (define(&capacity, "slots", 1), define(&capacity, "model", 1));
    capacity.pause(model, in_seconds(&capacity, 60)).unwrap();
    let waits = capacity.enqueue(&[(slots, 1), (model, 1)], TTL).unwrap();
    for _ in 0..3 * crate::PASSES {
        let passing = take(&capacity, slots, 1);
        capacity.release(&passing).unwrap();
    }
    world.pass(Duration::from_secs(60));
    capacity.heartbeat().unwrap();
    assert!(fetched(&capacity, waits).is_some());
}

#[test]
fn a_resource_is_crowded_while_somebody_else_waits_for_it() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (a, b) = (define(&one, "slots", 1), define(&two, "slots", 1));
    let other = define(&one, "other", 1);
    let held = take(&one, a, 1);
    assert!(!one.crowded(a));
    let ours = one.enqueue(&[(a, 1)], TTL).unwrap();
    assert!(!one.crowded(a), "its own demands are no crowd");
    let theirs = two.enqueue(&[(b, 1)], TTL).unwrap();
    assert!(one.crowded(a) && !one.crowded(other));
    two.withdraw(theirs).unwrap();
    assert!(!one.crowded(a));
    one.withdraw(ours).unwrap();
    one.release(&held).unwrap();
    one.pause(a, in_seconds(&one, 1)).unwrap();
    assert!(one.crowded(a) && two.crowded(b));
    world.pass(Duration::from_secs(1));
    assert!(!one.crowded(a));
}

#[test]
fn a_lowered_limit_makes_a_crowd_until_enough_is_given_back() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 2);
    let (first, _second) = (take(&capacity, slots, 1), take(&capacity, slots, 1));
    assert!(!capacity.crowded(slots));
    capacity.set_limit("slots", 1, "person").unwrap();
    assert!(capacity.crowded(slots));
    capacity.release(&first).unwrap();
    assert!(!capacity.crowded(slots));
}

#[test]
fn who_uses_a_limit_notices_that_it_was_set() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let slots = define(&one, "slots", 2);
    let (before, heard) = (one.limits_generation(), one.listen(u32::MAX, Duration::ZERO).unwrap());
    two.define("other", 3, "test").unwrap();
    assert_eq!(one.limits_generation(), before, "a new resource changes nothing for others");
    assert_eq!(two.set_limit("slots", 5, "person").unwrap(), Some(2));
    assert!(one.limits_generation() > before);
    assert_ne!(one.listen(heard, Duration::ZERO).unwrap(), heard, "its bell has rung");
    let seen = one.in_force(slots).unwrap();
    assert_eq!((seen.limit, seen.origin.as_str(), seen.by_hand), (5, "person", true));
}

#[test]
fn a_limit_that_was_set_stays_for_the_boot_and_others_do_not() {
    let world = World::new();
    let one = world.open("one");
    define(&one, "slots", 2);
    define(&one, "gpu", 2);
    one.set_limit("slots", 5, "person").unwrap();
    drop(one);
    let two = world.open("two");
    let slots = two.define("slots", 9, "config").unwrap();
    assert_eq!((slots.limit, slots.origin.as_str(), slots.as_asked), (5, "person", false));
    let gpu = two.define("gpu", 9, "config").unwrap();
    assert_eq!((gpu.limit, gpu.as_asked), (9, true));
}
