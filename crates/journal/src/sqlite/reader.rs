//! Reads a journal, whether a process writes to it or not.
//!
//! Every record is checked against the chain before its events are given out, so a reader never sees an event that was
//! not written so. Writes nothing.

use super::pack::Unpacker;
use super::{RunMeta, file_uri, refusal, schema};
use crate::record::{Chain, Flaw, Hash, Record, split_ids};
use crate::tip::Tip;
use crate::{Error, MessageId, Missing, StateDir};
use convoke_model::{Digest, JsonText, RunId, Stamped};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A journal open for reading.
pub struct Reader {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    pub(super) run: RunId,
    genesis: Hash,
    plan: Digest,
    source: Digest,
    unpacker: Unpacker,
}

/// Which records a walk over the journal looks at.
const RECORDS: &str =
    "SELECT first, count, epoch, hash, consumed, body FROM records WHERE first >= ?1 ORDER BY first";

impl Reader {
    /// Opens a run's journal to look at it; works beside a live owner, and on read-only disks.
    pub fn open(state: &StateDir, run: &RunId) -> Result<Reader, Error> {
        Reader::at(&state.existing(run)?.join("journal.db"), run)
    }

    pub(super) fn at(path: &Path, run: &RunId) -> Result<Reader, Error> {
        match Reader::connect(path, "").and_then(|connection| Reader::new(connection, path, run)) {
            Err(error) if is_unwritable(&error) && !has_log(path) => {
                Reader::new(Reader::connect(path, "?immutable=1")?, path, run)
            }
            other => other,
        }
    }

    fn connect(path: &Path, parameters: &str) -> Result<Connection, Error> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(file_uri(path) + parameters, flags).map_err(|error| refusal(path, error))
    }

    /// Takes a connection and finds out which run it is.
    pub(super) fn new(connection: Connection, path: &Path, run: &RunId) -> Result<Reader, Error> {
        schema::check(&connection, path)?;
        let row = |row: &Row<'_>| {
            Ok((row.get::<_, String>(0)?, row.get::<_, [u8; 32]>(1)?, row.get::<_, [u8; 32]>(2)?))
        };
        let fail = |error| refusal(path, error);
        let found = connection.query_row("SELECT id, plan, source FROM run", [], row);
        let (id, plan, source) = match found {
            // A run is made in one commit, which begins with an empty journal: without it there is no run yet.
            Err(rusqlite::Error::QueryReturnedNoRows) if is_empty(&connection).map_err(fail)? => {
                return Err(schema::foreign(path, "no run is in it"));
            }
            found => found.map_err(fail)?,
        };
        if id != *run.0 {
            return Err(Error::Corrupt { path: path.into(), why: format!("it belongs to run `{id}`") });
        }
        let genesis = genesis(run, &plan, &source);
        let (plan, source) = (Digest(plan), Digest(source));
        let (path, run) = (path.into(), run.clone());
        Ok(Reader { connection, path, run, genesis, plan, source, unpacker: Unpacker::default() })
    }

    /// The run's name.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What the run was made from.
    pub fn meta(&self) -> Result<RunMeta, Error> {
        let part = |digest: &Digest| {
            let missing = Error::Blob { digest: *digest, seq: None, what: Missing::Absent };
            self.blob(digest)?.ok_or(missing)
        };
        Ok(RunMeta { plan: part(&self.plan)?, source: part(&self.source)? })
    }

    /// Gives every event from number `from` on to `each`, in order, each checked before it is given.
    pub fn read(&self, from: u64, each: &mut dyn FnMut(Stamped)) -> Result<(), Error> {
        self.walk(from, |event| {
            if event.seq >= from {
                each(event);
            }
            Ok(())
        })
        .map(|_| ())
    }

    /// The same for as long as `each` takes them: what it answers says whether it wants more.
    pub fn read_while(&self, from: u64, each: &mut dyn FnMut(Stamped) -> bool) -> Result<(), Error> {
        let walked = self.walk(from, |event| match event.seq < from || each(event) {
            true => Ok(()),
            false => Err(Error::Closed),
        });
        match walked {
            Ok(_) | Err(Error::Closed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// All events.
    pub fn read_all(&self) -> Result<Vec<Stamped>, Error> {
        let mut events = Vec::new();
        self.read(1, &mut |event| events.push(event))?;
        Ok(events)
    }

    /// The text of a blob; `None` if it is not in the store.
    pub fn blob(&self, digest: &Digest) -> Result<Option<JsonText>, Error> {
        let sql = "SELECT body FROM blobs WHERE digest = ?1";
        let fail = |error| refusal(&self.path, error);
        let mut statement = self.connection.prepare_cached(sql).map_err(fail)?;
        let found = statement
            .query_row([&digest.0], |row| Ok(row.get_ref(0)?.as_blob().map(|b| self.unpacker.unpack(b))));
        let Some(unpacked) = found.optional().map_err(fail)? else { return Ok(None) };
        let text = unpacked.ok().flatten().filter(|text| Digest::of(text.as_bytes()) == *digest);
        let json = text.and_then(|text| JsonText::parse(text).ok());
        json.map(Some).ok_or(Error::Blob { digest: *digest, seq: None, what: Missing::Damaged })
    }

    /// Where the chain ends, by what the last record says of itself; reading checks whether that is true.
    pub(super) fn end(&self) -> Result<Chain, Error> {
        self.chain_before(i64::MAX as u64)
    }

    /// The number of the last event; 0 if there is none or the end cannot be read.
    pub fn last(&self) -> u64 {
        self.end().map_or(0, |chain| chain.next - 1)
    }

    /// The hash of the record that ends with this event; `None` if none does.
    pub(crate) fn ends_at(&self, seq: u64) -> Option<Hash> {
        let chain = self.chain_before(seq.checked_add(1)?).ok()?;
        (seq > 0 && chain.next == seq + 1).then_some(chain.hash)
    }

    /// Whether there should be a tip and is none that can be read. A process that dies between its first commit and the note
    /// of it leaves an empty file.
    pub(super) fn lacks_tip(&self) -> Result<bool, Error> {
        if Tip::read(self.dir()).is_some() {
            return Ok(false);
        }
        let few = "SELECT count(*) FROM (SELECT 1 FROM records LIMIT 2)";
        let few = self.connection.query_row(few, [], |row| row.get::<_, i64>(0));
        let records = few.map_err(|error| refusal(&self.path, error))?;
        Ok(records > 1 || records == 1 && !Tip::is_unwritten(self.dir()))
    }

    /// The inbox messages that events have dealt with.
    pub(crate) fn consumed(&self) -> Result<HashSet<MessageId>, Error> {
        let query = || {
            let mut statement =
                self.connection.prepare("SELECT consumed FROM records WHERE consumed != ''")?;
            let mut ids = HashSet::new();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                ids.extend(split_ids(row.get_ref(0)?.as_str()?));
            }
            Ok(ids)
        };
        query().map_err(|error| refusal(&self.path, error))
    }

    /// Walks over the records, checking each, then its events; answers with the chain's end and the record count.
    pub(super) fn walk(
        &self,
        from: u64,
        mut each: impl FnMut(Stamped) -> Result<(), Error>,
    ) -> Result<(Chain, u64), Error> {
        // Before the records are read: the owner notes its tip after the commit, so this one cannot be ahead of them.
        let tip = Tip::read(self.dir()).filter(|tip| from <= 1 || tip.seq >= from);
        let start = self.record_of(from)?;
        let mut chain = self.chain_before(start)?;
        let (mut records, mut meets_tip) = (0, tip.is_none());
        let mut statement =
            self.connection.prepare_cached(RECORDS).map_err(|error| refusal(&self.path, error))?;
        let mut rows = statement.query([start as i64]).map_err(|error| refusal(&self.path, error))?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => return Err(self.broken_at(&chain, error)),
            };
            let (record, stored) = record(row).map_err(|error| self.broken_at(&chain, error))?;
            if let Err(flaw) = chain.follow(&record, stored) {
                let is_last = matches!(rows.next(), Ok(None));
                return Err(self.damaged(flaw, is_last));
            }
            let events = record.events().map_err(|flaw| self.damaged(flaw, false))?;
            events.into_iter().try_for_each(&mut each)?;
            meets_tip |= tip.is_some_and(|tip| tip.seq == chain.next - 1 && tip.hash == chain.hash);
            records += 1;
        }
        match tip {
            Some(tip) if !meets_tip && tip.seq > 0 => Err(self.contradicts(tip, &chain)),
            _ => Ok((chain, records)),
        }
    }

    /// Gives records from the first on, each checked, for as long as `each` takes them. Ends at the first that is not what was
    /// written, and answers with the chain up to the last that was taken.
    pub(super) fn follow(
        &self,
        mut each: impl FnMut(&Record<'_>, &[u8], &[Stamped]) -> bool,
    ) -> Result<Chain, Error> {
        let mut chain = Chain::start(self.genesis);
        let fail = |error| refusal(&self.path, error);
        let mut statement = self.connection.prepare_cached(RECORDS).map_err(fail)?;
        let mut rows = statement.query([1]).map_err(fail)?;
        while let Ok(Some(row)) = rows.next() {
            let mut next = chain;
            let Ok((record, stored)) = record(row) else { break };
            let Ok(()) = next.follow(&record, stored) else { break };
            let Ok(events) = record.events() else { break };
            if !each(&record, stored, &events) {
                break;
            }
            chain = next;
        }
        Ok(chain)
    }

    /// The addresses of all blobs, as far as they can be read.
    pub(super) fn blob_addresses(&self) -> Vec<Digest> {
        let addresses = || {
            let mut statement = self.connection.prepare("SELECT digest FROM blobs")?;
            let rows = statement.query_map([], |row| row.get::<_, [u8; 32]>(0))?;
            Ok::<_, rusqlite::Error>(rows.map_while(Result::ok).map(Digest).collect())
        };
        addresses().unwrap_or_default()
    }

    /// The first event of the record that holds event `from`, or of the last one before it.
    fn record_of(&self, from: u64) -> Result<u64, Error> {
        let sql = "SELECT coalesce(max(first), 1) FROM records WHERE first <= ?1";
        let first =
            self.connection.query_row(sql, [from.min(i64::MAX as u64) as i64], |row| row.get::<_, i64>(0));
        first.map(|first| first as u64).map_err(|error| refusal(&self.path, error))
    }

    /// The chain up to the record that starts at `first`.
    pub(super) fn chain_before(&self, first: u64) -> Result<Chain, Error> {
        let sql =
            "SELECT first, count, epoch, hash FROM records WHERE first < ?1 ORDER BY first DESC LIMIT 1";
        let chain = |row: &Row<'_>| {
            let next = row.get::<_, i64>(0)?.wrapping_add(row.get::<_, i64>(1)?) as u64;
            Ok(Chain { next, epoch: row.get::<_, i64>(2)? as u64, hash: row.get(3)? })
        };
        let found = self.connection.query_row(sql, [first as i64], chain).optional();
        Ok(found.map_err(|error| refusal(&self.path, error))?.unwrap_or(Chain::start(self.genesis)))
    }

    pub(super) fn dir(&self) -> &Path {
        self.path.parent().expect("a journal lies in the folder of its run")
    }

    fn damaged(&self, flaw: Flaw, is_last: bool) -> Error {
        let torn_tail = flaw.torn && is_last;
        Error::Damaged { run: self.run.clone(), seq: flaw.seq, why: flaw.why, torn_tail }
    }

    fn broken_at(&self, chain: &Chain, error: rusqlite::Error) -> Error {
        match refusal(&self.path, error) {
            Error::Corrupt { path, why } => {
                Error::Corrupt { path, why: format!("{why}; the first bad event is {}", chain.next) }
            }
            other => other,
        }
    }

    fn contradicts(&self, tip: Tip, chain: &Chain) -> Error {
        let (run, last) = (self.run.clone(), chain.next - 1);
        if last < tip.seq {
            return Error::Lost { run, last, acknowledged: tip.seq };
        }
        Error::Damaged { run, seq: tip.seq, why: "another event was acknowledged".into(), torn_tail: false }
    }
}

/// What the chain starts from: the run's name and what it is made from, so that these cannot be swapped either.
pub(super) fn genesis(run: &RunId, plan: &[u8; 32], source: &[u8; 32]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"convoke journal\0").update(run.0.as_bytes()).update(b"\0").update(plan).update(source);
    *hasher.finalize().as_bytes()
}

fn record<'a>(row: &'a Row<'_>) -> rusqlite::Result<(Record<'a>, &'a [u8])> {
    let number = |column| row.get::<_, i64>(column).map(|number| number as u64);
    let record = Record {
        first: number(0)?,
        count: number(1)?,
        epoch: number(2)?,
        consumed: row.get_ref(4)?.as_str()?,
        body: row.get_ref(5)?.as_bytes()?,
    };
    Ok((record, row.get_ref(3)?.as_blob()?))
}

/// Whether nothing stands in a journal.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT NOT EXISTS(SELECT 1 FROM records) AND NOT EXISTS(SELECT 1 FROM blobs)",
        [],
        |row| row.get(0),
    )
}

/// Whether the database could not be opened because its helper files could not be made.
fn is_unwritable(error: &Error) -> bool {
    let Error::Database { source, .. } = error else { return false };
    matches!(source.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

fn has_log(path: &Path) -> bool {
    std::fs::metadata(path.with_file_name("journal.db-wal")).is_ok_and(|log| log.len() > 0)
}
