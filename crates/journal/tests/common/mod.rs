//! Events, stores and folders for the tests of this crate.
#![allow(dead_code, reason = "each test file uses its part")]

use convoke_journal::{Inbox, Journal, Memory, Message, Owner, RunMeta, Sqlite, StateDir};
use convoke_model::{Blob, Event, JsonText, Payload, RunId, Stamped, TaskId, Timestamp};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A way to open the owners of one run, one after the other.
pub trait Store {
    /// The first owner.
    fn first(&mut self) -> Box<dyn Journal>;
    /// The next one, after the last is gone.
    fn next(&mut self) -> Box<dyn Journal>;
    /// Leaves a message for the owner of the run.
    fn send(&self, at: Timestamp, body: Message);
}

impl Store for Memory {
    fn first(&mut self) -> Box<dyn Journal> {
        Box::new(self.clone())
    }

    fn next(&mut self) -> Box<dyn Journal> {
        *self = self.reopen();
        Box::new(self.clone())
    }

    fn send(&self, at: Timestamp, body: Message) {
        Memory::send(self, at, body);
    }
}

/// A state folder with one run.
pub struct Disk {
    pub folder: TempDir,
    pub state: StateDir,
    pub run: RunId,
}

impl Disk {
    pub fn new() -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        Disk { folder, state, run: RunId("20261115-101532-7k3q".into()) }
    }

    pub fn create(&self) -> Sqlite {
        Sqlite::create(&self.state, &self.run, &meta(), &me()).unwrap()
    }

    pub fn open(&self) -> Sqlite {
        Sqlite::open_owner(&self.state, &self.run, &me()).unwrap()
    }

    pub fn dir(&self) -> PathBuf {
        self.state.run_dir(&self.run)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }
}

impl Store for Disk {
    fn first(&mut self) -> Box<dyn Journal> {
        Box::new(self.create())
    }

    fn next(&mut self) -> Box<dyn Journal> {
        Box::new(self.open())
    }

    fn send(&self, at: Timestamp, body: Message) {
        Inbox::send(&self.state, &self.run, at, &body).unwrap();
    }
}

pub fn me() -> Owner {
    Owner { pid: std::process::id(), start: None, host: "here".into(), boot: "boot".into() }
}

pub fn meta() -> RunMeta {
    RunMeta { plan: JsonText::of(&"the plan"), source: JsonText::of(&["a.yaml", "name: a"]) }
}

pub fn note(seq: u64) -> Stamped {
    let event = Event::Noted { task: None, code: "note".into(), message: format!("event number {seq}") };
    Stamped { seq, at: Timestamp(1000 + seq), event }
}

pub fn notes(seqs: Range<u64>) -> Vec<Stamped> {
    seqs.map(note).collect()
}

/// An event with an output of about `size` bytes, and the blob it names.
pub fn blob_of(seq: u64, size: usize) -> (Stamped, Blob) {
    let (output, blob) = Payload::new(JsonText::of(&"long text ".repeat(size / 10)));
    let event = Event::TaskSucceeded { task: TaskId("t".into()), output };
    (Stamped { seq, at: Timestamp(seq), event }, blob.expect("long enough"))
}

pub fn stop(by: &str) -> Message {
    Message::Stop { now: false, by: by.into() }
}

/// A file system of four megabytes.
pub struct Small(tempfile::TempDir);

impl Small {
    #[expect(clippy::print_stderr, reason = "a test that did not run must be seen")]
    pub fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "none"]).arg(folder.path()).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Small(folder));
        }
        eprintln!("skipped: mounting a small file system is not permitted here");
        None
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn disk(&self) -> Disk {
        let state = StateDir::open(self.path().join("state")).unwrap();
        Disk { state, ..Disk::new() }
    }
}

impl Small {
    /// From now on nothing can be written to it.
    pub fn freeze(&self) {
        let frozen = Command::new("mount").args(["-o", "remount,ro"]).arg(self.path()).status().unwrap();
        assert!(frozen.success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.path()).status().ok();
    }
}
