//! Snapshots beside a journal: fewer events that fold to the same state as all events up to some record.
//!
//! One is a file of its own, `snapshots/<number of the next event>`, made whole under another name and renamed. It holds the hash of the
//! record that it ends with, so it fits this journal and no other, and a hash of itself. Nothing is synced: one that a power
//! loss has torn is no snapshot. The two newest are kept. Which events are left out is the engine's rule, named by a number.
//!
//! Invariant: a snapshot that is used was written so, for this run, under these rules, and the journal still has the record
//! it ends with. Any other is passed over, and the journal itself is read.

use super::Reader;
use super::pack::{Packer, Unpacker};
use crate::record::{Chain, Record, encode_any};
use crate::state::replace_private;
use crate::{Error, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{RunId, Stamped};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"cnvksnap";
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
        if chain.next <= from {
            return Ok(None);
        }
        let kept = compact(events);
        let bytes = encoded(&self.run, rules, &chain, &kept, &self.path)?;
        if give_up() {
            return Ok(None);
        }
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
            if let Ok(found) = self.snapshot(next, rules)
                && found.chain == self.chain_before(next)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn snapshot(&self, next: u64, rules: u32) -> Result<Found, String> {
        let bytes =
            fs::read(place(self.dir(), next)).map_err(|error| format!("it cannot be read: {error}"))?;
        let (found, made_by) = decoded(&self.run, &bytes)?;
        match made_by == rules && found.chain.next == next {
            true => Ok(found),
            false if made_by != rules => Err(format!("it was made under rules {made_by}, not {rules}")),
            false => Err(format!("it ends before event {}", found.chain.next)),
        }
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
        let (found, made_by) = decoded(run, &bytes).map_err(|why| flaw(next, why))?;
        if made_by != rules {
            continue;
        }
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
    let mut body = Vec::new();
    encode_any(events, &mut body);
    let text = std::str::from_utf8(&body).expect("JSON is UTF-8");
    let packed =
        Packer::new().and_then(|mut packer| packer.pack(text)).map_err(Error::io("compress for", path))?;
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

/// What a file holds, with the rules that it was made under.
fn decoded(run: &RunId, bytes: &[u8]) -> Result<(Found, u32), String> {
    let content = bytes.len().checked_sub(HASH).filter(|content| *content >= HEAD);
    let (content, stored) = bytes.split_at(content.ok_or("it is cut off")?);
    if hash(run, content) != stored || !content.starts_with(MAGIC) {
        return Err("its hash does not fit".into());
    }
    let number = |at: usize| u64::from_le_bytes(content[at..at + 8].try_into().expect("eight bytes"));
    let rules = u32::from_le_bytes(content[8..12].try_into().expect("four bytes"));
    let hash = content[28..HEAD].try_into().expect("as long as a hash");
    let chain = Chain { next: number(12), epoch: number(20), hash };
    let body = Unpacker::default().unpack(&content[HEAD..]).ok_or("it cannot be unpacked")?;
    let events = Record::read_any(body.as_bytes()).map_err(|error| format!("it cannot be read: {error}"))?;
    Ok((Found { chain, events }, rules))
}

fn hash(run: &RunId, content: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"convoke snapshot\0").update(run.0.as_bytes()).update(b"\0").update(content);
    *hasher.finalize().as_bytes()
}
