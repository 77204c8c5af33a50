//! Rates: what was used lingers, also when its process has ended, and for as long as it should.

use super::*;
use crate::{Error, ResourceView};

const WINDOW: Duration = Duration::from_secs(60);
/// The width of a bucket: an end is rounded up to a whole number of these.
const WIDTH: Duration = Duration::from_nanos(60_000_000_000 / crate::buckets::PARTS);

fn rate(capacity: &Capacity, limit: u32) -> ResourceId {
    capacity.define_rate("tokens", limit, WINDOW, "test").unwrap().id
}

fn view(capacity: &Capacity, name: &str) -> ResourceView {
    capacity.snapshot().resources.into_iter().find(|view| view.name == name).unwrap()
}

/// In use and lingering.
fn counted(capacity: &Capacity) -> (u32, u64) {
    let view = view(capacity, "tokens");
    (view.in_use + view.quarantined, view.lingering)
}

fn call(capacity: &Capacity, wanted: &[(ResourceId, u32)]) -> Lease {
    let lease = granted(capacity.reserve(wanted, TTL).unwrap());
    capacity.consume(&lease).unwrap();
    lease
}

#[test]
fn what_was_used_lingers_and_the_rest_is_free_at_once() {
    let world = World::new();
    let capacity = world.open("one");
    let (slots, tokens) = (define(&capacity, "slots", 1), rate(&capacity, 100));
    let lease = call(&capacity, &[(slots, 1), (tokens, 80)]);
    assert_eq!(blocked(capacity.reserve(&[(tokens, 21)], TTL).unwrap()), "tokens");
    capacity.settle(&lease, &[(tokens, 30, WINDOW)]).unwrap();
    assert_eq!((usage(&capacity.snapshot(), "slots"), counted(&capacity)), ((0, 0), (0, 30)));
    let rest = take(&capacity, tokens, 70);
    capacity.release(&rest).unwrap();
    assert_eq!(counted(&capacity), (0, 30), "nothing was started with the rest");
    world.pass(WINDOW - Duration::from_nanos(1));
    assert_eq!(blocked(capacity.reserve(&[(tokens, 71)], TTL).unwrap()), "tokens", "never early");
    world.pass(WIDTH);
    take(&capacity, tokens, 100);
}

#[test]
fn more_than_was_reserved_counts_even_past_the_limit() {
    let world = World::new();
    let capacity = world.open("one");
    let tokens = rate(&capacity, 100);
    let (first, second) = (call(&capacity, &[(tokens, 50)]), call(&capacity, &[(tokens, 50)]));
    capacity.settle(&first, &[(tokens, 90, WINDOW / 2)]).unwrap();
    assert_eq!(counted(&capacity), (50, 90), "it has happened");
    capacity.settle(&second, &[(tokens, 40, WINDOW)]).unwrap();
    assert_eq!(blocked(capacity.reserve(&[(tokens, 1)], TTL).unwrap()), "tokens");
    assert!(capacity.crowded(tokens));
    world.pass(WINDOW / 2 + WIDTH);
    assert_eq!(blocked(capacity.reserve(&[(tokens, 61)], TTL).unwrap()), "tokens");
    take(&capacity, tokens, 60);
}

#[test]
fn who_waits_for_a_rate_is_served_when_enough_has_lapsed() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let tokens = rate(&one, 10);
    rate(&two, 10);
    let lease = call(&one, &[(tokens, 10)]);
    one.settle(&lease, &[(tokens, 10, WINDOW)]).unwrap();
    let ticket = one.enqueue(&[(tokens, 4)], TTL).unwrap();
    two.heartbeat().unwrap();
    assert_eq!(fetched(&one, ticket), None);
    world.pass(WINDOW + WIDTH);
    two.heartbeat().unwrap();
    assert!(fetched(&one, ticket).is_some(), "any turn at the table serves it");
}

#[test]
fn who_waits_is_served_before_whoever_comes_after_the_moment() {
    let world = World::new();
    let capacity = world.open("one");
    let tokens = rate(&capacity, 10);
    let lease = call(&capacity, &[(tokens, 10)]);
    capacity.settle(&lease, &[(tokens, 10, WINDOW)]).unwrap();
    let ticket = capacity.enqueue(&[(tokens, 10)], TTL).unwrap();
    world.pass(WINDOW + WIDTH);
    assert_eq!(blocked(capacity.reserve(&[(tokens, 1)], TTL).unwrap()), "tokens");
    assert!(fetched(&capacity, ticket).is_some());
}

#[test]
fn a_sleeper_wakes_by_itself_when_the_moment_comes() {
    let world = World::new();
    let options = Options { clock: Clock::Machine, ..world.options() };
    let capacity = Capacity::open(&world.path(), &Identity::default(), options).unwrap();
    let tokens = capacity.define_rate("tokens", 10, Duration::from_millis(100), "test").unwrap().id;
    for _ in 0..3 {
        let ticket = capacity.enqueue(&[(tokens, 10)], TTL).unwrap();
        let Waited::Granted(lease) = capacity.wait(ticket, Duration::from_secs(30)).unwrap() else {
            panic!("nobody told it")
        };
        capacity.consume(&lease).unwrap();
        capacity.settle(&lease, &[(tokens, 10, Duration::from_millis(100))]).unwrap();
    }
}

#[test]
fn a_dead_process_has_used_what_it_started_with() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open_elsewhere("two"));
    let tokens = rate(&one, 100);
    let (slots, theirs) = (define(&two, "slots", 4), rate(&two, 100));
    let settled = call(&two, &[(theirs, 20)]);
    two.settle(&settled, &[(theirs, 5, WINDOW)]).unwrap();
    call(&two, &[(slots, 1), (theirs, 30)]);
    take(&two, theirs, 40);
    two.die();
    one.reclaim().unwrap();
    assert_eq!(counted(&one), (0, 35), "settled, and under way; not what nothing was started with");
    assert_eq!(usage(&one.snapshot(), "slots"), (0, 0));
    world.pass(WINDOW + WIDTH);
    take(&one, tokens, 100);
}

#[test]
fn lingering_outlives_everybody() {
    let world = World::new();
    let one = world.open("one");
    let tokens = rate(&one, 100);
    let lease = call(&one, &[(tokens, 60)]);
    one.settle(&lease, &[(tokens, 60, WINDOW)]).unwrap();
    drop(one);
    let two = world.open("two");
    let tokens = rate(&two, 100);
    assert_eq!(blocked(two.reserve(&[(tokens, 41)], TTL).unwrap()), "tokens");
    take(&two, tokens, 40);
}

#[test]
fn who_does_not_say_what_was_used_has_used_what_it_reserved() {
    let world = World::new();
    let capacity = world.open("one");
    let tokens = rate(&capacity, 100);
    let (released, gone, unused) =
        (call(&capacity, &[(tokens, 1)]), call(&capacity, &[(tokens, 2)]), take(&capacity, tokens, 4));
    capacity.release(&released).unwrap();
    capacity.confirm_gone(&gone).unwrap();
    capacity.release(&unused).unwrap();
    assert_eq!(counted(&capacity), (0, 3));
    call(&capacity, &[(tokens, 8)]);
    world.pass(TTL + HOLD);
    capacity.reclaim().unwrap();
    assert_eq!(counted(&capacity), (8, 0), "in quarantine");
    capacity.reclaim().unwrap();
    assert_eq!(counted(&capacity), (0, 8), "and counted from its end");
}

#[test]
fn a_settled_lease_is_gone() {
    let world = World::new();
    let capacity = world.open("one");
    let tokens = rate(&capacity, 100);
    let lease = call(&capacity, &[(tokens, 10)]);
    capacity.settle(&lease, &[(tokens, 10, WINDOW)]).unwrap();
    assert!(matches!(capacity.settle(&lease, &[]), Err(Error::DoubleRelease { .. })));
    assert!(matches!(capacity.release(&lease), Err(Error::DoubleRelease { .. })));
    assert!(matches!(capacity.confirm_gone(&lease), Err(Error::DoubleRelease { .. })));
    assert_eq!(capacity.heartbeat().unwrap(), crate::Renewal::default());
    assert_eq!(capacity.check(&lease), crate::LeaseStatus::Lost);
    assert_eq!(counted(&capacity), (0, 10));
}

#[test]
fn an_expired_lease_can_be_settled_and_that_is_recorded() {
    let world = World::new();
    let capacity = world.open("one");
    let tokens = rate(&capacity, 100);
    let lease = call(&capacity, &[(tokens, 50)]);
    let unseen = call(&capacity, &[(tokens, 50)]);
    world.pass(TTL);
    capacity.settle(&unseen, &[(tokens, 10, WINDOW)]).unwrap();
    capacity.reclaim().unwrap();
    capacity.settle(&lease, &[(tokens, 10, WINDOW)]).unwrap();
    assert_eq!((counted(&capacity), capacity.snapshot().counters.late_releases), ((0, 20), 2));
}

#[test]
fn what_cannot_linger_is_refused_and_the_lease_stays() {
    let world = World::new();
    let capacity = world.open("one");
    let (slots, tokens) = (define(&capacity, "slots", 4), rate(&capacity, 100));
    let lease = call(&capacity, &[(slots, 1), (tokens, 10)]);
    let nonsense: [&[(ResourceId, u32, Duration)]; 3] = [
        &[(slots, 1, WINDOW)],
        &[(tokens, 1, WINDOW + Duration::from_nanos(1))],
        &[(tokens, 1, WINDOW), (tokens, 1, WINDOW)],
    ];
    for lingering in nonsense {
        assert!(matches!(capacity.settle(&lease, lingering), Err(Error::Invalid { .. })), "{lingering:?}");
    }
    assert_eq!((usage(&capacity.snapshot(), "slots"), counted(&capacity)), ((1, 0), (10, 0)));
    for window in [Duration::ZERO, Duration::from_secs(1 << 40)] {
        assert!(matches!(capacity.define_rate("r", 1, window, "test"), Err(Error::Invalid { .. })));
    }
}

#[test]
fn a_hundred_thousand_calls_in_a_minute_are_counted_one_by_one() {
    let world = World::new();
    let capacity = world.open("one");
    let requests = rate(&capacity, 100_000);
    for _ in 0..100_000 {
        world.pass(Duration::from_micros(500));
        let lease = call(&capacity, &[(requests, 1)]);
        capacity.settle(&lease, &[(requests, 1, WINDOW)]).unwrap();
    }
    assert_eq!(blocked(capacity.reserve(&[(requests, 1)], TTL).unwrap()), "tokens");
    let snapshot = capacity.snapshot();
    assert_eq!((counted(&capacity), snapshot.leases.len()), ((0, 100_000), 0));
    world.pass(WINDOW + WIDTH);
    take(&capacity, requests, 100_000);
}

#[test]
fn slots_are_not_kept_for_who_waits_for_time() {
    let world = World::new();
    let capacity = world.open("one");
    let (slots, tokens) = (define(&capacity, "slots", 2), rate(&capacity, 10));
    let lease = call(&capacity, &[(tokens, 10)]);
    capacity.settle(&lease, &[(tokens, 10, WINDOW)]).unwrap();
    let waits = capacity.enqueue(&[(slots, 1), (tokens, 5)], TTL).unwrap();
    for _ in 0..3 * crate::PASSES {
        let passing = take(&capacity, slots, 2);
        capacity.release(&passing).unwrap();
    }
    world.pass(WINDOW + WIDTH);
    capacity.heartbeat().unwrap();
    assert!(fetched(&capacity, waits).is_some());
}

#[test]
fn a_rate_in_use_is_not_redefined_and_says_what_it_is() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    rate(&one, 100);
    let second = two.define_rate("tokens", 100, WINDOW * 2, "flag").unwrap();
    assert_eq!((second.window, second.as_asked), (WINDOW, false));
    let third = two.define("tokens", 100, "flag").unwrap();
    assert_eq!((third.window, third.as_asked), (WINDOW, false));
    let lease = call(&two, &[(second.id, 7)]);
    two.settle(&lease, &[(second.id, 7, WINDOW)]).unwrap();
    let seen = view(&one, "tokens");
    assert_eq!((seen.window, seen.lingering, seen.limit), (Some(WINDOW), 7, 100));
    assert!(seen.eases_in.is_some_and(|time| time >= WINDOW && time <= WINDOW + WIDTH), "{seen:?}");
}

#[test]
fn what_lingers_no_longer_goes_to_who_waits_in_the_same_turn() {
    let world = World::new();
    let capacity = world.open("one");
    let tokens = rate(&capacity, 10);
    let lease = call(&capacity, &[(tokens, 10)]);
    let ticket = capacity.enqueue(&[(tokens, 10)], TTL).unwrap();
    capacity.settle(&lease, &[(tokens, 10, Duration::ZERO)]).unwrap();
    assert_eq!(usage(&capacity.snapshot(), "tokens"), (10, 0), "granted to who waits");
    assert!(fetched(&capacity, ticket).is_some());
}
