//! Brings a damaged run back to its longest beginning that verifies. What was there is kept beside it.
//!
//! The beginning is copied row by row into a new file, so its records and hashes are those that were written. Nothing is made up and
//! nothing behind the first flaw is kept: later events follow from what is lost. Only a person asks for this.

use super::salvage::{self, Way};
use super::verify::verify;
use super::{Reader, refusal, schema};
use crate::disk;
use crate::owner::OwnerLock;
use crate::record::Chain;
use crate::state::private_file;
use crate::tip::{Tip, TipFile};
use crate::{Error, Index, Owner, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{Digest, RunId};
use rusqlite::{Connection, OpenFlags, params};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Where pages are put together, and what is copied of them, until it is known which beginning is the longest.
const SALVAGED: &str = "journal.salvaged";
const TRIED: &str = "journal.tried";

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The last event that is kept; 0 if none is.
    pub last: u64,
    /// The last event that was acknowledged, where that is known.
    pub acknowledged: Option<u64>,
    /// What was wrong.
    pub damage: String,
    /// The run's folder as it was.
    pub original: PathBuf,
}

/// Repairs a run; `None` if there is nothing to repair. A run whose plan or name cannot be read stays as it is: that is the error.
pub fn repair(state: &StateDir, run: &RunId, owner: &Owner) -> Result<Option<Repaired>, Error> {
    let dir = state.existing(run)?;
    let _lock = OwnerLock::take(run, &dir, owner)?;
    let damage = match verify(state, run) {
        Ok(_) => return Ok(None),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(error) => return Err(error),
    };
    let acknowledged = Tip::read(&dir).map(|tip| tip.seq);
    let original = keep_original(state, run, &dir)?;
    failpoint!("repair.original_kept");
    let draft = dir.join("journal.repaired");
    let copied = copy_longest(state, run, &original, acknowledged, &draft);
    fs::remove_file(dir.join(SALVAGED)).ok();
    fs::remove_file(dir.join(TRIED)).ok();
    if copied.is_err() {
        // Nothing was changed, so what stands there is the original.
        fs::remove_file(&draft).ok();
        fs::remove_dir_all(&original).ok();
    }
    let chain = copied.map_err(|error| match is_damage(&error) {
        true => Error::Unrepairable { run: run.clone(), why: error.to_string() },
        false => error,
    })?;
    failpoint!("repair.draft_made");
    replace(&dir, &draft)?;
    failpoint!("repair.replaced");
    // Everything up to here is acknowledged now, by the person who asked for the repair.
    TipFile::open(&dir)?.note(&chain)?;
    failpoint!("repair.tip_noted");
    verify(state, run)?;
    // What a listing has read of the run may be gone.
    Index::open(state)?.remove(run)?;
    failpoint!("repair.unlisted");
    Ok(Some(Repaired { last: chain.next - 1, acknowledged, damage, original }))
}

/// Damage, in contrast to a disk or a file that cannot be read just now.
fn is_damage(error: &Error) -> bool {
    use Error::*;
    matches!(error, Damaged { .. } | Corrupt { .. } | Blob { .. } | Lost { .. } | NoTip { .. })
}

/// What the database or we make of files that we wrote, once they are damaged.
fn is_unreadable(error: &Error) -> bool {
    use Error::*;
    matches!(error, Foreign { .. } | NoFormat { .. } | Unrepairable { .. } | Database { .. })
}

/// Copies the folder of a run to a name that is no run's.
fn keep_original(state: &StateDir, run: &RunId, dir: &Path) -> Result<PathBuf, Error> {
    let name = |number: u32| state.runs_dir().join(format!(".damaged-{run}-{number}"));
    let copy = (1..).map(name).find(|path| !path.exists()).expect("there are enough numbers");
    let copied = || {
        fs::create_dir(&copy)?;
        failpoint!("repair.copy_begun");
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                let path = copy.join(entry.file_name());
                fs::copy(entry.path(), &path)?;
                fs::File::open(&path)?.sync_all()?;
            }
        }
        disk::sync_folder(&copy).and_then(|()| disk::sync_folder(&state.runs_dir()))
    };
    copied().map_err(Error::io("copy the run to", &copy))?;
    Ok(copy)
}

/// Copies the longest beginning that verifies: of what the database reads, else of what can be put together from the pages of its files.
fn copy_longest(
    state: &StateDir,
    run: &RunId,
    original: &Path,
    acknowledged: Option<u64>,
    draft: &Path,
) -> Result<Chain, Error> {
    let (salvaged, tried) = (draft.with_file_name(SALVAGED), draft.with_file_name(TRIED));
    let mut best = Reader::open(state, run).and_then(|reader| copy_beginning(&reader, draft));
    for way in Way::ALL {
        let is_whole = |chain: &Chain| acknowledged.is_some_and(|last| chain.next > last);
        match &best {
            Ok(chain) if is_whole(chain) => break,
            // A disk that refuses is no damage, and would refuse again.
            Err(error) if !is_damage(error) && !is_unreadable(error) => break,
            _ => {}
        }
        let other = salvage::put_together(original, &salvaged, way)
            .map_err(Error::io("write", &salvaged))
            .and_then(|()| copy_beginning(&Reader::at(&salvaged, run)?, &tried));
        match other {
            Ok(chain) if best.as_ref().map_or(true, |best| chain.next > best.next) => {
                disk::rename(&tried, draft).map_err(Error::io("replace", draft))?;
                best = Ok(chain);
            }
            Err(error @ Error::DiskFull { .. }) => return Err(error),
            _ => {}
        }
    }
    best
}

fn copy_beginning(reader: &Reader, draft: &Path) -> Result<Chain, Error> {
    reader.meta()?;
    fs::remove_file(draft).ok();
    let file = private_file(draft)?;
    let fail = |error| refusal(draft, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(draft, flags).map_err(fail)?;
    schema::create_plain(&connection).map_err(fail)?;
    reader.copy_run(&connection).map_err(fail)?;
    let blobs = reader.copy_blobs(&connection)?;
    let chain = reader.copy_records(&connection, &blobs)?;
    if chain.next <= 1 {
        return Err(Error::Unrepairable { run: reader.run().clone(), why: "no event verifies".into() });
    }
    connection.execute("UPDATE run SET epoch = max(epoch, ?1)", [chain.epoch as i64]).map_err(fail)?;
    connection.execute_batch("COMMIT").map_err(fail)?;
    connection.close().map_err(|(_, error)| refusal(draft, error))?;
    disk::sync(&file, draft).map_err(Error::io("sync", draft))?;
    Ok(chain)
}

/// The draft takes the journal's name. The log of the damaged journal goes first: it does not belong to the new one.
fn replace(dir: &Path, draft: &Path) -> Result<(), Error> {
    for name in ["journal.db-wal", "journal.db-shm", "tip"] {
        fs::remove_file(dir.join(name)).ok();
    }
    failpoint!("repair.log_removed");
    let path = dir.join("journal.db");
    disk::rename(draft, &path).and_then(|()| disk::sync_folder(dir)).map_err(Error::io("replace", &path))
}

impl Reader {
    pub(super) fn copy_run(&self, to: &Connection) -> rusqlite::Result<()> {
        let sql = "SELECT id, plan, source, epoch FROM run";
        let (id, plan, source, epoch) = self.connection.query_row(sql, [], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, [u8; 32]>(1)?,
                row.get::<_, [u8; 32]>(2)?,
                row.get::<_, i64>(3)?,
            ))
        })?;
        let insert = "INSERT INTO run(one, id, plan, source, epoch) VALUES (1, ?1, ?2, ?3, ?4)";
        to.execute(insert, params![id, plan, source, epoch.max(1)]).map(|_| ())
    }

    /// Copies every blob that is what its address says.
    pub(super) fn copy_blobs(&self, to: &Connection) -> Result<HashSet<Digest>, Error> {
        let mut kept = HashSet::new();
        let insert = "INSERT INTO blobs(digest, size, body) SELECT ?1, ?2, ?3";
        for digest in self.blob_addresses() {
            let Ok(Some(_)) = self.blob(&digest) else { continue };
            let sql = "SELECT size, body FROM blobs WHERE digest = ?1";
            let row = self
                .connection
                .query_row(sql, [&digest.0], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)));
            let Ok((size, body)) = row else { continue };
            to.execute(insert, params![digest.0, size, body]).map_err(|error| refusal(&self.path, error))?;
            kept.insert(digest);
        }
        Ok(kept)
    }

    /// Copies records up to the first that is not what was written, or names a blob that is not there.
    pub(super) fn copy_records(&self, to: &Connection, blobs: &HashSet<Digest>) -> Result<Chain, Error> {
        let insert =
            "INSERT INTO records(first, count, epoch, hash, consumed, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut failed = None;
        let chain = self.follow(|record, hash, events| {
            let named = events.iter().flat_map(|event| crate::payload::blobs_of(&event.event));
            if !named.into_iter().all(|(digest, _)| blobs.contains(&digest)) {
                return false;
            }
            let body = std::str::from_utf8(record.body).unwrap_or_default();
            let (first, count, epoch) = (record.first as i64, record.count as i64, record.epoch as i64);
            let added = to.execute(insert, params![first, count, epoch, hash, record.consumed, body]);
            failed = added.err();
            failed.is_none()
        })?;
        failed.map_or(Ok(chain), |error| Err(refusal(&self.path, error)))
    }
}
