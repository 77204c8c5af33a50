//! A listing tells the truth, whatever happened to the index.

use crate::common;

use common::{Disk, me, meta, note};
use convoke_journal::{Error, Index, Journal, Prune, RunRow, Sqlite, StateDir, summarize};
use convoke_model::{
    Class, Digest, Event, Failure, JsonText, Payload, RunId, RunStarted, RunStatus, Stamped, Usage,
};
use convoke_model::{TaskId, Timestamp};
use std::fs;

fn stamp(events: Vec<Event>, start: u64) -> Vec<Stamped> {
    (1..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(start + seq - 1), event }).collect()
}

/// A run with a task that succeeds, one that fails and one that is open.
fn events(run: &RunId, start: u64, end: Option<RunStatus>) -> Vec<Stamped> {
    let task = |name: &str| TaskId(name.into());
    let mut events = vec![
        Event::RunStarted(Box::new(RunStarted {
            run: run.clone(),
            workflow: "review".into(),
            file: "review.yaml".into(),
            folder: "/home/a".into(),
            plan: Digest::of(b"plan"),
            inputs: Payload::Inline(JsonText::of(&())),
            seed: 7,
            skip_gates: false,
            version: "0.1.0".into(),
            metadata: Default::default(),
            configuration: Default::default(),
            base: None,
        })),
        Event::RunOwned { epoch: 1, pid: 42, host: "h".into(), uptime: None },
    ];
    events.extend(["a", "b", "c"].map(|name| Event::AttemptStarted {
        task: task(name),
        attempt: 1,
        lease: None,
    }));
    events.push(Event::TaskSucceeded { task: task("a"), output: Payload::Gathered });
    events.push(Event::TaskFailed { task: task("b"), failure: Failure::new(Class::Fatal, "no") });
    events.extend(end.map(|status| Event::RunFinished { status, output: None, failure: None }));
    stamp(events, start)
}

fn row(run: &RunId, start: u64, end: Option<RunStatus>) -> RunRow {
    RunRow {
        id: run.clone(),
        workflow: "review".into(),
        file: "review.yaml".into(),
        folder: "/home/a".into(),
        status: end.unwrap_or(RunStatus::Running),
        started_at: Timestamp(start),
        finished_at: end.map(|_| Timestamp(start + 7)),
        worked_ms: 0,
        last_at: Timestamp(start + 6 + u64::from(end.is_some())),
        usage: Default::default(),
        running: u64::from(end.is_none()),
        total: 3,
        done: 1,
        failed: 1,
        pid: Some(42),
        blocked: None,
        events: 7 + u64::from(end.is_some()),
        base: None,
        problem: None,
    }
}

fn run(name: &str) -> RunId {
    RunId(name.into())
}

/// Makes a run, leaves it as its owner does, and says what a listing should.
fn make(state: &StateDir, name: &str, start: u64, end: Option<RunStatus>) -> RunRow {
    let mut journal = Sqlite::create(state, &run(name), &meta(), &me()).unwrap();
    journal.append(&events(&run(name), start, end), &[], &[]).unwrap();
    row(&run(name), start, end)
}

const DONE: Option<RunStatus> = Some(RunStatus::Succeeded);

#[test]
fn a_line_is_the_fold_of_the_events() {
    for end in [None, DONE, Some(RunStatus::Failed)] {
        assert_eq!(summarize(&run("r"), &events(&run("r"), 100, end)), row(&run("r"), 100, end));
    }
    let mut reopened = events(&run("r"), 100, Some(RunStatus::Failed));
    reopened.extend(stamp(vec![Event::RunParked { waiting: vec![] }], 0));
    assert_eq!(summarize(&run("r"), &reopened).status, RunStatus::Parked);
    reopened
        .extend(stamp(vec![Event::AttemptStarted { task: TaskId("d".into()), attempt: 1, lease: None }], 0));
    assert_eq!(summarize(&run("r"), &reopened).status, RunStatus::Running);
}

#[test]
fn runs_are_listed_newest_first_even_without_an_index() {
    let disk = Disk::new();
    let state = &disk.state;
    let first = make(state, "a", 100, DONE);
    let second = make(state, "b", 300, Some(RunStatus::Failed));
    let third = make(state, "c", 200, DONE);
    let expected = [second, third, first];
    assert_eq!(Index::open(state).unwrap().list().unwrap(), expected);
    assert_eq!(Index::open(state).unwrap().rebuild().unwrap(), expected);
    for damage in ["", "not a database at all, but rather long enough to look at", "SQLite format 3\0rubbish"]
    {
        fs::write(state.path().join("runs.db"), damage).unwrap();
        assert_eq!(Index::open(state).unwrap().list().unwrap(), expected, "{damage}");
    }
    let mut index = Index::open(state).unwrap();
    let whole = fs::read(state.path().join("runs.db")).unwrap();
    fs::write(state.path().join("runs.db"), [&whole[..100], &[9; 4000]].concat()).unwrap();
    assert_eq!(index.list().unwrap(), expected, "damaged while it is open");
}

#[test]
fn a_run_whose_owner_died_is_interrupted() {
    let disk = Disk::new();
    let mut index = Index::open(&disk.state).unwrap();
    let mut owner = disk.create();
    owner.append(&events(&disk.run, 100, None), &[], &[]).unwrap();
    let running = row(&disk.run, 100, None);
    index.put(&running).unwrap();
    assert_eq!(index.list().unwrap(), std::slice::from_ref(&running));
    drop(owner);
    let interrupted = RunRow { status: RunStatus::Interrupted, running: 0, ..running };
    assert_eq!(index.list().unwrap(), std::slice::from_ref(&interrupted));
    assert_eq!(index.get(&disk.run).unwrap(), Some(interrupted));
}

#[test]
fn a_run_without_a_folder_is_forgotten_and_a_damaged_one_is_not_hidden() {
    let disk = Disk::new();
    let kept = make(&disk.state, "kept", 100, DONE);
    make(&disk.state, "gone", 200, DONE);
    make(&disk.state, "bad", 300, DONE);
    let mut index = Index::open(&disk.state).unwrap();
    assert_eq!(index.list().unwrap().len(), 3);
    fs::remove_dir_all(disk.state.run_dir(&run("gone"))).unwrap();
    fs::write(disk.state.run_dir(&run("bad")).join("journal.db"), "rubbish".repeat(1000)).unwrap();
    let listed = index.rebuild().unwrap();
    assert_eq!(listed[0], kept);
    assert_eq!((listed.len(), &*listed[1].id.0), (2, "bad"));
    assert!(listed[1].problem.as_ref().is_some_and(|problem| problem.contains("corrupt")));
    assert_eq!(index.get(&run("gone")).unwrap(), None);
}

#[test]
fn pruning_takes_what_the_policy_says_and_nothing_that_lives() {
    let disk = Disk::new();
    let old = make(&disk.state, "old", 100, DONE);
    make(&disk.state, "open", 110, None);
    let middle = make(&disk.state, "middle", 200, DONE);
    make(&disk.state, "new", 300, DONE);
    let mut living = Sqlite::create(&disk.state, &run("living"), &meta(), &me()).unwrap();
    living.append(&[note(1)], &[], &[]).unwrap();
    let mut index = Index::open(&disk.state).unwrap();
    let policy = Prune { keep_last: 1, dry_run: true, ..Prune::default() };
    let names = |rows: &[RunRow]| rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
    let prune = |index: &mut Index, policy: &Prune| {
        let pruned = index.prune(policy).unwrap();
        pruned.removed.into_iter().map(|removed| removed.row).collect::<Vec<_>>()
    };

    assert_eq!(prune(&mut index, &policy), [middle.clone(), old.clone()]);
    assert_eq!(index.list().unwrap().len(), 5, "a dry run leaves everything");
    let policy = Prune { older_than: Some(Timestamp(150)), dry_run: false, ..policy };
    assert_eq!(prune(&mut index, &policy), [old]);
    let policy = Prune { unfinished: true, ..Prune::default() };
    assert_eq!(names(&prune(&mut index, &policy)), ["new", "middle", "open"]);
    assert_eq!(names(&index.list().unwrap()), ["living"]);
    assert_eq!(fs::read_dir(disk.state.path().join("runs")).unwrap().count(), 1, "nothing is left behind");
    assert!(living.append(&[note(2)], &[], &[]).is_ok());
}

#[test]
fn a_name_is_resolved_by_the_folders() {
    let disk = Disk::new();
    make(&disk.state, "20261115-101532-7k3q", 1, DONE);
    make(&disk.state, "20261115-101532-8888", 1, DONE);
    assert_eq!(disk.state.resolve("7k3q").unwrap(), run("20261115-101532-7k3q"));
    assert!(matches!(disk.state.resolve("2026"), Err(Error::AmbiguousRun { .. })));
    assert!(matches!(disk.state.resolve("x"), Err(Error::UnknownRun { nearest: None, .. })));
}

#[test]
fn a_line_says_how_long_processes_drove_the_run_and_what_was_used() {
    let run = RunId("r".into());
    let second = |n: u64| Timestamp(n * 1_000_000);
    let mut events = events(&run, 0, None);
    let usage = Usage { calls: 2, input_tokens: 30, cost_micros: 7, ..Usage::default() };
    let more = [
        (100, Event::RunOwned { epoch: 2, pid: 43, host: "h".into(), uptime: None }),
        (
            101,
            Event::AttemptFinished { task: TaskId("c".into()), attempt: 1, output: Payload::Gathered, usage },
        ),
        (103, Event::RunParked { waiting: vec![] }),
    ];
    let start = events.len() as u64;
    events.extend((start + 1..).zip(more).map(|(seq, (at, event))| Stamped { seq, at: second(at), event }));
    let row = summarize(&run, &events);
    assert_eq!((row.worked_ms, row.usage, row.running, row.done), (3_000, usage, 0, 2));
}

#[test]
fn a_run_that_is_driven_is_listed_as_it_is_now() {
    let disk = Disk::new();
    let mut journal = disk.create();
    let mut index = Index::open(&disk.state).unwrap();
    let all = events(&disk.run, 5, None);
    journal.append(&all[..3], &[], &[]).unwrap();
    assert_eq!(index.list().unwrap()[0].running, 1);
    journal.append(&all[3..6], &[], &[]).unwrap();
    let now = &index.list().unwrap()[0];
    assert_eq!((now.running, now.done, now.status), (2, 1, RunStatus::Running));
}
