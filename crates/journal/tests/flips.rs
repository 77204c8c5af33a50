//! Every single bit of a journal is flipped, and every file of it is cut at every byte: `verify` names the damage, or what is read is what
//! was written.
//!
//! The long form (`CONVOKE_FLIPS=all`) takes all bits of a journal of 64 KiB; the short one takes every 997th bit and every 251st
//! length. `CONVOKE_FLIPS=2/8` takes the second of eight parts of all, so that several processes share the work. The counts are printed.
#![allow(clippy::print_stderr, reason = "what was counted is for people")]

use crate::common;

use common::{Disk, blob_of, notes};
use convoke_journal::{Error, Journal, Reader, Sqlite, StateDir, verify};
use convoke_model::{Blob, RunId, Stamped};
use std::fs::{self, File, OpenOptions};
use std::ops::AddAssign;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

const SIZE: usize = 64 * 1024;
const FILES: [&str; 3] = ["journal.db", "journal.db-wal", "tip"];

/// The files of a journal, and what can be read in it.
struct Specimen {
    run: RunId,
    events: Vec<Stamped>,
    blob: Blob,
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Specimen {
    /// Whose file `name` has `SIZE` bytes: as an owner leaves it that ends, or one that is killed.
    fn of(name: &str, end: fn(Sqlite)) -> Specimen {
        let mut notes = 20;
        loop {
            let specimen = Specimen::with(notes, end);
            let size = specimen.bytes(name).len();
            // A log has a header and frames, so it does not end at a round number.
            if size >= SIZE || size + 4200 > SIZE && name.ends_with("-wal") {
                return specimen;
            }
            notes += if size + 8192 < SIZE { 20 } else { 1 };
        }
    }

    fn with(last: u64, end: fn(Sqlite)) -> Specimen {
        let folder = in_memory();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let disk = Disk { folder, state, run: RunId("20261115-101532-7k3q".into()) };
        let mut journal = disk.create();
        let (event, blob) = blob_of(1, 6000);
        journal.append(std::slice::from_ref(&event), std::slice::from_ref(&blob), &[]).unwrap();
        let mut events = vec![event];
        for first in (2..last).step_by(3) {
            let some = notes(first..first + 3);
            journal.append(&some, &[], &[]).unwrap();
            events.extend(some);
        }
        end(journal);
        let read = |name| {
            fs::read(disk.file(name)).ok().filter(|bytes| !bytes.is_empty()).map(|bytes| (name, bytes))
        };
        let files = FILES.into_iter().filter_map(read).collect();
        Specimen { run: disk.run.clone(), events, blob, files }
    }

    fn bytes(&self, name: &str) -> &[u8] {
        self.files.iter().find(|(file, _)| *file == name).map_or(&[], |(_, bytes)| bytes)
    }

    /// A copy of its own for a thread, in memory where there is such a place.
    fn copy(&self) -> Copy<'_> {
        let folder = in_memory();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        fs::create_dir(state.run_dir(&self.run)).unwrap();
        for (name, bytes) in &self.files {
            fs::write(state.run_dir(&self.run).join(name), bytes).unwrap();
        }
        Copy { specimen: self, state, _folder: folder }
    }
}

/// A folder in memory where there is such a place: nothing here is about the disk.
fn in_memory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

struct Copy<'a> {
    specimen: &'a Specimen,
    state: StateDir,
    _folder: tempfile::TempDir,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Count {
    cases: u64,
    named: u64,
    harmless: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.cases += other.cases;
        self.named += other.named;
        self.harmless += other.harmless;
    }
}

impl Copy<'_> {
    fn file(&self, name: &str) -> File {
        let path = self.state.run_dir(&self.specimen.run).join(name);
        OpenOptions::new().read(true).write(true).open(path).unwrap()
    }

    /// Flips these bits of a file, one at a time.
    fn flip(&self, name: &str, bits: impl Iterator<Item = usize>) -> Count {
        let (bytes, mut count) = (self.specimen.bytes(name), Count::default());
        for bit in bits {
            // Any descriptor that is closed here would end the locks of a connection; none is open between two cases.
            let (place, byte) = (bit as u64 / 8, bytes[bit / 8]);
            self.file(name).write_all_at(&[byte ^ 1 << (bit % 8)], place).unwrap();
            count += self.judge(&format!("bit {bit} of {name}"));
            self.file(name).write_all_at(&[byte], place).unwrap();
        }
        count
    }

    /// Cuts a file at these lengths, from the longest to the shortest, so that nothing has to be put back in between.
    fn cut(&self, name: &str, lengths: impl Iterator<Item = usize>) -> Count {
        let mut count = Count::default();
        for length in lengths {
            self.file(name).set_len(length as u64).unwrap();
            count += self.judge(&format!("{name} cut at {length}"));
        }
        self.file(name).write_all_at(self.specimen.bytes(name), 0).unwrap();
        count
    }

    /// The damage is found and has a name, or nothing of what was written is different.
    fn judge(&self, what: &str) -> Count {
        let Specimen { run, events, blob, .. } = self.specimen;
        match verify(&self.state, run) {
            Err(error) => {
                assert!(names_its_place(&error), "{what}: {error}");
                Count { cases: 1, named: 1, harmless: 0 }
            }
            Ok(_) => {
                let reader = Reader::open(&self.state, run).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(
                    reader.read_all().is_ok_and(|read| read == *events),
                    "{what}: other events, unnoticed"
                );
                let text = reader.blob(&blob.digest).ok().flatten();
                assert_eq!(text.as_ref(), Some(&blob.text), "{what}: another blob, unnoticed");
                drop(reader);
                self.opens(what);
                Count { cases: 1, named: 0, harmless: 1 }
            }
        }
    }

    /// What is called whole can be gone on with: an owner opens it, appends and reads all of it. Then all files are as before.
    fn opens(&self, what: &str) {
        let Specimen { run, events, .. } = self.specimen;
        let opened = Sqlite::open_owner(&self.state, run, &common::me());
        let mut journal =
            opened.unwrap_or_else(|error| panic!("{what}: whole, but not to be opened: {error}"));
        let next = notes(events.len() as u64 + 1..events.len() as u64 + 2);
        journal
            .append(&next, &[], &[])
            .unwrap_or_else(|error| panic!("{what}: whole, but takes no event: {error}"));
        assert_eq!(journal.read_all().unwrap().len(), events.len() + 1, "{what}");
        drop(journal);
        self.restore();
    }

    fn restore(&self) {
        let dir = self.state.run_dir(&self.specimen.run);
        fs::remove_dir_all(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
        for (name, bytes) in &self.specimen.files {
            fs::write(dir.join(name), bytes).unwrap();
        }
    }
}

/// Whether the message names an event, a blob or a file.
fn names_its_place(error: &Error) -> bool {
    let text = error.to_string();
    if matches!(error, Error::Foreign { .. }) {
        return false; // a journal that is damaged is one
    }
    matches!(error, Error::UnknownRun { .. })
        || ["event ", "blob ", "journal.db", "`tip`"].iter().any(|name| text.contains(name))
}

/// What is damaged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Sample,
    All,
    /// So many cases are left out before the first one, and one of so many is taken.
    Part(usize, usize),
}

impl Extent {
    fn told() -> Extent {
        let told = std::env::var("CONVOKE_FLIPS").unwrap_or_default();
        let part = |text: &str| {
            let (part, of) = text.split_once('/')?;
            let (part, of): (usize, usize) = (part.parse().ok()?, of.parse().ok()?);
            (1..=of).contains(&part).then_some(Extent::Part(part - 1, of))
        };
        match told.as_str() {
            "" => Extent::Sample,
            "all" => Extent::All,
            text => part(text)
                .unwrap_or_else(|| panic!("CONVOKE_FLIPS={text} is neither `all` nor a part such as 2/8")),
        }
    }

    /// The first case that is taken, and how far it is from one to the next; a step of the sample's own.
    fn steps(self, sample: usize) -> (usize, usize) {
        match self {
            Extent::Sample => (0, sample),
            Extent::All => (0, 1),
            Extent::Part(first, of) => (first, of),
        }
    }
}

/// Spreads the cases over the cores, each with a copy of the files.
fn spread(specimen: &Specimen, work: impl Fn(&Copy<'_>, usize, usize) -> Count + Sync) -> Count {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut all = Count::default();
    thread::scope(|scope| {
        let work = &work;
        let each = |thread| scope.spawn(move || work(&specimen.copy(), thread, threads));
        let running: Vec<_> = (0..threads).map(each).collect();
        running.into_iter().for_each(|thread| all += thread.join().unwrap());
    });
    all
}

fn damage_all(form: &str, specimen: &Specimen) -> Count {
    let mut all = Count::default();
    for (name, bytes) in &specimen.files {
        // The small files are quick enough to be damaged everywhere.
        let steps = |sample| Extent::told().steps(if bytes.len() < 100 { 1 } else { sample });
        let (first, step) = steps(997);
        let flips = spread(specimen, |copy, thread, threads| {
            copy.flip(name, (first + thread * step..bytes.len() * 8).step_by(step * threads))
        });
        let (first, step) = steps(251);
        let cuts = spread(specimen, |copy, thread, threads| {
            let lengths = (first + thread * step..bytes.len()).step_by(step * threads);
            copy.cut(name, lengths.collect::<Vec<_>>().into_iter().rev())
        });
        eprintln!(
            "{form}, {name} ({} bytes): {} flips ({} named, {} harmless), {} cuts ({} named, {} harmless)",
            bytes.len(),
            flips.cases,
            flips.named,
            flips.harmless,
            cuts.cases,
            cuts.named,
            cuts.harmless
        );
        all += flips;
        all += cuts;
    }
    all
}

#[test]
fn every_flip_and_cut_of_a_closed_journal_is_named_or_harmless() {
    let specimen = Specimen::of("journal.db", drop);
    assert_eq!(specimen.bytes("journal.db").len(), SIZE);
    let all = damage_all("closed", &specimen);
    assert_eq!(all.cases, all.named + all.harmless);
    assert!(all.named > all.cases / 4, "a file is mostly content: {all:?}");
    if Extent::told() == Extent::All {
        assert_eq!(all.cases, (SIZE * 8 + SIZE + 48 * 8 + 48) as u64);
    }
}

#[test]
fn every_flip_and_cut_of_a_killed_owners_journal_is_named_or_harmless() {
    let specimen = Specimen::of("journal.db-wal", std::mem::forget);
    let all = damage_all("killed", &specimen);
    assert_eq!(all.cases, all.named + all.harmless);
    assert!(all.named > all.cases / 4, "a log is mostly content: {all:?}");
}
