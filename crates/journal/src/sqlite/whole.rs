//! A copy of a whole journal in a new file, made of checked rows.
//!
//! What is copied is the same that `repair` copies of a damaged journal; here nothing may be missing. Only rows are taken over, never
//! pages or definitions of tables, so a file of somebody else's making brings nothing along but data.

use super::{Reader, refusal, schema};
use crate::disk;
use crate::record::Hash;
use crate::state::private_file;
use crate::{Error, StateDir};
use convoke_model::RunId;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// What a copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The last event.
    pub last: u64,
    /// The hash of the record that ends with it.
    pub hash: Hash,
    /// Blobs, whether an event names them or not.
    pub blobs: u64,
}

/// Copies a run's journal as it stands at one moment, beside a live owner too.
pub(crate) fn copy(state: &StateDir, run: &RunId, to: &Path) -> Result<Whole, Error> {
    copy_from(&Reader::open(state, run)?, to)
}

/// Copies a journal from a file that is not in a state folder.
pub(crate) fn copy_file(from: &Path, run: &RunId, to: &Path) -> Result<Whole, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags).map_err(|error| refusal(from, error))?;
    copy_from(&Reader::new(connection, from, run)?, to)
}

fn copy_from(reader: &Reader, to: &Path) -> Result<Whole, Error> {
    let source = |error| refusal(&reader.path, error);
    let fail = |error| refusal(to, error);
    let file = private_file(to)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(to, flags).map_err(fail)?;
    schema::create_plain(&connection).map_err(fail)?;
    // One moment for all that is read.
    reader.connection.execute_batch("BEGIN").map_err(source)?;
    let last = reader.end()?.next - 1;
    reader.meta()?;
    reader.copy_run(&connection).map_err(fail)?;
    let blobs = reader.copy_blobs(&connection)?;
    let stored = reader.blob_addresses().len();
    let chain = reader.copy_records(&connection, &blobs)?;
    reader.connection.execute_batch("COMMIT").map_err(source)?;
    if chain.next - 1 != last || blobs.len() != stored {
        let why = format!(
            "what follows event {} cannot be read, or {} of {stored} blobs",
            chain.next - 1,
            stored - blobs.len()
        );
        return Err(Error::Corrupt { path: reader.path.clone(), why });
    }
    connection.execute_batch("COMMIT; PRAGMA journal_mode = WAL;").map_err(fail)?;
    connection.close().map_err(|(_, error)| refusal(to, error))?;
    disk::sync(&file, to).map_err(Error::io("sync", to))?;
    Ok(Whole { last, hash: chain.hash, blobs: blobs.len() as u64 })
}
