//! Leases, fences and quarantine.

use super::*;
use crate::{Error, LEASES, LeaseStatus, VECTOR};

#[test]
fn a_demand_is_granted_whole_or_not_at_all() {
    let world = World::new();
    let capacity = world.open("one");
    let (slots, gpu) = (define(&capacity, "slots", 10), define(&capacity, "gpu", 1));
    let first = granted(capacity.reserve(&[(slots, 4), (gpu, 1)], TTL).unwrap());
    assert_eq!(blocked(capacity.reserve(&[(slots, 1), (gpu, 1)], TTL).unwrap()), "gpu");
    assert_eq!(usage(&capacity.snapshot(), "slots"), (4, 0), "a blocked demand takes nothing");
    let second = take(&capacity, slots, 6);
    assert!(second.token > first.token);
    assert_eq!(blocked(capacity.reserve(&[(slots, 1)], TTL).unwrap()), "slots");
    capacity.release(&first).unwrap();
    assert_eq!(usage(&capacity.snapshot(), "slots"), (6, 0));
    assert_eq!(usage(&capacity.snapshot(), "gpu"), (0, 0));
}

#[test]
fn more_than_a_limit_is_refused_at_once() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 3);
    let error = capacity.reserve(&[(slots, 4)], TTL).unwrap_err();
    assert!(matches!(error, Error::NeverFits { wanted: 4, limit: 3, .. }), "{error}");
    let error = capacity.enqueue(&[(slots, 4)], TTL).unwrap_err();
    assert!(matches!(error, Error::NeverFits { .. }), "{error}");
}

#[test]
fn demands_that_make_no_sense_are_refused() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 3);
    let nonsense: [&[(ResourceId, u32)]; 4] =
        [&[], &[(slots, 0)], &[(slots, 1), (slots, 1)], &[(slots, 1); VECTOR + 1]];
    for wanted in nonsense {
        assert!(matches!(capacity.reserve(wanted, TTL), Err(Error::Invalid { .. })), "{wanted:?}");
    }
    for ttl in [Duration::ZERO, Duration::from_secs(1 << 40)] {
        assert!(matches!(capacity.reserve(&[(slots, 1)], ttl), Err(Error::Invalid { .. })));
    }
    let other = world.open("two");
    assert!(matches!(other.reserve(&[(slots, 1)], TTL), Err(Error::UnknownResource { .. })));
}

#[test]
fn a_second_release_is_an_error_that_is_recorded() {
    let world = World::new();
    let capacity = world.open("one");
    let slots = define(&capacity, "slots", 2);
    let (first, second) = (take(&capacity, slots, 1), take(&capacity, slots, 1));
    capacity.release(&first).unwrap();
    assert!(matches!(capacity.release(&first), Err(Error::DoubleRelease { .. })));
    assert_eq!(usage(&capacity.snapshot(), "slots"), (1, 0));
    let third = take(&capacity, slots, 1);
    assert!(matches!(capacity.release(&first), Err(Error::Stale { .. })), "its slot is the third's now");
    assert_eq!(usage(&capacity.snapshot(), "slots"), (2, 0));
    let counters = capacity.snapshot().counters;
    assert_eq!((counters.double_releases, counters.stale_tokens), (1, 1));
    capacity.release(&second).unwrap();
    capacity.release(&third).unwrap();
}

#[test]
fn only_its_owner_releases_a_lease() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let lease = take(&one, define(&one, "slots", 2), 1);
    assert!(matches!(two.release(&lease), Err(Error::Stale { .. })));
    assert_eq!(two.check(&lease), LeaseStatus::Lost);
    assert_eq!(usage(&two.snapshot(), "slots"), (1, 0));
}

#[test]
fn work_may_be_started_in_the_first_half_of_the_time_only() {
    let world = World::new();
    let capacity = world.open("one");
    let lease = take(&capacity, define(&capacity, "slots", 2), 1);
    capacity.consume(&lease).unwrap();
    assert_eq!(capacity.check(&lease), LeaseStatus::Good);
    world.pass(TTL / 2);
    assert_eq!(capacity.check(&lease), LeaseStatus::Late);
    assert_eq!(capacity.heartbeat().unwrap().renewed, 1);
    assert_eq!(capacity.check(&lease), LeaseStatus::Good);
    world.pass(TTL);
    assert_eq!(capacity.check(&lease), LeaseStatus::Lost);
}

#[test]
fn an_expired_lease_counts_until_its_holder_confirms() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let lease = take(&one, define(&one, "slots", 1), 1);
    let slots = define(&two, "slots", 1);
    one.consume(&lease).unwrap();
    world.pass(TTL);
    assert_eq!(two.reclaim().unwrap().quarantined, 1);
    assert_eq!(usage(&two.snapshot(), "slots"), (0, 1));
    assert_eq!(blocked(two.reserve(&[(slots, 1)], TTL).unwrap()), "slots");
    assert_eq!(one.heartbeat().unwrap().lost, [lease.token], "a heartbeat does not bring it back");
    assert!(matches!(one.release(&lease), Err(Error::Expired { .. })));
    assert!(matches!(one.consume(&lease), Err(Error::Expired { .. })));
    assert_eq!(usage(&two.snapshot(), "slots"), (0, 1));
    one.confirm_gone(&lease).unwrap();
    assert_eq!(usage(&two.snapshot(), "slots"), (0, 0));
    assert!(matches!(one.confirm_gone(&lease), Err(Error::DoubleRelease { .. })));
    take(&two, slots, 1);
}

#[test]
fn a_heartbeat_that_comes_too_late_brings_nothing_back() {
    let world = World::new();
    let capacity = world.open("one");
    let lease = take(&capacity, define(&capacity, "slots", 1), 1);
    world.pass(TTL);
    let renewal = capacity.heartbeat().unwrap();
    assert_eq!((renewal.renewed, renewal.lost), (0, vec![lease.token]));
    let snapshot = capacity.snapshot();
    assert_eq!((usage(&snapshot, "slots"), snapshot.counters.lost_leases), ((0, 1), 1));
    assert_eq!(capacity.check(&lease), LeaseStatus::Lost);
}

#[test]
fn quarantine_ends_when_the_longest_call_must_be_over() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    take(&one, define(&one, "slots", 1), 1);
    world.pass(TTL);
    two.reclaim().unwrap();
    world.pass(HOLD - Duration::from_nanos(1));
    assert_eq!(two.reclaim().unwrap().freed, 0);
    world.pass(Duration::from_nanos(1));
    assert_eq!(two.reclaim().unwrap().freed, 1);
    assert_eq!(usage(&two.snapshot(), "slots"), (0, 0));
}

#[test]
fn a_late_release_is_the_same_whether_or_not_somebody_looked_before() {
    let world = World::new();
    let capacity = world.open("one");
    let lease = take(&capacity, define(&capacity, "slots", 1), 1);
    world.pass(TTL);
    assert!(matches!(capacity.release(&lease), Err(Error::Expired { .. })));
    let snapshot = capacity.snapshot();
    assert_eq!((usage(&snapshot, "slots"), snapshot.counters.late_releases), ((0, 1), 1));
    capacity.confirm_gone(&lease).unwrap();
}

#[test]
fn consuming_twice_is_an_error_that_is_recorded() {
    let world = World::new();
    let capacity = world.open("one");
    let lease = take(&capacity, define(&capacity, "slots", 1), 1);
    capacity.consume(&lease).unwrap();
    assert!(matches!(capacity.consume(&lease), Err(Error::AlreadyConsumed { .. })));
    assert_eq!(capacity.snapshot().counters.double_consumes, 1);
    capacity.release(&lease).unwrap();
}

#[test]
fn a_dead_holders_capacity_is_free_at_once() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open_elsewhere("two"));
    let slots = define(&one, "slots", 2);
    let lease = take(&two, define(&two, "slots", 2), 2);
    two.consume(&lease).unwrap();
    assert_eq!(one.reclaim().unwrap().freed, 0);
    two.die();
    let reclaimed = one.reclaim().unwrap();
    assert_eq!((reclaimed.dead, reclaimed.freed), (1, 1));
    take(&one, slots, 2);
    assert_eq!(one.instances().len(), 1);
}

#[test]
fn a_process_that_leaves_frees_what_it_did_not_use_and_keeps_count_of_what_it_did() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let slots = define(&two, "slots", 4);
    let used = take(&two, slots, 1);
    take(&two, slots, 2);
    define(&one, "slots", 4);
    two.consume(&used).unwrap();
    drop(two);
    assert_eq!(usage(&one.snapshot(), "slots"), (0, 1), "this process lives, so its call may too");
    assert_eq!(one.reclaim().unwrap().freed, 0);
    world.pass(HOLD);
    assert_eq!(one.reclaim().unwrap().freed, 1);
    one.reclaim().unwrap();
    assert_eq!(one.instances().len(), 1);
}

#[test]
fn a_full_lease_table_is_a_refusal_and_nothing_else() {
    let world = World::new();
    let capacity = world.open("one");
    let (slots, gpu) = (define(&capacity, "slots", u32::MAX), define(&capacity, "gpu", 1));
    let leases: Vec<Lease> = (0..LEASES).map(|_| take(&capacity, slots, 1)).collect();
    let error = capacity.reserve(&[(slots, 1)], TTL).unwrap_err();
    assert!(matches!(error, Error::Full { table: "leases", .. }), "{error}");
    let ticket = capacity.enqueue(&[(gpu, 1)], TTL).unwrap();
    assert_eq!(fetched(&capacity, ticket), None);
    capacity.release(&leases[17]).unwrap();
    assert!(fetched(&capacity, ticket).is_some(), "who waited for a slot alone is served with the next one");
    assert_eq!(usage(&capacity.snapshot(), "slots"), (LEASES as u32 - 1, 0));
}

#[test]
fn a_table_full_of_dead_leases_is_emptied_for_the_next_demand() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open_elsewhere("two"));
    let slots = define(&two, "slots", u32::MAX);
    for _ in 0..LEASES {
        take(&two, slots, 1);
    }
    two.die();
    let slots = define(&one, "slots", u32::MAX);
    world.pass(crate::SEARCH_EVERY);
    take(&one, slots, 1);
    assert_eq!(usage(&one.snapshot(), "slots"), (1, 0));
}
