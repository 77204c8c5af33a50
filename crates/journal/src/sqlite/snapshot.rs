//! Snapshots beside a journal: fewer events that fold to the same state as all events up to some record.
//!
//! One is a file of its own, `snapshots/<number of the next event>`, made whole under another name and renamed. It holds the hash of the
//! record that it ends with, so it fits this journal and no other, and a hash of itself. Nothing is synced: one that a power
//! loss has torn is no snapshot. The two newest are kept. Which events are left out is the engine's rule, named by a number.
//!
//! The events are packed (`packed`), so that opening a run does not parse them.
//!
//! Invariant: a snapshot that is used was written so, for this run, under these rules, and the journal still has the record
//! it ends with. Any other is passed over, and the journal itself is read.

use super::Reader;
use crate::packed;
use crate::record::Chain;
use crate::state::replace_private;
use crate::{Error, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{RunId, Stamped};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The form of the file. Snapshots of another form were made by another version, and are passed over like those of other rules.
const MAGIC: &[u8; 8] = b"cnvksna2";
const OTHERS: &[u8] = b"cnvksna";
const FOLDER: &str = "snapshots";
/// How many are kept: an older one is used where the newest is damaged.
const KEPT: usize = 2;
/// Magic, rules, next event, epoch, hash of the record before.
const HEAD: usize = 8 + 4 + 8 + 8 + 32;
const HASH: usize = 32;

/// Makes a list of events shorter.
pub type Compact = dyn Fn(Vec<Stamped>) -> Vec<Stamped>;

/// Takes snapshots of a run, on any thread, beside the owner that appends to it.
#[derive(Debug, Clone)]
pub struct SnapshotTaker {
    path: PathBuf,
    run: RunId,
}

impl SnapshotTaker {
    pub(super) fn of(reader: &Reader) -> SnapshotTaker {
        SnapshotTaker { path: reader.path.clone(), run: reader.run.clone() }
    }

    /// The number of the first event that is in no snapshot, by the name of the newest one.
    pub fn newest(&self) -> u64 {
        self.path.parent().and_then(|dir| numbers(dir).first().copied()).unwrap_or(1)
    }

    /// Takes a snapshot of what is on disk now, and answers with the number of events in it. It starts from the newest one that
    /// can be used. `give_up` is asked on the way; then there is none.
    pub fn take(
        &self,
        rules: u32,
        compact: &Compact,
        give_up: &dyn Fn() -> bool,
    ) -> Result<Option<u64>, Error> {
        let reader = Reader::at(&self.path, &self.run)?;
        let (mut events, from) = reader.newest_snapshot(rules)?.map_or((Vec::new(), 1), Found::split);
        let stop = || Error::Closed;
        let walked = reader.walk(from, |event| {
            if event.seq >= from {
                events.push(event);
            }
            if give_up() { Err(stop()) } else { Ok(()) }
        });
        let chain = match walked {
            Ok((chain, _)) => chain,
            Err(Error::Closed) => return Ok(None),
            Err(error) => return Err(error),
        };
        if chain.next <= from || give_up() {
            return Ok(None);
        }
        let kept = compact(events);
        if give_up() {
            return Ok(None);
        }
        let bytes = encoded(&self.run, rules, &chain, &kept, &self.path)?;
        keep(reader.dir(), chain.next, &bytes)?;
        Ok(Some(kept.len() as u64))
    }
}

/// A snapshot that can be used.
pub(super) struct Found {
    chain: Chain,
    events: Vec<Stamped>,
}

impl Found {
    /// Its events, and the number of the first event that is not in it.
    fn split(self) -> (Vec<Stamped>, u64) {
        (self.events, self.chain.next)
    }
}

impl Reader {
    /// What the owner needs of the events so far: the newest snapshot that can be used, and all events behind it.
    pub fn recover(&self, rules: u32) -> Result<Vec<Stamped>, Error> {
        let (mut events, from) = self.newest_snapshot(rules)?.map_or((Vec::new(), 1), Found::split);
        self.read(from, &mut |event| events.push(event))?;
        Ok(events)
    }

    /// The newest snapshot that was written so, under these rules, and that the journal has the last record of.
    fn newest_snapshot(&self, rules: u32) -> Result<Option<Found>, Error> {
        for next in numbers(self.dir()) {
            let found = fs::read(place(self.dir(), next)).ok();
            let found = found.and_then(|bytes| decoded(&self.run, &bytes, rules).ok().flatten());
            if let Some(found) = found.filter(|found| found.chain.next == next)
                && found.chain == self.chain_before(next)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// Checks the snapshots of a run, each against the events that it stands for; answers with their number.
///
/// Those of other rules are passed over, as they are when the run is opened.
pub fn verify_snapshots(state: &StateDir, run: &RunId, rules: u32, compact: &Compact) -> Result<u64, Error> {
    let reader = Reader::open(state, run)?;
    let flaw = |next: u64, why: String| Error::Snapshot { path: place(reader.dir(), next), why };
    let mut whole = 0;
    for next in numbers(reader.dir()) {
        let bytes = fs::read(place(reader.dir(), next)).map_err(|error| flaw(next, error.to_string()))?;
        let Some(found) = decoded(run, &bytes, rules).map_err(|why| flaw(next, why))? else { continue };
        if found.chain != reader.chain_before(next)? {
            return Err(flaw(next, "the journal has no record that it ends with".into()));
        }
        let mut before = Vec::new();
        reader.read(1, &mut |event| before.extend((event.seq < next).then_some(event)))?;
        if compact(before) != found.events {
            return Err(flaw(next, "it does not stand for the events before it".into()));
        }
        whole += 1;
    }
    Ok(whole)
}

/// The snapshots of a run by the number of the next event, newest first.
fn numbers(dir: &Path) -> Vec<u64> {
    let names = fs::read_dir(dir.join(FOLDER)).into_iter().flatten().flatten();
    let mut numbers: Vec<u64> = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    numbers
}

fn place(dir: &Path, next: u64) -> PathBuf {
    dir.join(FOLDER).join(next.to_string())
}

/// Puts a snapshot beside the journal, and removes those that are no longer kept.
fn keep(dir: &Path, next: u64, bytes: &[u8]) -> Result<(), Error> {
    let folder = dir.join(FOLDER);
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::io("make", &folder)(error));
        }
        _ => {}
    }
    failpoint!("snapshot.folder_made");
    replace_private(&place(dir, next), bytes)?;
    failpoint!("snapshot.kept");
    let kept: Vec<PathBuf> = numbers(dir).into_iter().take(KEPT).map(|next| place(dir, next)).collect();
    // Also what a process has left half-made.
    let others = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    others.filter(|path| !kept.contains(path)).for_each(|path| drop(fs::remove_file(path)));
    failpoint!("snapshot.others_removed");
    Ok(())
}

fn encoded(
    run: &RunId,
    rules: u32,
    chain: &Chain,
    events: &[Stamped],
    path: &Path,
) -> Result<Vec<u8>, Error> {
    let packed = packed::write(events).map_err(Error::io("compress for", path))?;
    let mut bytes = Vec::with_capacity(HEAD + packed.len() + HASH);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&rules.to_le_bytes());
    bytes.extend_from_slice(&chain.next.to_le_bytes());
    bytes.extend_from_slice(&chain.epoch.to_le_bytes());
    bytes.extend_from_slice(&chain.hash);
    bytes.extend_from_slice(&packed);
    let hash = hash(run, &bytes);
    bytes.extend_from_slice(&hash);
    Ok(bytes)
}

/// What a file holds, if it was made under these rules and has the form of today.
fn decoded(run: &RunId, bytes: &[u8], rules: u32) -> Result<Option<Found>, String> {
    let content = bytes.len().checked_sub(HASH).filter(|content| *content >= HEAD);
    let (content, stored) = bytes.split_at(content.ok_or("it is cut off")?);
    if hash(run, content) != stored || !content.starts_with(OTHERS) {
        return Err("its hash does not fit".into());
    }
    if !content.starts_with(MAGIC) {
        return Ok(None);
    }
    let made_under = u32::from_le_bytes(content[8..12].try_into().expect("four bytes"));
    if made_under != rules {
        return Ok(None);
    }
    let number = |at: usize| u64::from_le_bytes(content[at..at + 8].try_into().expect("eight bytes"));
    let hash = content[28..HEAD].try_into().expect("as long as a hash");
    let chain = Chain { next: number(12), epoch: number(20), hash };
    let events = packed::read(&content[HEAD..]).map_err(|why| format!("it cannot be read: {why}"))?;
    Ok(Some(Found { chain, events }))
}

fn hash(run: &RunId, content: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"convoke snapshot\0").update(run.0.as_bytes()).update(b"\0").update(content);
    *hasher.finalize().as_bytes()
}
