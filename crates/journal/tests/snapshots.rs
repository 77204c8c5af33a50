//! Snapshots are a cache: used where they were written so for this journal, passed over everywhere else.

use crate::common;

use common::{Disk, notes};
use convoke_journal::{Error, Journal, Reader, Sqlite, repair, verify_snapshots};
use convoke_model::{Event, JsonText, Payload, Stamped, TaskId, Timestamp, Usage};
use std::fs;
use std::path::PathBuf;

const RULES: u32 = 7;

/// Every tenth event, so that what comes from a snapshot is seen.
fn tenth(events: Vec<Stamped>) -> Vec<Stamped> {
    events.into_iter().filter(|stamped| stamped.seq % 10 == 0).collect()
}

fn take(journal: &Sqlite) -> Option<u64> {
    journal.snapshot_taker().unwrap().take(RULES, &tenth, &|| false).unwrap()
}

fn seqs(events: &[Stamped]) -> Vec<u64> {
    events.iter().map(|stamped| stamped.seq).collect()
}

/// A journal of 46 events with snapshots at events 20, 30 and 40, of which two are kept.
fn journal(disk: &Disk) -> Sqlite {
    let mut journal = disk.create();
    for from in [1, 11, 21, 31] {
        journal.append(&notes(from..from + 10), &[], &[]).unwrap();
        if from > 1 {
            assert_eq!(take(&journal), Some(from / 10 + 1));
        }
    }
    journal.append(&notes(41..47), &[], &[]).unwrap();
    journal
}

fn files(disk: &Disk) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(disk.file("snapshots")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

const FROM_NEWEST: [u64; 10] = [10, 20, 30, 40, 41, 42, 43, 44, 45, 46];

#[test]
fn opening_takes_the_newest_snapshot_and_what_is_behind_it() {
    let disk = Disk::new();
    drop(journal(&disk));
    assert_eq!(files(&disk), [disk.file("snapshots/31"), disk.file("snapshots/41")]);
    let journal = disk.open();
    assert_eq!(seqs(&journal.recover(RULES).unwrap()), FROM_NEWEST);
    assert_eq!(journal.read_all().unwrap().len(), 46, "the journal itself has everything");
    assert_eq!(journal.recover(RULES + 1).unwrap().len(), 46, "made under other rules");
    assert_eq!(verify_snapshots(&disk.state, &disk.run, RULES, &tenth).unwrap(), 2);
    assert_eq!(verify_snapshots(&disk.state, &disk.run, RULES + 1, &tenth).unwrap(), 0);
}

#[test]
fn without_snapshots_the_journal_is_read() {
    let disk = Disk::new();
    let journal = journal(&disk);
    fs::remove_dir_all(disk.file("snapshots")).unwrap();
    assert_eq!(journal.recover(RULES).unwrap(), journal.read_all().unwrap());
    assert_eq!(take(&journal), Some(4));
    assert_eq!(take(&journal), None, "nothing has happened since");
    assert_eq!(verify_snapshots(&disk.state, &disk.run, RULES, &tenth).unwrap(), 1);
}

/// Every bit of the newest one, and every length.
#[test]
fn a_damaged_snapshot_is_named_and_the_one_before_is_used() {
    let disk = Disk::new();
    let journal = journal(&disk);
    let newest = disk.file("snapshots/41");
    let whole = fs::read(&newest).unwrap();
    let from_older: Vec<u64> = [10, 20, 30].into_iter().chain(31..47).collect();
    let check = |bytes: &[u8], what: &str| {
        fs::write(&newest, bytes).unwrap();
        assert_eq!(seqs(&journal.recover(RULES).unwrap()), from_older, "{what}");
        let error = verify_snapshots(&disk.state, &disk.run, RULES, &tenth).unwrap_err();
        assert!(matches!(&error, Error::Snapshot { path, .. } if *path == newest), "{what}: {error}");
    };
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&flipped, &format!("bit {bit}"));
    }
    for length in 0..whole.len() {
        check(&whole[..length], &format!("length {length}"));
    }
    fs::write(&newest, &whole).unwrap();
    assert_eq!(seqs(&journal.recover(RULES).unwrap()), FROM_NEWEST);
}

#[test]
fn a_snapshot_of_another_run_or_of_another_place_is_not_used() {
    let (disk, other) = (Disk::new(), Disk { run: convoke_model::RunId("other".into()), ..Disk::new() });
    let (one, two) = (journal(&disk), journal(&other));
    fs::copy(disk.file("snapshots/41"), other.file("snapshots/41")).unwrap();
    fs::remove_file(other.file("snapshots/31")).unwrap();
    assert_eq!(two.recover(RULES).unwrap().len(), 46);
    fs::rename(disk.file("snapshots/41"), disk.file("snapshots/31")).unwrap();
    assert_eq!(one.recover(RULES).unwrap().len(), 46);
}

/// A snapshot never stands for events that the journal does not have.
#[test]
fn after_a_repair_a_snapshot_of_what_was_cut_off_is_not_used() {
    let disk = Disk::new();
    drop(journal(&disk));
    let connection = rusqlite::Connection::open(disk.file("journal.db")).unwrap();
    connection.execute("UPDATE records SET hash = zeroblob(32) WHERE first = 31", []).unwrap();
    drop(connection);
    repair(&disk.state, &disk.run, &common::me()).unwrap();
    let journal = disk.open();
    assert_eq!(seqs(&journal.recover(RULES).unwrap()), [10, 20, 30], "of the snapshot before the cut");
    assert_eq!(journal.read_all().unwrap().len(), 30);
}

/// The tail behind a snapshot is checked like everything else.
#[test]
fn damage_behind_a_snapshot_is_found() {
    let disk = Disk::new();
    drop(journal(&disk));
    let connection = rusqlite::Connection::open(disk.file("journal.db")).unwrap();
    connection.execute("UPDATE records SET body = replace(body, '46', '47') WHERE first = 41", []).unwrap();
    drop(connection);
    let reader = Reader::open(&disk.state, &disk.run).unwrap();
    assert!(matches!(reader.recover(RULES), Err(Error::Damaged { seq: 41, .. })));
    // A tail that is gone is missed too, where it was acknowledged.
    let connection = rusqlite::Connection::open(disk.file("journal.db")).unwrap();
    connection.execute("DELETE FROM records WHERE first = 41", []).unwrap();
    drop(connection);
    let reader = Reader::open(&disk.state, &disk.run).unwrap();
    assert!(matches!(reader.recover(RULES), Err(Error::Lost { last: 40, acknowledged: 46, .. })));
}

#[test]
fn one_that_is_given_up_leaves_nothing() {
    let disk = Disk::new();
    let mut journal = disk.create();
    journal.append(&notes(1..100), &[], &[]).unwrap();
    let taken = journal.snapshot_taker().unwrap().take(RULES, &tenth, &|| true).unwrap();
    assert_eq!(taken, None);
    assert!(!disk.file("snapshots").exists());
}

/// What was put aside is the same when it is looked at, whatever its length, also in a snapshot of a snapshot.
#[test]
fn conversations_come_back_word_for_word() {
    let disk = Disk::new();
    let mut journal = disk.create();
    let task = || TaskId("a".into());
    let said = |number: u64| JsonText::of(&format!("{number} {}", "é ".repeat(number as usize * 7 % 1_500)));
    let turn = |seq: u64| {
        let (piece, usage) =
            (Payload::Inline(said(seq)), Usage { calls: 1, cost_micros: seq, ..Usage::default() });
        let event = Event::TurnRecorded { task: task(), attempt: 1, piece, kept: Vec::new(), usage };
        Stamped { seq, at: Timestamp(seq * 1_000), event }
    };
    let end = |seq: u64| {
        let (output, usage) = (Payload::Inline(said(seq)), Usage::default());
        let event = Event::AttemptFinished { task: task(), attempt: 1, output, usage };
        Stamped { seq, at: Timestamp(seq * 1_000), event }
    };
    let events: Vec<_> = (1..=900).map(|seq| if seq % 3 == 0 { end(seq) } else { turn(seq) }).collect();
    let whole = |events: Vec<Stamped>| events;
    for part in events.chunks(300) {
        journal.append(part, &[], &[]).unwrap();
        journal.snapshot_taker().unwrap().take(RULES, &whole, &|| false).unwrap();
    }
    assert_eq!(files(&disk).len(), 2);
    let recovered = journal.recover(RULES).unwrap();
    let Event::TurnRecorded { piece: Payload::Inline(last), .. } = &recovered[898].event else { panic!() };
    assert_eq!(last.as_str(), said(899).as_str());
    assert_eq!(recovered, events);
    assert_eq!(serde_json::to_string(&recovered).unwrap(), serde_json::to_string(&events).unwrap());
}

#[test]
fn a_snapshot_of_an_older_form_is_passed_over() {
    let disk = Disk::new();
    let journal = journal(&disk);
    let mut older = b"cnvksnap".to_vec();
    older.extend_from_slice(&RULES.to_le_bytes());
    older.extend_from_slice(&[7; 60]);
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"convoke snapshot\0").update(disk.run.0.as_bytes()).update(b"\0").update(&older);
    older.extend_from_slice(hasher.finalize().as_bytes());
    fs::write(disk.file("snapshots/45"), older).unwrap();
    assert_eq!(seqs(&journal.recover(RULES).unwrap()), FROM_NEWEST);
    assert_eq!(verify_snapshots(&disk.state, &disk.run, RULES, &tenth).unwrap(), 2);
}
