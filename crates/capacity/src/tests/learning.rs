//! What processes learn together.

use super::*;
use crate::KnownLimit;

const NO_LIMIT: u32 = u32::MAX;

/// Adds to the first word, and says how many were under way.
fn add(capacity: &Capacity, id: ResourceId, more: u64) -> (u64, u64) {
    let mut under_way = 0;
    let known = capacity.report_sample(id, "test", |words, level| {
        under_way = level;
        words[0] += more;
        Some(u32::try_from(words[0]).unwrap())
    });
    (known.unwrap().words[0], under_way)
}

#[test]
fn what_one_learns_limits_all_at_once() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (a, b) = (define(&one, "learned", NO_LIMIT), define(&two, "learned", NO_LIMIT));
    let before = two.limits_generation();
    assert_eq!(add(&one, a, 2), (2, 0));
    assert_ne!(two.limits_generation(), before, "the other one can see that something has changed");
    let held = take(&two, b, 1);
    assert_eq!(add(&two, b, 0), (2, 1), "and finds what was learned");
    take(&one, a, 1);
    assert_eq!(blocked(two.reserve(&[(b, 1)], TTL).unwrap()), "learned");
    two.release(&held).unwrap();
    take(&one, a, 1);
}

#[test]
fn calls_without_leases_count_until_they_end_or_their_process_does() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open_elsewhere("two"));
    let (a, b) = (define(&one, "learned", NO_LIMIT), define(&two, "learned", NO_LIMIT));
    (0..3).for_each(|_| one.call_started(a));
    two.call_started(b);
    assert_eq!(add(&one, a, 1).1, 4);
    one.call_ended(a);
    assert_eq!(add(&two, b, 1).1, 3);
    two.die();
    let three = world.open_elsewhere("three");
    assert_eq!(add(&one, a, 1).1, 2, "what the dead had under way is over for us");
    let c = define(&three, "learned", NO_LIMIT);
    assert_eq!(add(&three, c, 1).1, 2, "and is not its successor's");
}

#[test]
fn a_limit_that_a_person_has_set_stays_and_what_is_learned_is_kept() {
    let world = World::new();
    let one = world.open("one");
    let id = define(&one, "learned", NO_LIMIT);
    one.set_limit("learned", 5, "a person").unwrap();
    add(&one, id, 3);
    let force = one.in_force(id).unwrap();
    assert_eq!((force.limit, force.origin.as_str()), (5, "a person"));
    assert_eq!(add(&one, id, 0).0, 3);
}

#[test]
fn what_was_learned_is_forgotten_for_all_and_learned_anew() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let id = define(&one, "learned", NO_LIMIT);
    define(&two, "learned", NO_LIMIT);
    add(&one, id, 3);
    let before = one.limits_generation();
    assert_eq!(two.unlearn("learned", NO_LIMIT, "service").unwrap(), Some(3));
    assert_eq!(two.unlearn("unknown", NO_LIMIT, "service").unwrap(), None);
    assert_ne!(one.limits_generation(), before, "the other one can see it");
    assert_eq!(one.learned(id).unwrap(), KnownLimit { words: [0; crate::layout::WORDS], limit: NO_LIMIT });
    assert_eq!(add(&one, id, 2).0, 2);
}

#[test]
fn what_is_learned_outlives_its_last_user_and_not_its_resource() {
    let world = World::new();
    let one = world.open("one");
    add(&one, define(&one, "learned", NO_LIMIT), 3);
    drop(one);
    let two = world.open("two");
    let id = define(&two, "learned", NO_LIMIT);
    assert_eq!(add(&two, id, 0).0, 3);
    assert_eq!(two.in_force(id).unwrap().limit, 3, "the next sample puts its limit in force again");
}
