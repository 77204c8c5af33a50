//! A full disk stops a run; it does not damage it.
//!
//! Needs a small file system, so these tests run where one may be mounted and say so where not.

use crate::common;

use common::{Small, me, meta, note};
use convoke_journal::{Blocked, Error, Index, Journal, Sqlite, blocked, verify};
use convoke_model::{Event, Stamped, Timestamp};
use std::fs;

/// An event of some size that does not compress away.
fn long(seq: u64) -> Stamped {
    let event = Event::Noted { task: None, code: "x".into(), message: "0123456789".repeat(400) };
    Stamped { seq, at: Timestamp(seq), event }
}

#[test]
fn on_a_full_disk_the_last_words_are_written_and_the_run_goes_on_when_there_is_room() {
    let Some(small) = Small::mount() else { return };
    let disk = small.disk();
    let filler = small.path().join("filler");
    fs::write(&filler, vec![1; 2_500_000]).unwrap();
    let mut journal = disk.create();
    assert!(disk.file("ballast").exists());
    let refused = loop {
        let seq = journal.next_seq();
        if let Err(error) = journal.append(&[long(seq)], &[], &[]) {
            break error;
        }
        assert!(seq < 1000, "the disk is small");
    };
    assert!(matches!(refused, Error::DiskFull { .. }) && refused.may_pass(), "{refused}");
    assert!(disk.file("ballast").exists(), "it is kept for the last words");
    let seq = journal.next_seq();
    journal.append(&[long(seq)], &[], &[]).expect_err("another try does not use it up");
    assert!(disk.file("ballast").exists());
    journal.blocked(Some(Blocked::Disk));
    assert_eq!(blocked(&disk.state, &disk.run), Some(Blocked::Disk), "said without any room");
    journal.spend_ballast();
    assert!(!disk.file("ballast").exists(), "the ballast made room");

    let seq = journal.next_seq();
    journal.append(&[note(seq)], &[], &[]).expect("a few words fit into the ballast's room");
    assert!(!disk.file("ballast").exists(), "it is not taken back while there is no room");
    assert_eq!(journal.read_all().unwrap().len() as u64, seq);
    assert_eq!(verify(&disk.state, &disk.run).unwrap().events, seq);

    fs::remove_file(filler).unwrap();
    journal.append(&[note(seq + 1)], &[], &[]).unwrap();
    assert!(disk.file("ballast").exists(), "there is room again");
    drop(journal);
    let mut next = disk.open();
    next.append(&[note(seq + 2)], &[], &[]).unwrap();
    drop(next);
    assert_eq!(verify(&disk.state, &disk.run).unwrap().events, seq + 2);
}

#[test]
fn a_full_disk_costs_nobody_a_listing() {
    let Some(small) = Small::mount() else { return };
    let disk = small.disk();
    let mut journal = disk.create();
    journal.append(&[note(1)], &[], &[]).unwrap();
    let mut index = Index::open(&disk.state).unwrap();
    // As much as there is room for.
    fs::write(small.path().join("filler"), vec![1; 8 * 1024 * 1024]).unwrap_err();
    assert_eq!(index.list().unwrap().len(), 1);
}

#[test]
fn a_run_that_does_not_fit_is_not_left_half_made() {
    let Some(small) = Small::mount() else { return };
    let disk = small.disk();
    for room in (0..60_000).step_by(4096) {
        fs::write(small.path().join("filler"), []).unwrap();
        let free = 4 * 1024 * 1024 - 2 * 4096 - room;
        fs::write(small.path().join("filler"), vec![1; free]).ok();
        match Sqlite::create(&disk.state, &disk.run, &meta(), &me()) {
            Err(_) => assert_eq!(disk.state.runs().unwrap(), []),
            Ok(journal) => {
                drop(journal);
                fs::remove_dir_all(disk.dir()).unwrap();
            }
        }
    }
}
