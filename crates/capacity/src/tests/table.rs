//! The file, the slots of processes, resources, and the pictures taken of them.

use super::*;
use crate::layout::{EXTENTS, MAGIC, VERSION};
use crate::{Error, LEASES, Liveness, Offer, PROCESSES, RESOURCES};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};

#[test]
fn the_file_is_private_and_shared_by_all_who_open_it() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    assert_eq!(fs::metadata(world.path()).unwrap().permissions().mode() & 0o777, 0o600);
    take(&one, define(&one, "slots", 3), 2);
    assert_eq!(usage(&two.snapshot(), "slots"), (2, 0));
    let labels: Vec<String> = two.instances().into_iter().map(|instance| instance.label).collect();
    assert_eq!(labels, ["one", "two"]);
}

#[test]
fn another_boots_table_is_void_and_its_tokens_do_not_come_again() {
    let world = World::new();
    let one = world.open("one");
    let slots = define(&one, "slots", 3);
    let old = take(&one, slots, 1);
    drop(one);
    let file = fs::OpenOptions::new().write(true).open(world.path()).unwrap();
    file.write_all_at(&[0xaa; 16], 24).unwrap();
    let one = world.open("one");
    assert!(one.snapshot().resources.is_empty());
    assert!(take(&one, define(&one, "slots", 3), 1).token > old.token);
}

#[test]
fn a_file_of_another_format_is_replaced_only_if_nobody_uses_it() {
    let world = World::new();
    let one = world.open("one");
    one.mapping.header.version.store(VERSION + 1, Ordering::SeqCst);
    let error = Capacity::open(&world.path(), &Identity::default(), world.options()).unwrap_err();
    assert!(
        matches!(error, Error::Version { found, ours, .. } if found == VERSION + 1 && ours == VERSION),
        "{error}"
    );
    drop(one);
    world.open("two");
}

#[test]
fn damaged_and_foreign_files_are_made_anew() {
    for content in [&b""[..], b"not a table", &MAGIC.to_le_bytes()] {
        let world = World::new();
        fs::write(world.path(), content).unwrap();
        let one = world.open("one");
        take(&one, define(&one, "slots", 1), 1);
    }
}

#[test]
fn a_file_that_is_removed_while_in_use_is_noticed() {
    let world = World::new();
    let one = world.open("one");
    one.heartbeat().unwrap();
    fs::remove_file(world.path()).unwrap();
    assert!(matches!(one.heartbeat(), Err(Error::Io { .. })));
}

#[test]
fn the_file_is_as_large_as_what_is_in_it() {
    let world = World::new();
    let one = world.open("one");
    let length = || fs::metadata(world.path()).unwrap().len();
    assert!(length() < 128 * 1024, "nothing is in it yet: {}", length());
    let slots = define(&one, "slots", u32::MAX);
    take(&one, slots, 1);
    let busy = define(&one, "busy", 1);
    take(&one, busy, 1);
    one.enqueue(&[(busy, 1)], TTL).unwrap();
    let offer = Offer { run: "r".into(), task: "t".into(), payload: [7; 32], needs: Vec::new() };
    one.offer(&offer).unwrap();
    let small = length();
    assert!(small < 512 * 1024, "one of each is in it: {small}");
    for _ in 0..LEASES / EXTENTS {
        take(&one, slots, 1);
    }
    assert!(length() > small && length() < 2 * small, "it grew by one step: {}", length());
    assert_eq!(
        usage(&Capacity::observe(&world.path()).unwrap().unwrap(), "slots").0 as usize,
        1 + LEASES / EXTENTS
    );
}

#[test]
fn what_one_process_made_room_for_all_processes_use() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let (a, b) = (define(&one, "slots", u32::MAX), define(&two, "slots", u32::MAX));
    let taken: Vec<Lease> = (0..2 * LEASES / EXTENTS).map(|_| take(&one, a, 1)).collect();
    let more = take(&two, b, 1);
    taken.iter().for_each(|lease| one.release(lease).unwrap());
    assert_eq!(usage(&two.snapshot(), "slots"), (1, 0));
    two.release(&more).unwrap();
    super::audit::audit(&one);
}

#[test]
fn a_file_that_was_cut_is_refused_while_it_is_used_and_made_anew_afterwards() {
    let world = World::new();
    let one = world.open("one");
    define(&one, "slots", 1);
    drop(one);
    let file = fs::OpenOptions::new().write(true).open(world.path()).unwrap();
    file.set_len(fs::metadata(world.path()).unwrap().len() - 4096).unwrap();
    assert_eq!(Capacity::observe(&world.path()).unwrap(), None);
    let two = world.open("two");
    take(&two, define(&two, "slots", 1), 1);
}

#[test]
fn a_file_that_is_cut_while_in_use_is_an_error_and_no_signal() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let slots = define(&one, "slots", 2);
    let lease = take(&one, slots, 1);
    fs::OpenOptions::new().write(true).open(world.path()).unwrap().set_len(0).unwrap();
    assert!(matches!(one.heartbeat(), Err(Error::Truncated { .. })));
    assert!(matches!(two.heartbeat(), Err(Error::Truncated { .. })), "each process finds out for itself");
    assert_eq!(one.check(&lease), crate::LeaseStatus::Lost, "nothing is started on what is not shared");
    drop((one, two));
    let again = world.open("again");
    take(&again, define(&again, "slots", 2), 2);
}

#[test]
fn a_file_of_somebody_else_is_refused_and_one_that_others_may_write_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    fs::write(world.path(), "").unwrap();
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o666)).unwrap();
    drop(world.open("one"));
    assert_eq!(fs::metadata(world.path()).unwrap().permissions().mode() & 0o777, 0o600);
    // Only the administrator can give a file away.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(world.path(), Some(54_321), None).unwrap();
        let opened = Capacity::open(&world.path(), &Identity::default(), Options::default());
        assert!(matches!(opened, Err(Error::Foreign { owner: 54_321, .. })));
    }
}

#[test]
fn the_first_definition_stands_while_its_process_lives() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open("two"));
    let first = one.define("slots", 3, "config").unwrap();
    assert!(first.as_asked);
    let second = two.define("slots", 9, "flag").unwrap();
    assert_eq!(
        (second.id, second.limit, second.origin.as_str(), second.as_asked),
        (first.id, 3, "config", false)
    );
    drop(one);
    let third = two.define("slots", 9, "flag").unwrap();
    assert_eq!((third.limit, third.origin.as_str(), third.as_asked), (9, "flag", true));
}

#[test]
fn names_have_bounds_and_unknown_ones_cannot_be_set() {
    let world = World::new();
    let one = world.open("one");
    for name in [String::new(), "x".repeat(65)] {
        assert!(matches!(one.define(&name, 1, "test"), Err(Error::Invalid { .. })));
    }
    one.define(&"x".repeat(64), 1, "test").unwrap();
    assert_eq!(one.set_limit("gpu", 3, "test").unwrap(), None);
}

#[test]
fn a_full_resource_table_serves_new_names_from_idle_ones_only() {
    let world = World::new();
    let one = world.open("one");
    let ids: Vec<ResourceId> = (0..RESOURCES).map(|n| define(&one, &format!("r{n}"), 1)).collect();
    let error = one.define("more", 1, "test").unwrap_err();
    assert!(matches!(error, Error::Full { table: "resources", .. }), "{error}");
    let lease = take(&one, ids[3], 1);
    one.forget(ids[3]).unwrap();
    assert!(one.define("more", 1, "test").is_err(), "it is in use still");
    one.release(&lease).unwrap();
    let more = define(&one, "more", 1);
    take(&one, more, 1);
    assert!(matches!(one.reserve(&[(ids[3], 1)], TTL), Err(Error::UnknownResource { .. })));
}

#[test]
fn a_full_process_table_is_a_refusal_until_somebody_ends() {
    let world = World::new();
    let mut all: Vec<Capacity> = (0..PROCESSES - 1).map(|_| world.open("one")).collect();
    let dead = world.open_elsewhere("dead");
    let slots = define(&dead, "slots", 5);
    take(&dead, slots, 5);
    let error = Capacity::open(&world.path(), &Identity::default(), world.options()).unwrap_err();
    assert!(matches!(error, Error::Full { table: "process slots", .. }), "{error}");
    dead.die();
    all.push(world.open("new"));
    assert_eq!(usage(&all[0].snapshot(), "slots"), (0, 0), "who takes a dead one's slot clears up after it");
    all.swap_remove(0);
    world.open("another");
}

#[test]
fn liveness_has_three_answers() {
    let world = World::new();
    let (one, two, three) = (world.open("one"), world.open("two"), world.open_elsewhere("three"));
    let (key, far) = (two.own, three.own);
    assert_eq!((one.judge().judge(key), one.judge().judge(far)), (Liveness::Alive, Liveness::Alive));
    two.die();
    three.die();
    assert_eq!(one.judge().judge(key), Liveness::Closed, "its process, this one, lives");
    assert_eq!(one.judge().judge(far), Liveness::Dead);
}

#[test]
fn one_that_leaves_from_elsewhere_is_not_taken_for_dead() {
    let world = World::new();
    let (one, far) = (world.open("one"), world.open_elsewhere("far"));
    let lease = take(&far, define(&far, "slots", 1), 1);
    define(&one, "slots", 1);
    far.consume(&lease).unwrap();
    drop(far);
    assert_eq!(one.reclaim().unwrap().freed, 0, "its call may be under way");
    assert_eq!(one.instances()[1].liveness, Liveness::Closed);
    world.pass(HOLD);
    assert_eq!(one.reclaim().unwrap().freed, 1);
    assert_eq!(one.instances().len(), 1);
}

#[test]
fn a_bystander_sees_the_table_and_changes_nothing() {
    let world = World::new();
    assert_eq!(Capacity::observe(&world.path()).unwrap(), None);
    assert!(!world.path().exists());
    let one = world.open("one");
    let slots = define(&one, "slots", 2);
    let lease = take(&one, slots, 2);
    let ticket = one.enqueue(&[(slots, 1)], TTL).unwrap();
    let seen = Capacity::observe(&world.path()).unwrap().unwrap();
    assert_eq!(usage(&seen, "slots"), (2, 0));
    assert_eq!((seen.leases[0].token, seen.leases[0].pid), (lease.token, one.pid()));
    assert_eq!(
        (seen.waiters[0].ticket, &seen.waiters[0].amounts),
        (ticket.number, &vec![("slots".into(), 1)])
    );
    assert_eq!((seen.instances.len(), seen.torn, seen.held_by), (1, false, None));
}

#[test]
fn a_panic_inside_the_lock_leaves_tables_that_the_next_holder_recounts() {
    let world = World::new();
    let one = world.open("one");
    let slots = define(&one, "slots", 2);
    take(&one, slots, 1);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let held = one.lock().unwrap();
        held.resource(0).in_use.store(77, Ordering::Relaxed);
        panic!("on purpose");
    }));
    take(&one, slots, 1);
    let snapshot = one.snapshot();
    assert_eq!((usage(&snapshot, "slots"), snapshot.counters.recoveries), ((2, 0), 1));
}

#[test]
fn the_picture_says_who_holds_what_and_who_waits() {
    let world = World::new();
    let (one, two) = (world.open("one"), world.open_elsewhere("two"));
    let (a, b) = (define(&one, "slots", 4), define(&two, "slots", 4));
    let expired = take(&one, a, 1);
    one.consume(&expired).unwrap();
    world.pass(TTL);
    one.reclaim().unwrap();
    take(&one, a, 1);
    take(&two, b, 2);
    two.enqueue(&[(b, 3)], TTL).unwrap();
    let seen = one.snapshot();
    let holders: Vec<_> = seen
        .holders("slots")
        .into_iter()
        .map(|holding| (holding.pid, holding.label, holding.in_use, holding.quarantined))
        .collect();
    assert_eq!(holders, [(one.pid(), "one".into(), 1, 1), (two.pid(), "two".into(), 2, 0)]);
    assert_eq!((seen.waiters[0].pid, seen.waiters[0].label.as_str()), (two.pid(), "two"));
    let counts: Vec<_> = seen.instances.iter().map(|i| (i.leases, i.waiting, i.stopped)).collect();
    assert_eq!(counts, [(2, 0, false), (1, 1, false)]);
}
