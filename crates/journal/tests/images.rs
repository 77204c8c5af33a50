//! Every state that a crash may leave on the disk is recovered, and so is every error of the disk.
//!
//! A journal is written while its operations are recorded in their order. A crash after any of them keeps what was synced; of the
//! rest any part may be there, also half of a write, and in any order: a disk writes when it likes. From the record such images
//! are made, and each is opened by the next owner.

#![allow(clippy::print_stderr, reason = "the counts are told")]

use crate::common;

use common::{Disk, me, meta, note};
use convoke_journal::disk::{self, Fate, Op};
use convoke_journal::{Error, Journal, Sqlite, verify};
use convoke_model::{Blob, Digest, JsonText, Stamped};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
/// A disk may write half of what it was given, in pieces of this size.
const SECTOR: usize = 512;

/// An operation that was made, by the number of the file that it was made to.
#[derive(Debug, Clone)]
enum Made {
    Name(String, usize),
    Removed(String),
    Renamed(String, String, usize),
    Written(usize, u64, Vec<u8>),
    Cut(usize, u64),
    Synced(usize),
    NamesSynced,
    /// So many events were acknowledged.
    Acknowledged(usize),
}

/// What was made, in its order.
#[derive(Default)]
struct Record {
    made: Vec<Made>,
    names: BTreeMap<String, usize>,
    files: usize,
}

impl Record {
    fn file(&mut self, path: &Path) -> usize {
        let name = name_of(path);
        match self.names.get(&name) {
            Some(file) => *file,
            None => self.name(name),
        }
    }

    fn name(&mut self, name: String) -> usize {
        self.files += 1;
        self.names.insert(name.clone(), self.files);
        self.made.push(Made::Name(name, self.files));
        self.files
    }

    fn add(&mut self, op: &Op<'_>) {
        let made = match *op {
            Op::Make(path) => {
                self.name(name_of(path));
                return;
            }
            Op::Write(path, at, bytes) => Made::Written(self.file(path), at, bytes.to_vec()),
            Op::Truncate(path, length) => Made::Cut(self.file(path), length),
            Op::Sync(path) => Made::Synced(self.file(path)),
            Op::SyncFolder(_) => Made::NamesSynced,
            Op::Rename(from, to) => {
                let file = self.file(from);
                self.names.remove(&name_of(from));
                self.names.insert(name_of(to), file);
                Made::Renamed(name_of(from), name_of(to), file)
            }
            Op::Remove(path) => {
                self.names.remove(&name_of(path));
                Made::Removed(name_of(path))
            }
        };
        self.made.push(made);
    }

    /// Which of the first operations a crash cannot undo.
    fn settled(&self, count: usize) -> Vec<bool> {
        let mut settled = vec![false; count];
        for (at, made) in self.made[..count].iter().enumerate() {
            for (before, earlier) in self.made[..at].iter().enumerate() {
                settled[before] |= match (made, earlier) {
                    (Made::Synced(file), Made::Written(of, ..) | Made::Cut(of, _)) => file == of,
                    (Made::NamesSynced, Made::Name(..) | Made::Removed(_) | Made::Renamed(..)) => true,
                    _ => false,
                };
            }
        }
        settled
    }

    fn acknowledged(&self, count: usize) -> usize {
        let made = self.made[..count].iter().rev();
        made.filter_map(|made| if let Made::Acknowledged(events) = made { Some(*events) } else { None })
            .next()
            .unwrap_or(0)
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The files that are there.
type Image = BTreeMap<String, Vec<u8>>;

/// What is on the disk if these operations reached it, one of them perhaps in part.
fn image(made: &[Made], kept: impl Fn(usize) -> bool, torn: Option<(usize, usize)>) -> Image {
    let (mut names, mut contents) = (BTreeMap::new(), BTreeMap::<usize, Vec<u8>>::new());
    for (at, made) in made.iter().enumerate().filter(|(at, _)| kept(*at)) {
        match made {
            Made::Name(name, file) => drop(names.insert(name.clone(), *file)),
            Made::Removed(name) => drop(names.remove(name)),
            Made::Renamed(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Made::Written(file, offset, bytes) => {
                let length = torn.filter(|(which, _)| *which == at).map_or(bytes.len(), |(_, length)| length);
                let (content, offset) = (contents.entry(*file).or_default(), *offset as usize);
                content.resize(content.len().max(offset + length), 0);
                content[offset..offset + length].copy_from_slice(&bytes[..length]);
            }
            Made::Cut(file, length) => contents.entry(*file).or_default().resize(*length as usize, 0),
            Made::Synced(_) | Made::NamesSynced | Made::Acknowledged(_) => {}
        }
    }
    names.into_iter().map(|(name, file)| (name, contents.get(&file).cloned().unwrap_or_default())).collect()
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 33
    }
}

/// The images that a crash after so many operations may leave: everything or nothing of what was not synced, one of it less, one
/// alone, one in part, and parts drawn at random.
fn images(record: &Record, count: usize, dice: &mut Dice, most: usize) -> Vec<Image> {
    let made = &record.made[..count];
    let settled = record.settled(count);
    let open: Vec<usize> = (0..count)
        .filter(|at| !settled[*at])
        .filter(|at| !matches!(made[*at], Made::Synced(_) | Made::NamesSynced | Made::Acknowledged(_)))
        .collect();
    let with = |chosen: &dyn Fn(usize) -> bool, torn| image(made, |at| settled[at] || chosen(at), torn);
    let mut found = vec![with(&|_| false, None), with(&|_| true, None)];
    for at in drawn(&open, dice, most) {
        found.push(with(&|other| other != at, None));
        found.push(with(&|other| other == at, None));
        found.push(with(&|other| other <= at, None));
        if let Made::Written(_, _, bytes) = &made[at] {
            let length = (dice.roll() as usize % (bytes.len() / SECTOR + 1)) * SECTOR;
            found.push(with(&|other| other <= at, Some((at, length))));
        }
        let seed = dice.roll();
        found.push(with(&|other| Dice(seed ^ other as u64).roll().is_multiple_of(2), None));
    }
    found
}

fn drawn(open: &[usize], dice: &mut Dice, most: usize) -> Vec<usize> {
    if open.len() <= most {
        return open.to_vec();
    }
    (0..most).map(|_| open[dice.roll() as usize % open.len()]).collect()
}

/// A text that does not become shorter when it is packed.
fn noise(seed: u64, length: usize) -> Blob {
    let mut dice = Dice(seed);
    let text: String = (0..length).map(|_| char::from(b'!' + (dice.roll() % 90) as u8)).collect();
    let text = JsonText::of(&text);
    Blob { digest: Digest::of(text.as_str().as_bytes()), text }
}

/// Two owners, one after the other, whose log is copied into the database on the way.
fn scenario(
    disk: &Disk,
    mut begins: impl FnMut(),
    mut acknowledged: impl FnMut(usize),
) -> Result<Vec<Stamped>, Error> {
    let mut events = Vec::new();
    for owner in 0..2 {
        begins();
        let mut journal = match owner {
            0 => Sqlite::create(&disk.state, &disk.run, &meta(), &me())?,
            _ => Sqlite::open_owner(&disk.state, &disk.run, &me())?,
        };
        for _ in 0..9 {
            let seq = events.len() as u64 + 1;
            journal.append(&[note(seq)], &[noise(seq, 80_000)], &[])?;
            events.push(note(seq));
            acknowledged(events.len());
        }
    }
    Ok(events)
}

fn recorded() -> (Record, Vec<Stamped>) {
    let disk = Disk::new();
    let record = Rc::new(RefCell::new(Record::default()));
    let seen = record.clone();
    disk::watch(Some(Rc::new(move |op: &Op<'_>| {
        seen.borrow_mut().add(op);
        Fate::Pass
    })));
    let events =
        scenario(&disk, || {}, |count| record.borrow_mut().made.push(Made::Acknowledged(count))).unwrap();
    disk::watch(None);
    (record.take(), events)
}

/// What a new owner makes of an image: everything acknowledged is there, nothing was made up, and it can go on.
fn recover(files: &Image, events: &[Stamped], acknowledged: usize) {
    let disk = Disk::new();
    fs::create_dir(disk.dir()).unwrap();
    files.iter().for_each(|(name, content)| fs::write(disk.file(name), content).unwrap());
    let mut journal = match Sqlite::open_owner(&disk.state, &disk.run, &me()) {
        Ok(journal) => journal,
        // Before anything was acknowledged there may be no run yet.
        Err(error) => return assert_eq!(acknowledged, 0, "{error}"),
    };
    let found = journal.read_all().unwrap();
    assert!(found.len() >= acknowledged, "{} of {acknowledged} are there", found.len());
    assert_eq!(found, events[..found.len()]);
    journal.append(&[note(found.len() as u64 + 1)], &[], &[]).unwrap();
    drop(journal);
    assert_eq!(verify(&disk.state, &disk.run).unwrap().events, found.len() as u64 + 1);
}

/// `CONVOKE_IMAGES=N`: so many operations that were not synced are left out, kept alone and torn at each crash. Unless told it is
/// one, and a crash after every seventh operation.
#[test]
fn every_image_that_a_crash_may_leave_is_recovered() {
    let told = std::env::var("CONVOKE_IMAGES").ok().and_then(|most| most.parse().ok());
    let (most, step) = (told.unwrap_or(1), if told.is_some() { 1 } else { 7 });
    let (record, events) = recorded();
    let cut = record.made.iter().filter(|made| matches!(made, Made::Synced(_))).count();
    assert!(cut > 18, "the log was copied: {cut} syncs for 18 appends");
    let (mut dice, mut seen) = (Dice(7), HashSet::new());
    for count in (0..=record.made.len()).step_by(step) {
        let acknowledged = record.acknowledged(count);
        for files in images(&record, count, &mut dice, most) {
            if seen.insert((acknowledged, Digest::of(&serde_bytes(&files)))) {
                recover(&files, &events, acknowledged);
            }
        }
    }
    eprintln!("{} operations, {} images", record.made.len(), seen.len());
    assert!(seen.len() > 300, "{} operations, {} images", record.made.len(), seen.len());
}

/// SQLite syncs its log before it copies it, also where the last append has just done so.
#[test]
fn a_log_that_did_not_change_is_not_synced_again() {
    let disk = Disk::new();
    let synced = Rc::new(RefCell::new(Vec::new()));
    let seen = synced.clone();
    disk::watch(Some(Rc::new(move |op: &Op<'_>| {
        if let Op::Sync(path) = op {
            seen.borrow_mut().push(name_of(path));
        }
        Fate::Pass
    })));
    let mut journal = disk.create();
    for seq in 1..=3 {
        journal.append(&[note(seq)], &[], &[]).unwrap();
    }
    drop(journal);
    disk::watch(None);
    let log = "journal.db-wal";
    assert_eq!(synced.take(), ["journal.db", log, log, log, "journal.db"], "made, three appends, copied");
}

fn serde_bytes(files: &Image) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(content);
    }
    bytes
}

/// Whether an operation counts.
type Counts = fn(&Op<'_>) -> bool;

/// Runs the scenario with one operation that fails, by its number among those that count. Says how many events were acknowledged, what was refused, and which syncs came
/// after one that had failed.
fn with_failure(
    counts: fn(&Op<'_>) -> bool,
    at: usize,
    errno: i32,
) -> Option<(Disk, usize, Error, Vec<PathBuf>)> {
    let disk = Disk::new();
    let (seen, failed) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(None::<PathBuf>)));
    let again = Rc::new(RefCell::new(Vec::new()));
    let (count, first, later) = (seen.clone(), failed.clone(), again.clone());
    disk::watch(Some(Rc::new(move |op: &Op<'_>| {
        let now = count.replace(count.get() + usize::from(counts(op)));
        if let Op::Sync(path) = op
            && first.borrow().as_deref() == Some(*path)
        {
            later.borrow_mut().push(path.to_path_buf());
        }
        if now != at || !counts(op) {
            return Fate::Pass;
        }
        if let Op::Sync(path) = op {
            *first.borrow_mut() = Some(path.to_path_buf());
        }
        if let Op::Write(_, _, bytes) = op { Fate::Tear(bytes.len() / 2, errno) } else { Fate::Fail(errno) }
    })));
    let acknowledged = Cell::new(0);
    // A new owner begins with what is on the disk, whatever became of the one before.
    let result = scenario(&disk, || drop(failed.take()), |events| acknowledged.set(events));
    disk::watch(None);
    let again = again.take();
    match result {
        Err(error) => Some((disk, acknowledged.get(), error, again)),
        Ok(_) if seen.get() <= at => None,
        // What failed was of no consequence: the tip, the name in the lock.
        Ok(events) => {
            let error = Error::Poisoned { run: disk.run.clone(), cause: "none".into() };
            Some((disk, events.len(), error, again))
        }
    }
}

/// Every write, truncation, sync and change of a name fails once, with an error of the disk and with a full one. Nothing that was
/// acknowledged is lost, a sync that failed is never tried again, and the next owner goes on.
#[test]
fn any_error_of_the_disk_leaves_what_was_acknowledged() {
    let step = std::env::var("CONVOKE_IMAGES").map_or(29, |_| 1);
    let mut failures = 0;
    let (any, syncs): (Counts, Counts) = (|_| true, |op| matches!(op, Op::Sync(_)));
    for (counts, step, errno) in [(any, step, EIO), (any, step, ENOSPC), (syncs, 1, EIO)] {
        for at in (0..).step_by(step) {
            let Some((disk, acknowledged, error, again)) = with_failure(counts, at, errno) else { break };
            failures += 1;
            assert!(again.is_empty(), "operation {at}: {error}: synced again: {again:?}");
            assert!(acknowledged < 18 || error.to_string().contains("none"), "{error}");
            match Sqlite::open_owner(&disk.state, &disk.run, &me()) {
                Ok(mut journal) => {
                    let found = journal.read_all().unwrap();
                    assert!(found.len() >= acknowledged, "operation {at}: {} of {acknowledged}", found.len());
                    journal.append(&[note(found.len() as u64 + 1)], &[], &[]).unwrap();
                }
                Err(other) => assert_eq!(acknowledged, 0, "operation {at}: {error}, then {other}"),
            }
        }
    }
    eprintln!("{failures} failures");
    assert!(failures > 60, "{failures} failures");
}
