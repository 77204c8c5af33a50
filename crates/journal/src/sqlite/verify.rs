//! Checks everything about a stored run, and the one repair that is safe.

use super::{Reader, refusal, schema};
use crate::owner::OwnerLock;
use crate::payload::blobs_of;
use crate::tip::TipFile;
use crate::{Error, Missing, Owner, StateDir};
use convoke_model::{Digest, RunId, Stamped};
use rusqlite::{Connection, OpenFlags};
use std::collections::HashSet;

/// What was checked and found whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Records: one per append.
    pub records: u64,
    /// Events.
    pub events: u64,
    /// Blobs that events name, each counted once.
    pub blobs: u64,
}

/// Walks over the whole run: chain, numbers, epochs, blobs, the stored plan and the database itself.
///
/// The error names the first event that cannot be trusted.
pub fn verify(state: &StateDir, run: &RunId) -> Result<Verified, Error> {
    let reader = Reader::open(state, run)?;
    let mut blobs = HashSet::new();
    let (chain, records) = reader.walk(1, |event| reader.check_blobs(&event, &mut blobs))?;
    reader.check_epoch(chain.epoch, chain.next)?;
    reader.meta()?;
    reader.check_pages()?;
    if reader.lacks_tip()? {
        return Err(Error::NoTip { run: run.clone(), last: chain.next - 1 });
    }
    Ok(Verified { records, events: chain.next - 1, blobs: blobs.len() as u64 })
}

/// Cuts a damaged last record off, if that is the only damage; answers with the first event that is gone.
///
/// Its events are lost, so this is only done when a person asks for it.
pub fn cut_torn_tail(state: &StateDir, run: &RunId, owner: &Owner) -> Result<Option<u64>, Error> {
    let dir = state.existing(run)?;
    let _lock = OwnerLock::take(run, &dir, owner)?;
    let seq = match verify(state, run) {
        Ok(_) => return Ok(None),
        Err(Error::Damaged { seq, torn_tail: true, .. }) => seq,
        Err(error) => return Err(error),
    };
    let path = dir.join("journal.db");
    let cut = || {
        let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::make_durable(&connection)?;
        connection.execute("DELETE FROM records WHERE first >= ?1", [seq as i64])
    };
    cut().map_err(|error| refusal(&path, error))?;
    // Everything up to here is acknowledged now, by the person who asked for the cut.
    TipFile::open(&dir)?.note(&Reader::open(state, run)?.end()?)?;
    verify(state, run).map(|_| Some(seq))
}

impl Reader {
    fn check_blobs(&self, event: &Stamped, known: &mut HashSet<Digest>) -> Result<(), Error> {
        let mut named = blobs_of(&event.event).into_iter().filter(|(digest, _)| known.insert(*digest));
        named.try_for_each(|(digest, size)| self.check_blob(event.seq, digest, size))
    }

    fn check_blob(&self, seq: u64, digest: Digest, size: u64) -> Result<(), Error> {
        let flaw = |what| Error::Blob { digest, seq: Some(seq), what };
        match self.blob(&digest) {
            Ok(Some(text)) if text.as_str().len() as u64 == size => Ok(()),
            Ok(Some(_)) | Err(Error::Blob { .. }) => Err(flaw(Missing::Damaged)),
            Ok(None) => Err(flaw(Missing::Absent)),
            Err(error) => Err(error),
        }
    }

    /// The journal's own epoch is never behind its records.
    fn check_epoch(&self, recorded: u64, next: u64) -> Result<(), Error> {
        let epoch = self.connection.query_row("SELECT epoch FROM run", [], |row| row.get::<_, i64>(0));
        let epoch = epoch.map_err(|error| refusal(&self.path, error))?;
        if epoch >= 1 && epoch as u64 >= recorded {
            return Ok(());
        }
        let why = format!("its epoch is {recorded}, that of the journal {epoch}");
        Err(Error::Damaged { run: self.run.clone(), seq: next - 1, why, torn_tail: false })
    }

    fn check_pages(&self) -> Result<(), Error> {
        let sql = "PRAGMA integrity_check(1)";
        let answer = self.connection.query_row(sql, [], |row| row.get::<_, String>(0));
        match answer.map_err(|error| refusal(&self.path, error))? {
            ok if ok == "ok" => Ok(()),
            why => Err(Error::Corrupt { path: self.path.clone(), why }),
        }
    }
}
