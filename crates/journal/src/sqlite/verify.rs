//! Checks everything about a stored run.

use super::{Reader, refusal, schema, vfs};
use crate::payload::blobs_of;
use crate::{Error, Missing, StateDir};
use convoke_model::{Digest, RunId, Stamped};
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
    reader.check_other_blobs(&blobs)?;
    reader.meta()?;
    reader.check_pages()?;
    reader.check_format()?;
    if reader.lacks_tip()? {
        return Err(Error::NoTip { run: run.clone(), last: chain.next - 1 });
    }
    Ok(Verified { records, events: chain.next - 1, blobs: blobs.len() as u64 })
}

impl Reader {
    fn check_blobs(&self, event: &Stamped, known: &mut HashSet<Digest>) -> Result<(), Error> {
        let mut named = blobs_of(&event.event).into_iter().filter(|(digest, _)| known.insert(*digest));
        named.try_for_each(|(digest, size)| self.check_blob(event.seq, digest, size))
    }

    /// Blobs that are named inside a value, such as those of a conversation, are checked by their own address.
    fn check_other_blobs(&self, known: &HashSet<Digest>) -> Result<(), Error> {
        let others = self.blob_addresses().into_iter().filter(|digest| !known.contains(digest));
        others.into_iter().try_for_each(|digest| self.blob(&digest).map(drop))
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

    /// What a writer needs besides: it opens the journal to go on.
    fn check_format(&self) -> Result<(), Error> {
        let header = vfs::header(&self.connection).map_err(|error| refusal(&self.path, error))?;
        schema::check_header(&header, &self.path)?;
        let version = schema::check(&self.connection, &self.path)?;
        schema::check_tables(&self.connection, &self.path, version)
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
