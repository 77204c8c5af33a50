//! Runs go when a policy says so, whole or not at all, and none that is needed goes.

use crate::common;

use common::{Disk, me, meta};
use convoke_journal::disk::{Fate, Op, watch};
use convoke_journal::{Index, Journal, Prune, RunRow, Sqlite, StateDir, summarize, verify};
use convoke_model::{Digest, Event, JsonText, Payload, RunId, RunStarted, RunStatus, Stamped, Timestamp};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::rc::Rc;

fn run(name: &str) -> RunId {
    RunId(name.into())
}

fn events(name: &str, workflow: &str, at: u64, end: Event) -> Vec<Stamped> {
    let started = RunStarted {
        run: run(name),
        workflow: workflow.into(),
        file: "w.yaml".into(),
        folder: format!("/home/{workflow}"),
        plan: Digest::of(b"plan"),
        inputs: Payload::Inline(JsonText::of(&())),
        seed: 7,
        skip_gates: false,
        version: "0.1.0".into(),
        metadata: Default::default(),
        configuration: Default::default(),
        base: None,
    };
    let events = [Event::RunStarted(Box::new(started)), end];
    (1..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(at + seq), event }).collect()
}

fn ended(status: RunStatus) -> Event {
    Event::RunFinished { status, output: None, failure: None }
}

fn make(state: &StateDir, name: &str, workflow: &str, at: u64, end: Event) {
    let mut journal = Sqlite::create(state, &run(name), &meta(), &me()).unwrap();
    journal.append(&events(name, workflow, at, end), &[], &[]).unwrap();
}

/// Succeeded, failed, parked and interrupted runs of two workflows, `a1` the oldest.
fn several() -> Disk {
    let disk = Disk::new();
    let state = &disk.state;
    make(state, "a1", "a", 100, ended(RunStatus::Succeeded));
    make(state, "a2", "a", 200, ended(RunStatus::Failed));
    make(state, "b3", "b", 300, ended(RunStatus::Succeeded));
    make(state, "a4", "a", 400, Event::RunParked { waiting: vec![] });
    make(state, "a5", "a", 500, Event::RunInterrupted { by: "SIGTERM".into() });
    make(state, "a6", "a", 600, ended(RunStatus::Succeeded));
    disk
}

fn gone(disk: &Disk, policy: &Prune) -> Vec<String> {
    let pruned = Index::open(&disk.state).unwrap().prune(policy).unwrap();
    pruned.removed.iter().map(|removed| removed.row.id.to_string()).collect()
}

fn would_go(disk: &Disk, policy: Prune) -> Vec<String> {
    gone(disk, &Prune { dry_run: true, ..policy })
}

fn everything() -> Prune {
    Prune::default()
}

#[test]
fn every_part_of_a_policy_narrows_it() {
    let disk = several();
    assert_eq!(would_go(&disk, everything()), ["a6", "b3", "a2", "a1"], "what has not ended stays");
    let failed = Prune { status: vec![RunStatus::Failed], ..everything() };
    assert_eq!(would_go(&disk, failed), ["a2"]);
    let of_a = Prune { workflow: Some("a".into()), ..everything() };
    assert_eq!(would_go(&disk, of_a.clone()), ["a6", "a2", "a1"]);
    assert_eq!(would_go(&disk, Prune { keep_last: 1, ..of_a.clone() }), ["a2", "a1"], "of the workflow");
    assert_eq!(would_go(&disk, Prune { keep_last: 1, ..everything() }), ["b3", "a2", "a1"]);
    let old = Prune { older_than: Some(Timestamp(250)), ..everything() };
    assert_eq!(would_go(&disk, old.clone()), ["a2", "a1"]);
    assert_eq!(would_go(&disk, Prune { keep_last: 3, ..old }), ["a1"], "both keep");
    let in_b = Prune { below: Some("/home/b".into()), ..everything() };
    assert_eq!(would_go(&disk, in_b), ["b3"]);
    let unfinished = Prune { unfinished: true, ..everything() };
    assert_eq!(would_go(&disk, unfinished.clone()), ["a6", "a5", "a4", "b3", "a2", "a1"]);
    let parked = Prune { status: vec![RunStatus::Parked], ..unfinished };
    assert_eq!(would_go(&disk, parked), ["a4"]);
    let part_of_a_name = Prune { workflow: Some("".into()), ..everything() };
    assert!(would_go(&disk, part_of_a_name).is_empty(), "a name is a whole name");
    assert_eq!(Index::open(&disk.state).unwrap().list().unwrap().len(), 6, "nothing went");
}

fn size(disk: &Disk, name: &str) -> u64 {
    let policy = Prune { dry_run: true, unfinished: true, ..everything() };
    let pruned = Index::open(&disk.state).unwrap().prune(&policy).unwrap();
    pruned.removed.iter().find(|removed| &*removed.row.id.0 == name).unwrap().bytes
}

#[test]
fn only_as_many_go_as_it_takes_to_fit() {
    let disk = several();
    let log = disk.state.run_dir(&run("a1")).join("log");
    fs::write(&log, vec![b'x'; 100_000]).unwrap();
    let all: u64 = ["a1", "a2", "b3", "a4", "a5", "a6"].iter().map(|name| size(&disk, name)).sum();
    assert!(size(&disk, "a1") > size(&disk, "a2") + 90_000, "a log counts");
    let fits = |most| Prune { max_bytes: Some(most), ..everything() };
    assert!(would_go(&disk, fits(all)).is_empty(), "it fits");
    assert_eq!(would_go(&disk, fits(all - 1)), ["a1"], "the oldest first");
    assert_eq!(would_go(&disk, fits(all - 100_001)), ["a2", "a1"][1..], "its log is enough");
    let pruned = Index::open(&disk.state).unwrap().prune(&fits(1)).unwrap();
    assert_eq!(pruned.removed.len(), 4, "whatever has not ended stays");
    assert_eq!(pruned.left, Some(size(&disk, "a4") + size(&disk, "a5")));
}

#[test]
fn the_base_of_a_fork_stays_for_as_long_as_the_fork_is_there() {
    let disk = several();
    let mut index = Index::open(&disk.state).unwrap();
    index.list().unwrap();
    let fork = summarize(&run("a6"), &events("a6", "a", 600, ended(RunStatus::Succeeded)));
    index.put(&RunRow { base: Some(run("a1")), ..fork }).unwrap();
    assert_eq!(index.forks_of(&run("a1")).unwrap(), [run("a6")]);
    let policy = Prune { older_than: Some(Timestamp(150)), ..everything() };
    let pruned = index.prune(&policy).unwrap();
    assert_eq!((pruned.removed.len(), pruned.bases), (0, 1));
    assert_eq!(gone(&disk, &everything()), ["a6", "b3", "a2"]);
    assert_eq!(gone(&disk, &everything()), ["a1"], "the fork is gone");
}

#[test]
fn a_run_that_a_process_holds_or_has_gone_on_with_stays() {
    let disk = several();
    let mut index = Index::open(&disk.state).unwrap();
    index.list().unwrap();
    // Neither process has told the index.
    let held = Sqlite::open_owner(&disk.state, &run("a1"), &me()).unwrap();
    let mut changed = Sqlite::open_owner(&disk.state, &run("a2"), &me()).unwrap();
    let more = Stamped { seq: 3, at: Timestamp(900), event: Event::RunReopened(Default::default()) };
    changed.append(&[more], &[], &[]).unwrap();
    drop(changed);
    let pruned = index.prune(&everything()).unwrap();
    assert_eq!((pruned.removed.len(), pruned.busy), (2, 2));
    drop(held);
    assert_eq!(gone(&disk, &everything()), ["a1"], "the other has not ended any more");
}

/// Names below `runs`, those of runs first.
fn folders(state: &StateDir) -> (BTreeSet<String>, BTreeSet<String>) {
    let entries = fs::read_dir(state.path().join("runs")).unwrap().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).partition(|name| !name.starts_with('.'))
}

#[test]
fn a_prune_that_stops_anywhere_leaves_whole_runs_and_is_finished_by_the_next() {
    for stop in 0.. {
        let disk = several();
        let seen = Rc::new(Cell::new(0));
        let count = seen.clone();
        watch(Some(Rc::new(move |_: &Op<'_>| {
            count.set(count.get() + 1);
            if count.get() > stop { Fate::Fail(5) } else { Fate::Pass }
        })));
        let pruned = Index::open(&disk.state).and_then(|mut index| index.prune(&everything()));
        watch(None);
        let listed = Index::open(&disk.state).unwrap().list().unwrap();
        let (runs, _) = folders(&disk.state);
        assert_eq!(listed.iter().map(|row| row.id.to_string()).collect::<BTreeSet<_>>(), runs);
        listed.iter().for_each(|row| {
            verify(&disk.state, &row.id).unwrap();
        });
        gone(&disk, &everything());
        let (runs, hidden) = folders(&disk.state);
        assert_eq!(runs, ["a4", "a5"].map(str::to_owned).into());
        assert!(hidden.is_empty(), "{hidden:?} after stop {stop}");
        if pruned.is_ok() && seen.get() <= stop {
            assert!(stop >= 5, "four folders are renamed, and their names are made durable");
            break;
        }
    }
}

fn touch_back(path: &Path) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(100_000);
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

#[test]
fn what_kills_have_left_is_deleted_and_what_repairs_have_kept_goes_with_its_run() {
    let disk = several();
    let runs = disk.state.path().join("runs");
    for name in [".leaving-x", ".draft-export-x-1", ".damaged-a1-1", ".damaged-a4-1", "half", "young"] {
        fs::create_dir(runs.join(name)).unwrap();
        fs::write(runs.join(name).join("journal.db"), "x").unwrap();
    }
    for name in ["half", "young"] {
        fs::write(runs.join(name).join("making"), "").unwrap();
    }
    touch_back(&runs.join("half"));
    assert_eq!(gone(&disk, &Prune { older_than: Some(Timestamp(150)), ..everything() }), ["a1"]);
    let (left, hidden) = folders(&disk.state);
    assert_eq!(hidden, [".damaged-a4-1".to_owned()].into());
    assert_eq!(left, ["a2", "b3", "a4", "a5", "a6", "young"].map(str::to_owned).into());
}

#[test]
fn a_prune_without_time_does_nothing_and_says_so() {
    let disk = several();
    let policy = Prune { within: Some(std::time::Duration::ZERO), ..everything() };
    let pruned = Index::open(&disk.state).unwrap().prune(&policy).unwrap();
    assert!(pruned.cut_short && pruned.removed.is_empty());
}
