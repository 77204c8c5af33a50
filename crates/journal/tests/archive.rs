//! A run moves whole, or not at all.

use crate::common;

use common::{Disk, blob_of, me, note, stop};
use convoke_journal::{
    Error, Imported, Inbox, Index, Journal, Owner, Sqlite, StateDir, export, import, verify,
};
use convoke_model::Timestamp;
use std::fs;
use std::path::Path;

/// A run with events, a blob, a message that waits and a log.
fn source() -> Disk {
    let disk = Disk::new();
    let mut journal = disk.create();
    for seq in 1..6 {
        journal.append(&[note(seq)], &[], &[]).unwrap();
    }
    let (event, blob) = blob_of(6, 9_000);
    journal.append(&[event], &[blob], &[]).unwrap();
    drop(journal);
    Inbox::send(&disk.state, &disk.run, Timestamp(7), &stop("me")).unwrap();
    fs::write(disk.file("log"), "what it said\n").unwrap();
    disk
}

fn exported(disk: &Disk) -> Vec<u8> {
    let mut bytes = Vec::new();
    let exported = export(&disk.state, &disk.run, &mut bytes).unwrap();
    assert_eq!(exported.bytes, bytes.len() as u64);
    bytes
}

fn taken(state: &StateDir, bytes: &[u8]) -> Result<Imported, Error> {
    import(state, &mut &bytes[..], Path::new("run.convoke"))
}

fn runs(state: &StateDir) -> usize {
    fs::read_dir(state.path().join("runs")).unwrap().count()
}

#[test]
fn a_run_arrives_with_everything_and_goes_on_elsewhere() {
    let (from, to) = (source(), Disk::new());
    let bytes = exported(&from);
    let imported = taken(&to.state, &bytes).unwrap();
    assert_eq!((imported.run, imported.events, imported.messages), (from.run.clone(), 6, 1));
    assert!(!imported.live && !imported.was_there);
    assert_eq!(verify(&to.state, &to.run).unwrap(), verify(&from.state, &from.run).unwrap());
    assert_eq!(fs::read_to_string(to.file("log")).unwrap(), "what it said\n");
    assert_eq!(Index::open(&to.state).unwrap().list().unwrap().len(), 1);
    assert_eq!((runs(&to.state), runs(&from.state)), (1, 1), "no draft is left");
    assert_eq!(exported(&to), bytes, "an export of an import is the same file");

    let elsewhere = Owner { host: "elsewhere".into(), boot: "other".into(), ..me() };
    let mut journal = Sqlite::open_owner(&to.state, &to.run, &elsewhere).unwrap();
    assert_eq!((journal.epoch(), journal.next_seq()), (2, 7));
    assert_eq!(journal.read_all().unwrap(), from.open().read_all().unwrap());
    let waiting = journal.take_inbox().unwrap();
    assert_eq!(waiting.len(), 1);
    journal.append(&[note(7)], &[], &[waiting[0].id.clone()]).unwrap();
    drop(journal);
    assert_eq!(verify(&to.state, &to.run).unwrap().events, 7);
}

#[test]
fn a_run_that_is_there_is_left_alone_and_told_from_another_of_its_name() {
    let (from, to) = (source(), Disk::new());
    let bytes = exported(&from);
    taken(&to.state, &bytes).unwrap();
    assert!(taken(&to.state, &bytes).unwrap().was_there);
    let mut journal = to.open();
    journal.append(&[note(7)], &[], &[]).unwrap();
    drop(journal);
    let error = taken(&to.state, &bytes).unwrap_err();
    assert!(matches!(error, Error::RunExists { .. }), "{error:?}");
    assert_eq!(verify(&to.state, &to.run).unwrap().events, 7);
    assert_eq!(runs(&to.state), 1);
}

#[test]
fn a_live_run_is_exported_as_it_stands_and_says_so() {
    let (from, to) = (Disk::new(), Disk::new());
    let mut journal = from.create();
    journal.append(&[note(1)], &[], &[]).unwrap();
    journal.append(&[note(2)], &[], &[]).unwrap();
    let mut bytes = Vec::new();
    assert!(export(&from.state, &from.run, &mut bytes).unwrap().live);
    journal.append(&[note(3)], &[], &[]).unwrap();
    let imported = taken(&to.state, &bytes).unwrap();
    assert_eq!((imported.events, imported.live), (2, true));
    assert_eq!(verify(&to.state, &to.run).unwrap().events, 2);
}

#[test]
fn every_cut_and_a_flip_in_every_byte_is_refused() {
    let (from, to) = (source(), Disk::new());
    let bytes = exported(&from);
    let refused = |damaged: &[u8], what: &str| {
        let error = taken(&to.state, damaged).expect_err(what);
        assert!(matches!(error, Error::Archive { .. } | Error::Newer { .. }), "{what}: {error:?}");
    };
    for length in 0..bytes.len() {
        refused(&bytes[..length], &format!("cut at {length}"));
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        refused(&damaged, &format!("flip at {at}"));
    }
    refused(&[&bytes[..], b"more"].concat(), "a longer one");
    refused(b"SQLite format 3\0", "another kind of file");
    assert_eq!(runs(&to.state), 0, "nothing is left behind");
}
