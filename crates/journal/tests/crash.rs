//! What was acknowledged survives any end of its owner.

use crate::common;

use common::{Disk, Store, blob_of, me, meta, note, notes, stop};
use convoke_journal::{Error, Journal, Reader, Sqlite, StateDir, verify};
use convoke_model::{RunId, Timestamp};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a run as a power loss may leave it: without its shared memory, perhaps without its tip.
fn image(disk: &Disk, files: &[&str]) -> Disk {
    let copy = Disk { run: disk.run.clone(), ..Disk::new() };
    fs::create_dir(copy.dir()).unwrap();
    for name in files {
        if disk.file(name).exists() {
            fs::copy(disk.file(name), copy.file(name)).unwrap();
        }
    }
    copy
}

const ALL: &[&str] = &["journal.db", "journal.db-wal", "tip", "inbox.db"];

#[test]
fn a_copy_taken_after_any_append_has_everything_acknowledged() {
    let disk = Disk::new();
    let mut journal = disk.create();
    for seq in 1..30 {
        let (event, blob) = blob_of(seq, 5000 + seq as usize * 10);
        journal.append(&[event], &[blob], &[]).unwrap();
        let copy = image(&disk, ALL);
        assert_eq!(verify(&copy.state, &copy.run).unwrap().events, seq);
        let mut next = copy.open();
        assert_eq!((next.epoch(), next.next_seq()), (2, seq + 1));
        assert_eq!(next.read_all().unwrap(), journal.read_all().unwrap());
        next.append(&[note(seq + 1)], &[], &[]).unwrap();
    }
}

#[test]
fn a_log_cut_anywhere_leaves_a_whole_beginning() {
    let disk = Disk::new();
    let mut journal = disk.create();
    for from in (1..13).step_by(3) {
        journal.append(&notes(from..from + 3), &[], &[]).unwrap();
    }
    let log = fs::read(disk.file("journal.db-wal")).unwrap();
    let copy = image(&disk, &["journal.db"]);
    let mut lengths = std::collections::BTreeSet::new();
    for length in (0..log.len()).step_by(509) {
        fs::remove_file(copy.file("journal.db-shm")).ok();
        fs::write(copy.file("journal.db-wal"), &log[..length]).unwrap();
        // Without the log's first commit there is no run yet, which is known, not guessed.
        match Reader::open(&copy.state, &copy.run).and_then(|reader| reader.read_all()) {
            Ok(events) => {
                assert_eq!(events, notes(1..events.len() as u64 + 1));
                lengths.insert(events.len());
            }
            Err(error) => assert!(matches!(error, Error::Foreign { .. }), "{error}"),
        }
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 3, 6, 9]);
}

#[test]
fn a_message_is_neither_lost_nor_applied_twice_wherever_the_crash_falls() {
    let mut disk = Disk::new();
    let mut journal = disk.first();
    disk.send(Timestamp(1), stop("a"));
    let before_taking = image(&disk, ALL);
    let taken = journal.take_inbox().unwrap();
    let after_taking = image(&disk, ALL);
    let inbox_before_commit = fs::read(disk.file("inbox.db")).unwrap();
    let ids: Vec<_> = taken.iter().map(|message| message.id.clone()).collect();
    journal.append(&notes(1..2), &[], &ids).unwrap();
    let after_commit = image(&disk, ALL);
    let before_deletion = image(&disk, ALL);
    fs::write(before_deletion.file("inbox.db"), inbox_before_commit).unwrap();

    for lost in [before_taking, after_taking] {
        assert_eq!(lost.open().take_inbox().unwrap(), taken, "not consumed, so it comes again");
    }
    for kept in [after_commit, before_deletion] {
        assert_eq!(kept.open().take_inbox().unwrap(), [], "consumed, so it is over");
    }
}

#[test]
fn a_new_inbox_does_not_hide_behind_old_messages() {
    let mut disk = Disk::new();
    let mut journal = disk.first();
    disk.send(Timestamp(1), stop("a"));
    let ids: Vec<_> = journal.take_inbox().unwrap().into_iter().map(|message| message.id).collect();
    journal.append(&notes(1..2), &[], &ids).unwrap();
    drop(journal);
    fs::remove_file(disk.file("inbox.db")).unwrap();
    disk.send(Timestamp(2), stop("b"));
    assert_eq!(disk.next().take_inbox().unwrap()[0].body, stop("b"));
}

#[test]
fn a_run_cut_off_while_it_was_made_is_no_run() {
    let disk = Disk::new();
    fs::create_dir(disk.dir()).unwrap();
    assert!(matches!(Reader::open(&disk.state, &disk.run), Err(Error::UnknownRun { .. })));
    fs::write(disk.file("journal.db"), "").unwrap();
    assert!(matches!(Reader::open(&disk.state, &disk.run), Err(Error::Foreign { .. })));
    let error = Sqlite::create(&disk.state, &disk.run, &meta(), &me()).err();
    assert!(matches!(error, Some(Error::RunExists { .. })));
}

/// The victim of the next test: appends for ever and says what was acknowledged.
#[test]
#[ignore = "run by the test that kills it"]
fn appends_until_killed() {
    let path = std::env::var_os("CONVOKE_TEST_STATE").expect("set by the test that kills it");
    let (state, run) = (StateDir::open(Path::new(&path)).unwrap(), RunId("victim".into()));
    let mut journal = match Sqlite::create(&state, &run, &meta(), &me()) {
        Err(Error::RunExists { .. }) => Sqlite::open_owner(&state, &run, &me()).unwrap(),
        other => other.unwrap(),
    };
    let mut out = std::io::stdout();
    loop {
        let next = journal.next_seq();
        let (event, blob) = blob_of(next + 1, 5000 + next as usize % 9000);
        journal.append(&[note(next), event], &[blob], &[]).unwrap();
        writeln!(out, "\nacknowledged {}", next + 1).unwrap();
    }
}

#[test]
fn a_killed_owner_loses_nothing_it_acknowledged() {
    let disk = Disk::new();
    let (mut last, victim) = (0, RunId("victim".into()));
    for lines in [1, 17, 60, 5, 120] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::appends_until_killed", "--ignored", "--nocapture"])
            .env("CONVOKE_TEST_STATE", disk.state.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said = output.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok());
        let acknowledged = said.take(lines).last().expect("it appends");
        child.kill().unwrap();
        child.wait().unwrap();
        let found = verify(&disk.state, &victim).unwrap();
        assert!(
            found.events >= acknowledged && acknowledged > last,
            "{found:?}, acknowledged {acknowledged}"
        );
        last = found.events;
    }
}
