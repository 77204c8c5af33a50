//! Several processes, killed and stopped at every step inside the lock.

use super::audit::audit;
use super::child::{Actor, open};
use super::parts::{LIMIT, RESERVED, USED, WINDOW};
use super::*;
use crate::offer::Phase;
use crate::{Error, LeaseStatus, Liveness, Offer, Progress};
use rustix::process::Signal;
use std::time::Instant;

fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("capacity");
    (directory, path)
}

/// Long enough for any machine; what is measured is measured apart.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much of the rate has been counted.
fn counted(parent: &Capacity) -> u64 {
    parent.define_rate("tokens", u32::MAX, WINDOW, "test").unwrap();
    let snapshot = parent.snapshot();
    let tokens = snapshot.resources.iter().find(|resource| resource.name == "tokens").unwrap();
    assert_eq!((tokens.in_use, tokens.quarantined), (0, 0), "nobody is left to hold any of it");
    tokens.lingering
}

/// What must hold for the parent, which has one lease and waits for all the rest, once the other process has ended.
fn settle(parent: &Capacity, slots: ResourceId, lease: Lease, ticket: Ticket) {
    audit(parent);
    assert_eq!(parent.check(&lease), LeaseStatus::Good);
    parent.reclaim().unwrap();
    let Waited::Granted(rest) = parent.wait(ticket, PATIENCE).unwrap() else {
        panic!("the dead keep nothing")
    };
    audit(parent);
    assert_eq!(usage(&parent.snapshot(), "slots"), (LIMIT, 0));
    assert_eq!(blocked(parent.reserve(&[(slots, 1)], TTL).unwrap()), "slots");
    parent.release(&rest).unwrap();
    parent.release(&lease).unwrap();
    assert_eq!(usage(&parent.snapshot(), "slots"), (0, 0));
    assert_eq!(parent.reclaim().unwrap().freed, 0);
    assert!(
        (0..parent.mapping.header.offers_top.load(Ordering::SeqCst)).all(|index| parent
            .mapping
            .offer(index)
            .read()
            .phase
            == Phase::Free),
        "an offer leaked"
    );
    assert_eq!(parent.instances().len(), 1);
}

#[test]
fn a_process_killed_at_any_step_leaves_tables_that_are_exact() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let (mut before, mut seen) = (counted(&parent), vec![0]);
    for at in 1.. {
        let lease = take(&parent, slots, 1);
        let mut child = Actor::start("everything, killed", &file, at);
        assert_eq!(child.hear().as_deref(), Some("ready"));
        let ticket = parent.enqueue(&[(slots, LIMIT - 1)], TTL).unwrap();
        child.tell();
        let survived = child.ended_well();
        settle(&parent, slots, lease, ticket);
        seen.push(counted(&parent) - before);
        before = counted(&parent);
        if survived {
            assert!(at > 60, "only {at} steps: the places to die at have gone");
            break;
        }
    }
    // The later it dies, the more has happened: no call, a call of unknown size, one that was settled. Nothing lost or counted
    // twice.
    seen.dedup();
    assert_eq!(seen, [0, u64::from(RESERVED), u64::from(USED)]);
}

#[test]
fn a_process_killed_while_it_recovers_leaves_it_to_the_next() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let mut before = counted(&parent);
    // In the middle of changes, of a hand-over and of a settlement; the exact places do not matter, that there are several does.
    for first in [4, 9, 30, 50, 65, 83, 87] {
        for at in 1.. {
            let lease = take(&parent, slots, 1);
            let mut child = Actor::start("everything, killed", &file, first);
            assert_eq!(child.hear().as_deref(), Some("ready"));
            let ticket = parent.enqueue(&[(slots, LIMIT - 1)], TTL).unwrap();
            child.tell();
            assert!(!child.ended_well());
            let mut second = Actor::start("join, killed", &file, at);
            let survived = second.ended_well();
            settle(&parent, slots, lease, ticket);
            let more = counted(&parent) - before;
            assert!(
                [0, u64::from(RESERVED), u64::from(USED)].contains(&more),
                "{more} counted, killed at {first}, {at}"
            );
            before = counted(&parent);
            if survived {
                break;
            }
        }
    }
    assert!(parent.snapshot().counters.recoveries > 0);
}

#[test]
fn a_process_killed_while_it_makes_the_file_leaves_it_to_the_next() {
    for at in 1.. {
        let (_directory, file) = file();
        let mut first = Actor::start("join, killed", &file, at);
        let survived = first.ended_well();
        let parent = open(&file, "parent");
        let slots = define(&parent, "slots", LIMIT);
        take(&parent, slots, LIMIT);
        audit(&parent);
        assert_eq!(parent.instances().len(), 1);
        if survived {
            assert!(at > 5, "only {at} steps");
            return;
        }
    }
}

#[test]
fn a_process_stopped_while_it_opens_the_file_is_named_and_others_go_on() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let mut child = Actor::start("join, stopped", &file, 1);
    child.wait_for_stop();
    let error = Capacity::open(&file, &Identity::default(), super::child::options()).unwrap_err();
    assert!(matches!(error, Error::Stuck { pid, .. } if pid == child.process.id()), "{error}");
    let lease = take(&parent, slots, LIMIT);
    parent.release(&lease).unwrap();
    child.signal(Signal::CONT);
    assert!(child.ended_well());
    open(&file, "another");
}

#[test]
fn a_process_stopped_inside_the_lock_is_named_and_exceeds_nothing() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let lease = take(&parent, slots, LIMIT - 3);
    for at in [1, 3, 20, 45] {
        let mut child = Actor::start("everything, stopped", &file, at);
        assert_eq!(child.hear().as_deref(), Some("ready"));
        child.tell();
        child.wait_for_stop();
        let begin = Instant::now();
        let error = parent.reserve(&[(slots, 1)], TTL).unwrap_err();
        let Error::Stuck { pid, since } = error else { panic!("{error}") };
        assert_eq!(pid, child.process.id());
        assert!(since >= Duration::from_millis(300) && begin.elapsed() >= since, "{since:?}");
        let seen = parent.snapshot();
        assert_eq!(seen.held_by, Some(pid), "it can be looked at");
        let stopped: Vec<u32> = seen.instances.iter().filter(|i| i.stopped).map(|i| i.pid).collect();
        assert_eq!(stopped, [pid]);
        assert_eq!(parent.check(&lease), LeaseStatus::Good, "what was granted stays good");
        child.signal(Signal::CONT);
        assert!(child.ended_well(), "it goes on where it stopped");
        audit(&parent);
        assert_eq!(usage(&parent.snapshot(), "slots"), (LIMIT - 3, 0));
    }
    assert!(parent.snapshot().counters.stuck >= 4);
}

#[test]
fn a_process_stopped_while_it_takes_the_lock_from_a_dead_one_is_named() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    for at in [3, 4, 6] {
        let mut dead = Actor::start("everything, killed", &file, 20);
        assert_eq!(dead.hear().as_deref(), Some("ready"));
        dead.tell();
        assert!(!dead.ended_well());
        let mut rescuer = Actor::start("join, stopped", &file, at);
        rescuer.wait_for_stop();
        let error = parent.reserve(&[(slots, 1)], TTL).unwrap_err();
        assert!(matches!(error, Error::Stuck { pid, .. } if pid == rescuer.process.id()), "{at}: {error}");
        rescuer.signal(Signal::CONT);
        assert!(rescuer.ended_well());
        audit(&parent);
        assert_eq!(usage(&parent.snapshot(), "slots"), (0, 0));
    }
}

#[test]
fn a_dead_holders_capacity_is_back_before_its_lease_ends() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let mut child = Actor::start("hold", &file, 0);
    child.hear().unwrap();
    let ticket = parent.enqueue(&[(slots, 1)], TTL).unwrap();
    assert_eq!(parent.wait(ticket, Duration::ZERO).unwrap(), Waited::NotYet);
    let killed = Instant::now();
    child.signal(Signal::KILL);
    assert!(matches!(parent.wait(ticket, PATIENCE).unwrap(), Waited::Granted(_)));
    assert!(killed.elapsed() < LONG, "{:?}", killed.elapsed());
}

#[test]
fn a_process_in_other_namespaces_shares_the_clock_and_is_known_to_be_alive_or_dead() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let mut child = Actor::start_elsewhere("hold", &file);
    if child.hear().is_none() {
        // Only the superuser can start it; `open_elsewhere` of the other tests stands in for it.
        return;
    }
    let seen = parent.snapshot();
    assert!(seen.leases[0].left > Duration::ZERO && seen.leases[0].left <= LONG, "{:?}", seen.leases[0]);
    assert_eq!(seen.instances[1].liveness, Liveness::Alive);
    let ticket = parent.enqueue(&[(slots, 1)], TTL).unwrap();
    assert_eq!(parent.reclaim().unwrap().freed, 0);
    child.signal(Signal::KILL);
    assert!(matches!(parent.wait(ticket, PATIENCE).unwrap(), Waited::Granted(_)));
}

#[test]
fn a_stopped_holder_finds_its_token_stale_and_its_capacity_was_kept() {
    let (_directory, file) = file();
    let parent = open(&file, "parent");
    let slots = define(&parent, "slots", LIMIT);
    let mut child = Actor::start("outstay", &file, 0);
    child.hear().unwrap();
    child.signal(Signal::STOP);
    let ticket = parent.enqueue(&[(slots, 1)], TTL).unwrap();
    while usage(&parent.snapshot(), "slots") != (0, LIMIT) {
        assert_eq!(parent.wait(ticket, Duration::from_millis(50)).unwrap(), Waited::NotYet);
    }
    child.tell();
    child.signal(Signal::CONT);
    assert_eq!(child.hear().unwrap(), "Good Lost true true");
    assert_eq!(parent.fetch(ticket).unwrap(), Waited::NotYet, "its call may still be running");
    child.tell();
    assert_eq!(child.hear().unwrap(), "gone");
    assert!(matches!(parent.wait(ticket, PATIENCE).unwrap(), Waited::Granted(_)));
    assert_eq!(parent.snapshot().counters.late_releases, 1);
    audit(&parent);
}

#[test]
fn a_task_is_stolen_once_and_comes_back_from_a_killed_claimant() {
    let (_directory, file) = file();
    let owner = open(&file, "owner");
    let id = owner.offer(&Offer { task: "t".into(), ..Offer::default() }).unwrap();
    let mut claimants: Vec<Actor> = (0..4).map(|_| Actor::start("steal", &file, 0)).collect();
    claimants.iter_mut().for_each(|claimant| assert_eq!(claimant.hear().as_deref(), Some("ready")));
    claimants.iter_mut().for_each(Actor::tell);
    let wins: Vec<String> = claimants.iter_mut().map(|claimant| claimant.hear().unwrap()).collect();
    assert_eq!(wins.iter().filter(|won| *won == "1").count(), 1, "{wins:?}");
    let Progress::Claimed { pid, .. } = owner.take_back(id) else { panic!("somebody has it") };
    let claimant = claimants.iter_mut().find(|claimant| claimant.process.id() == pid).unwrap();
    claimant.signal(Signal::KILL);
    claimant.ended_well();
    assert_eq!(owner.reclaim().unwrap().reverted, 1);
    assert_eq!(owner.take_back(id), Progress::Open);
}
