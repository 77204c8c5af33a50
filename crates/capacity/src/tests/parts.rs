//! What the other processes do in the tests of `processes.rs` and `mayhem.rs`.

use super::child::{arm, open, say, wait_for_word};
use super::*;
use crate::failpoint;
use crate::{Claimed, LeaseStatus, Offer};
use rustix::process::Signal;
use std::path::Path;

/// How much there is of `slots` in these tests.
pub const LIMIT: u32 = 4;
/// A rate of these tests: never used up, and nothing of it lapses while they run.
pub const WINDOW: Duration = Duration::from_secs(3600);
/// How much of it is reserved for a call, and how much the call uses: told apart from each other and from sums of them.
pub const RESERVED: u32 = 100;
pub const USED: u32 = 1_000;
/// The shortest window there is.
const LAPSE: Duration = Duration::from_millis(1);

pub fn play(part: &str, file: &Path, at: u32) {
    match part {
        "everything, killed" => everything(file, at, Signal::KILL),
        "everything, stopped" => everything(file, at, Signal::STOP),
        "join, killed" => join(file, at, Signal::KILL),
        "join, stopped" => join(file, at, Signal::STOP),
        "hold" => hold(file),
        "outstay" => outstay(file),
        "steal" => steal(file),
        "mayhem" => super::mayhem::worker(file),
        "storm" => super::storm::worker(file),
        other => panic!("nobody plays {other}"),
    }
}

/// Every kind of change, so that `at` can be inside each of them.
fn everything(file: &Path, at: u32, signal: Signal) {
    let capacity = open(file, "everything");
    let slots = define(&capacity, "slots", LIMIT);
    let first = take(&capacity, slots, 1);
    say("ready");
    wait_for_word();
    arm(at, signal);
    // A name of its own: limits that were set stay.
    let name = format!("extra {}", capacity.pid());
    let extra = define(&capacity, &name, 2);
    let both = granted(capacity.reserve(&[(slots, 1), (extra, 2)], TTL).unwrap());
    capacity.consume(&both).unwrap();
    capacity.heartbeat().unwrap();
    let waiting = capacity.enqueue(&[(slots, 2), (extra, 1)], TTL).unwrap();
    let doomed = capacity.enqueue(&[(extra, 2)], TTL).unwrap();
    capacity.set_limit(&name, 1, "test").unwrap();
    assert!(capacity.fetch(doomed).is_err());
    capacity.release(&both).unwrap();
    capacity.withdraw(waiting).unwrap();
    let tokens = capacity.define_rate("tokens", u32::MAX, WINDOW, "test").unwrap().id;
    let call = granted(capacity.reserve(&[(slots, 1), (tokens, RESERVED)], TTL).unwrap());
    capacity.consume(&call).unwrap();
    capacity.pause(extra, capacity.now() + 1_000_000).unwrap();
    capacity.settle(&call, &[(tokens, USED, WINDOW), (lapsing(&capacity), 1, LAPSE)]).unwrap();
    // The parent waits for all there is: with this it is served, by this process.
    capacity.release(&first).unwrap();
    capacity.forget(extra).unwrap();
    capacity.offer(&Offer { task: "t".into(), ..Offer::default() }).unwrap();
    capacity.reclaim().unwrap();
    drop(capacity);
    say(failpoint::passed());
}

/// A rate that forgets within the time that a turn takes, so that some turn lets its moment pass.
fn lapsing(capacity: &Capacity) -> ResourceId {
    capacity.define_rate("lapsing", LIMIT, LAPSE, "test").unwrap().id
}

/// Opens the table: makes it if there is none, clears up if its holder has died.
fn join(file: &Path, at: u32, signal: Signal) {
    arm(at, signal);
    let capacity = open(file, "join");
    define(&capacity, "slots", LIMIT);
    drop(capacity);
    say(failpoint::passed());
}

/// Holds all there is until it is killed.
fn hold(file: &Path) {
    let capacity = open(file, "hold");
    let slots = define(&capacity, "slots", LIMIT);
    let lease = granted(capacity.reserve(&[(slots, LIMIT)], LONG).unwrap());
    capacity.consume(&lease).unwrap();
    say(lease.token);
    wait_for_word();
}

/// Holds a short lease, is stopped past its end, and goes on.
fn outstay(file: &Path) {
    let capacity = open(file, "outstay");
    let slots = define(&capacity, "slots", LIMIT);
    let lease = granted(capacity.reserve(&[(slots, LIMIT)], Duration::from_millis(150)).unwrap());
    capacity.consume(&lease).unwrap();
    let before = capacity.check(&lease);
    say(lease.token);
    wait_for_word();
    let after = capacity.check(&lease);
    let lost = capacity.heartbeat().unwrap().lost;
    let release = capacity.release(&lease).is_err();
    say(format!("{before:?} {after:?} {} {release}", lost == [lease.token]));
    assert_eq!(after, LeaseStatus::Lost);
    wait_for_word();
    capacity.confirm_gone(&lease).unwrap();
    say("gone");
    wait_for_word();
}

/// Claims whatever is on offer, and is killed with it.
fn steal(file: &Path) {
    let capacity = open(file, "steal");
    say("ready");
    wait_for_word();
    let won = capacity.offers().iter().filter(|open| capacity.claim(open.id) != Claimed::Lost).count();
    say(won);
    wait_for_word();
}
