//! The index is a projection that reads as little as it can, and the folders stay the truth.

use crate::common;

use common::{Disk, me, meta};
use convoke_journal::{Index, Journal, Search, Sqlite, StateDir};
use convoke_model::{
    Digest, Event, JsonText, Payload, RunId, RunStarted, RunStatus, Stamped, TaskId, Timestamp,
};
use std::fs;

fn run(name: &str) -> RunId {
    RunId(name.into())
}

fn started(run: &RunId, workflow: &str, inputs: serde_json::Value) -> Event {
    Event::RunStarted(Box::new(RunStarted {
        run: run.clone(),
        workflow: workflow.into(),
        file: format!("{workflow}.yaml"),
        folder: "/home/a".into(),
        plan: Digest::of(b"plan"),
        inputs: Payload::Inline(JsonText::of(&inputs)),
        seed: 7,
        skip_gates: false,
        version: "0.1.0".into(),
        metadata: [("team".to_owned(), "Blue".into())].into_iter().collect(),
        configuration: Default::default(),
        base: None,
    }))
}

fn finished(status: RunStatus) -> Event {
    Event::RunFinished { status, output: None, failure: None }
}

fn stamp(events: Vec<Event>, from: u64, at: u64) -> Vec<Stamped> {
    (from..).zip(events).map(|(seq, event)| Stamped { seq, at: Timestamp(at + seq), event }).collect()
}

/// A run that has ended.
fn make(state: &StateDir, name: &str, workflow: &str, at: u64, inputs: serde_json::Value) {
    let events = vec![started(&run(name), workflow, inputs), finished(RunStatus::Succeeded)];
    let mut journal = Sqlite::create(state, &run(name), &meta(), &me()).unwrap();
    journal.append(&stamp(events, 1, at), &[], &[]).unwrap();
}

fn names(index: &mut Index, search: &Search) -> Vec<String> {
    index.find(search).unwrap().iter().map(|row| row.id.to_string()).collect()
}

/// Whatever opens this journal finds that it is none.
fn spoil(state: &StateDir, name: &str) {
    let dir = state.run_dir(&run(name));
    fs::write(dir.join("journal.db"), "rubbish".repeat(1_000)).unwrap();
}

#[test]
fn no_journal_of_a_run_that_has_ended_is_opened_twice() {
    let disk = Disk::new();
    let all: Vec<String> = (0..200).map(|n| format!("r{n:03}")).collect();
    for (name, at) in all.iter().zip((0..).step_by(10)) {
        make(&disk.state, name, "w", at, serde_json::json!({}));
    }
    let listed = Index::open(&disk.state).unwrap().list().unwrap();
    assert_eq!(listed.len(), all.len());
    all.iter().for_each(|name| spoil(&disk.state, name));
    make(&disk.state, "new", "w", 9_000, serde_json::json!({}));
    let again = Index::open(&disk.state).unwrap().list().unwrap();
    assert_eq!(again[1..], listed, "only the new one was read");
    let damaged = Index::open(&disk.state).unwrap().rebuild().unwrap();
    assert_eq!(damaged.iter().filter(|row| row.problem.is_some()).count(), all.len(), "all were read");
}

#[test]
fn a_long_journal_of_a_live_run_is_read_on_from_where_it_was_read() {
    let disk = Disk::new();
    let mut journal = disk.create();
    let attempt =
        |n: u64| Event::AttemptStarted { task: TaskId(format!("t{n}").into()), attempt: 1, lease: None };
    journal.append(&stamp(vec![started(&disk.run, "w", serde_json::json!({}))], 1, 0), &[], &[]).unwrap();
    journal.append(&stamp((2..1_002).map(attempt).collect(), 2, 0), &[], &[]).unwrap();
    let mut index = Index::open(&disk.state).unwrap();
    assert_eq!(index.list().unwrap()[0].running, 1_000);
    let early = rusqlite::Connection::open(disk.file("journal.db")).unwrap();
    early.execute("DELETE FROM records WHERE first = 1", []).unwrap();
    drop(early);
    let done = Event::TaskSucceeded { task: TaskId("t2".into()), output: Payload::Gathered };
    journal.append(&stamp(vec![done], 1_002, 0), &[], &[]).unwrap();
    let row = Index::open(&disk.state).unwrap().list().unwrap().remove(0);
    assert_eq!((row.running, row.done, row.events, row.problem), (999, 1, 1_002, None));
    assert_eq!(row.workflow, "w", "the first event is remembered");
    drop(journal);
    let row = index.rebuild().unwrap().remove(0);
    assert!(row.problem.is_some(), "read from the beginning, the missing record is found");
}

#[test]
fn another_journal_in_the_place_of_a_live_one_is_read_from_its_beginning() {
    let disk = Disk::new();
    let attempt =
        |n: u64| Event::AttemptStarted { task: TaskId(format!("t{n}").into()), attempt: 1, lease: None };
    let fill = |workflow: &str, count: u64| {
        let mut journal = disk.create();
        let first = started(&disk.run, workflow, serde_json::json!({}));
        journal.append(&stamp(vec![first], 1, 0), &[], &[]).unwrap();
        journal.append(&stamp((0..count).map(attempt).collect(), 2, 0), &[], &[]).unwrap();
    };
    fill("first", 1_000);
    let mut index = Index::open(&disk.state).unwrap();
    assert_eq!(index.list().unwrap()[0].workflow, "first");
    fs::remove_dir_all(disk.dir()).unwrap();
    fill("second", 2_000);
    let row = index.list().unwrap().remove(0);
    assert_eq!((row.workflow.as_str(), row.total), ("second", 2_000));
}

#[test]
fn a_run_that_goes_on_is_not_believed_to_have_ended() {
    let disk = Disk::new();
    make(&disk.state, "r", "w", 100, serde_json::json!({}));
    let mut index = Index::open(&disk.state).unwrap();
    assert_eq!(index.list().unwrap()[0].status, RunStatus::Succeeded);
    let mut journal = Sqlite::open_owner(&disk.state, &run("r"), &me()).unwrap();
    Index::expect_changes(&disk.state, &run("r"));
    assert_eq!(index.list().unwrap()[0].status, RunStatus::Succeeded, "it has done nothing yet");
    journal.append(&stamp(vec![Event::RunReopened(Default::default())], 3, 100), &[], &[]).unwrap();
    assert_eq!(index.list().unwrap()[0].status, RunStatus::Running);
    drop(journal);
    assert_eq!(index.list().unwrap()[0].status, RunStatus::Interrupted);
}

#[test]
fn a_line_from_the_events_at_hand_is_the_line_from_the_journal() {
    let disk = Disk::new();
    let parked = Event::RunParked { waiting: Vec::new() };
    for (name, last) in
        [("a", finished(RunStatus::Succeeded)), ("b", finished(RunStatus::Failed)), ("c", parked)]
    {
        let events = stamp(vec![started(&run(name), "w", serde_json::json!({"city": "Oslo"})), last], 1, 100);
        let mut journal = Sqlite::create(&disk.state, &run(name), &meta(), &me()).unwrap();
        journal.append(&events, &[], &[]).unwrap();
        drop(journal);
        let mut index = Index::open(&disk.state).unwrap();
        index.conclude(&run(name), &events).unwrap();
        let concluded = index.get(&run(name)).unwrap();
        let oslo = Search { words: vec!["oslo".into()], ..Search::default() };
        assert!(names(&mut index, &oslo).contains(&name.to_owned()), "its inputs are found");
        index.refresh(&run(name)).unwrap();
        assert_eq!(concluded, index.get(&run(name)).unwrap());
    }
}

#[test]
fn a_run_that_another_process_went_on_with_is_read_from_its_journal() {
    let disk = Disk::new();
    make(&disk.state, "r", "w", 100, serde_json::json!({}));
    let events = vec![started(&run("r"), "w", serde_json::json!({})), finished(RunStatus::Succeeded)];
    let mut journal = Sqlite::open_owner(&disk.state, &run("r"), &me()).unwrap();
    journal.append(&stamp(vec![Event::RunReopened(Default::default())], 3, 100), &[], &[]).unwrap();
    let mut index = Index::open(&disk.state).unwrap();
    index.conclude(&run("r"), &stamp(events.clone(), 1, 100)).unwrap();
    assert_eq!(index.list().unwrap()[0].status, RunStatus::Running, "while it is driven");
    drop(journal);
    index.conclude(&run("r"), &stamp(events, 1, 100)).unwrap();
    assert_eq!(index.list().unwrap()[0].status, RunStatus::Interrupted, "and afterwards");
}

#[test]
fn runs_are_found_by_words_status_folder_and_age() {
    let disk = Disk::new();
    make(&disk.state, "a", "review", 100, serde_json::json!({"city": "Oslo"}));
    make(&disk.state, "b", "report", 200, serde_json::json!({"city": "Bergen"}));
    make(
        &disk.state,
        "c",
        "report",
        300,
        serde_json::json!({"city": "Oslo", "long": "x".repeat(5_000) + "zebra"}),
    );
    let mut index = Index::open(&disk.state).unwrap();
    let words = |words: &[&str]| Search {
        words: words.iter().map(|word| (*word).into()).collect(),
        ..Search::default()
    };
    assert_eq!(names(&mut index, &words(&["oslo"])), ["c", "a"]);
    assert_eq!(names(&mut index, &words(&["OSLO", "report"])), ["c"]);
    assert_eq!(names(&mut index, &words(&["team=blue"])), ["c", "b", "a"]);
    assert!(names(&mut index, &words(&["zebra"])).is_empty(), "only the beginning of inputs is looked at");
    assert!(names(&mut index, &words(&["%"])).is_empty(), "no sign stands for others");
    let search = Search { workflow: Some("rep".into()), limit: Some(1), ..Search::default() };
    assert_eq!(names(&mut index, &search), ["c"]);
    let search = Search { since: Some(Timestamp(201)), ..Search::default() };
    assert_eq!(names(&mut index, &search), ["c", "b"]);
    let search = Search { folder: Some("/home/b".into()), ..Search::default() };
    assert!(names(&mut index, &search).is_empty());
    let search = Search { status: vec![RunStatus::Failed], ..Search::default() };
    assert!(names(&mut index, &search).is_empty());
}

#[test]
fn an_index_may_be_deleted_or_of_another_format_at_any_time() {
    let disk = Disk::new();
    make(&disk.state, "a", "w", 100, serde_json::json!({"city": "Oslo"}));
    let path = disk.state.path().join("runs.db");
    let oslo = Search { words: vec!["oslo".into()], ..Search::default() };
    let mut open = Index::open(&disk.state).unwrap();
    assert_eq!(names(&mut open, &oslo), ["a"]);
    fs::remove_file(&path).unwrap();
    assert_eq!(names(&mut open, &oslo), ["a"], "the one that is open goes on");
    assert_eq!(names(&mut Index::open(&disk.state).unwrap(), &oslo), ["a"]);
    for sql in
        ["PRAGMA user_version = 1", "PRAGMA user_version = 99", "DROP TABLE runs", "DROP TABLE cursors"]
    {
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        assert_eq!(names(&mut Index::open(&disk.state).unwrap(), &oslo), ["a"], "{sql}");
    }
}

#[test]
fn processes_that_list_and_put_at_once_agree() {
    let disk = Disk::new();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let state = disk.state.clone();
            std::thread::spawn(move || {
                for n in 0..10 {
                    make(&state, &format!("t{thread}n{n}"), "w", 100, serde_json::json!({}));
                    Index::open(&state).unwrap().list().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(Index::open(&disk.state).unwrap().list().unwrap().len(), 40);
}
