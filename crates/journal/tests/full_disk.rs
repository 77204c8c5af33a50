//! A full disk stops a run; it does not damage it.
//!
//! Needs a small file system, so these tests run where one may be mounted and say so where not.

mod common;

use common::{Disk, me, meta, note};
use convoke_journal::{Error, Journal, Sqlite, StateDir, verify};
use convoke_model::{Event, Stamped, Timestamp};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A file system of half a megabyte.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=768k", "none"])
            .arg(folder.path())
            .output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Small(folder));
        }
        eprintln!("skipped: mounting a small file system is not permitted here");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn disk(&self) -> Disk {
        let state = StateDir::open(self.path().join("state")).unwrap();
        Disk { state, ..Disk::new() }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.path()).status().ok();
    }
}

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
    fs::write(&filler, vec![1; 250_000]).unwrap();
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
    assert!(!disk.file("ballast").exists(), "the ballast made room");

    let seq = journal.next_seq();
    journal.append(&[note(seq)], &[], &[]).expect("a few words fit into the ballast's room");
    assert!(!disk.file("ballast").exists(), "it is not taken back while there is no room");
    assert_eq!(journal.read_all().unwrap().len() as u64, seq);
    assert_eq!(verify(&disk.state, &disk.run).unwrap().events, seq);

    fs::remove_file(filler).unwrap();
    journal.append(&[note(seq + 1)], &[], &[]).unwrap();
    drop(journal);
    let mut next = disk.open();
    next.append(&[note(seq + 2)], &[], &[]).unwrap();
    drop(next);
    assert_eq!(verify(&disk.state, &disk.run).unwrap().events, seq + 2);
}

#[test]
fn a_run_that_does_not_fit_is_not_left_half_made() {
    let Some(small) = Small::mount() else { return };
    let disk = small.disk();
    for room in (0..60_000).step_by(4096) {
        fs::write(small.path().join("filler"), []).unwrap();
        let free = 768 * 1024 - 2 * 4096 - room;
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
