//! The journal in the hands of the run's owner.
//!
//! One append is one transaction, one row and one sync. The insert itself checks that the epoch is still ours, so a
//! stale owner cannot slip a record in. After an error whose outcome is unknown nothing more is taken: what is on the
//! disk is then found out by the next owner.

use super::pack::Packer;
use super::{Reader, RunMeta, SnapshotTaker, refusal, schema, vfs};
use crate::ballast::Ballast;
use crate::disk;
use crate::inbox::OwnerInbox;
use crate::owner::OwnerLock;
use crate::record::{Chain, Record, encode, join_ids};
use crate::state::{begin_making, end_making, private_file};
use crate::stopped::end_if_stopped;
use crate::tip::{Tip, TipFile};
use crate::{Blocked, Error, Held, InboxMessage, Journal, MessageId, Owner, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::{Blob, Digest, JsonText, RunId, Stamped};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, ffi, params};
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

/// The journal of one run, open for appending. Dropping it lets go of the run.
pub struct Sqlite {
    // Fields are dropped in this order: the connection first, the lock last.
    reader: Reader,
    /// Closing any descriptor of the file would end the connection's locks on it, so this one lives as long.
    _made: Option<File>,
    chain: Chain,
    epoch: u64,
    body: Vec<u8>,
    packer: Packer,
    tip: TipFile,
    ballast: Ballast,
    inbox: OwnerInbox,
    poison: Option<String>,
    unchecked_end: bool,
    lock: OwnerLock,
}

/// What becomes of an owner that is proved to be stopped when its run is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoppedOwner {
    /// It is ended: a call that it had admitted would still be sent when it goes on.
    Ends,
    /// It is left to find out by itself, unless it keeps the journal locked. Tests of that need it.
    FindsOut,
}

/// A run that was taken from its owner.
pub struct TakenOver {
    /// The run's journal.
    pub journal: Sqlite,
    /// The owner that it was taken from.
    pub from: Held,
    /// Whether that process was ended, because it was stopped.
    pub ended: bool,
}

/// A log that is damaged is read up to the damage, and a writer writes there: what stands behind it could not be repaired any more. So
/// whether all that was acknowledged can be read is looked at before anything is written.
fn refuse_to_lose(dir: &Path, path: &Path, run: &RunId) -> Result<(), Error> {
    let has_log = fs::metadata(path.with_file_name("journal.db-wal")).is_ok_and(|log| log.len() > 0);
    let Some(tip) = Tip::read(dir).filter(|tip| has_log && tip.seq > 0) else { return Ok(()) };
    let last = Reader::at(path, run)?.end()?.next - 1;
    if last < tip.seq {
        return Err(Error::Lost { run: run.clone(), last, acknowledged: tip.seq });
    }
    Ok(())
}

/// Inserts nothing if another owner has come.
const INSERT: &str = "INSERT INTO records(first, count, epoch, hash, consumed, body)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT epoch FROM run) = ?3";

const INSERT_BLOB: &str =
    "INSERT INTO blobs(digest, size, body) VALUES (?1, ?2, ?3) ON CONFLICT(digest) DO NOTHING";

impl Sqlite {
    /// Makes the journal of a new run and owns it, with epoch 1.
    pub fn create(state: &StateDir, run: &RunId, meta: &RunMeta, owner: &Owner) -> Result<Sqlite, Error> {
        Sqlite::create_with(state, run, meta, owner, |_| Ok(()))
    }

    /// The same, with something written into it before it counts as a run.
    pub(super) fn create_with(
        state: &StateDir,
        run: &RunId,
        meta: &RunMeta,
        owner: &Owner,
        fill: impl FnOnce(&mut Sqlite) -> Result<(), Error>,
    ) -> Result<Sqlite, Error> {
        let dir = state.make_run_dir(run)?;
        failpoint!("journal.create.folder_made");
        let made = begin_making(&dir).and_then(|()| {
            failpoint!("journal.create.marked");
            let mut journal = Sqlite::create_in(&dir, run, meta, owner)?;
            fill(&mut journal)?;
            end_making(&dir)?;
            failpoint!("journal.create.unmarked");
            state.sync_names()?;
            failpoint!("journal.create.named");
            Ok(journal)
        });
        if made.is_err() {
            fs::remove_dir_all(&dir).ok();
        }
        made
    }

    /// Takes a run over, with the next epoch; refuses at once while another process has it.
    pub fn open_owner(state: &StateDir, run: &RunId, owner: &Owner) -> Result<Sqlite, Error> {
        Sqlite::open_with(state, run, OwnerLock::take(run, &state.existing(run)?, owner)?)
    }

    /// Takes a run over whose owner has been silent for longer than its lease, with the next epoch. From then on the old
    /// owner can append nothing, whether it goes on or not. One that is proved to be stopped is ended.
    pub fn take_over(
        state: &StateDir,
        run: &RunId,
        owner: &Owner,
        lease: Duration,
        stopped: StoppedOwner,
    ) -> Result<TakenOver, Error> {
        let dir = state.existing(run)?;
        let (lock, holder) = OwnerLock::seize(run, &dir, owner, lease)?;
        let ends = stopped == StoppedOwner::Ends || is_locked(&dir.join("journal.db"))?;
        let ended = ends && holder.owner.as_ref().is_some_and(end_if_stopped);
        failpoint!("journal.take_over.old_owner_ended");
        let journal = Sqlite::open_with(state, run, lock)?;
        Ok(TakenOver { journal, from: holder, ended })
    }

    fn open_with(state: &StateDir, run: &RunId, lock: OwnerLock) -> Result<Sqlite, Error> {
        let dir = state.existing(run)?;
        let path = dir.join("journal.db");
        refuse_to_lose(&dir, &path, run)?;
        let connection = connect(&path)?;
        let fail = |error| refusal(&path, error);
        let version = schema::check(&connection, &path)?;
        // Both are durable with the first append; before that, nothing has been done in their name.
        connection.execute_batch("PRAGMA synchronous = NORMAL").map_err(fail)?;
        schema::migrate(&connection, version).map_err(fail)?;
        let next_epoch = "UPDATE run SET epoch = epoch + 1 RETURNING epoch";
        failpoint!("journal.open.before_epoch");
        // A row is given before its statement is committed, and the error of that commit would be nobody's: it has one of its own.
        connection.execute_batch("BEGIN IMMEDIATE").map_err(fail)?;
        let epoch = connection.query_row(next_epoch, [], |row| row.get::<_, i64>(0)).map_err(fail)?;
        connection.execute_batch("COMMIT").map_err(fail)?;
        failpoint!("journal.open.epoch_taken");
        lock.announce(epoch as u64)?;
        failpoint!("journal.open.announced");
        schema::make_durable(&connection).map_err(fail)?;
        // The log may have been made just now. SQLite makes its name durable too, and drops the error if that fails.
        disk::sync_folder(&dir).map_err(Error::io("sync", &dir))?;
        failpoint!("journal.open.synced");
        let reader = Reader::new(connection, &path, run)?;
        Sqlite::assemble(reader, None, epoch as u64, lock)
    }

    /// What the run was made from.
    pub fn meta(&self) -> Result<RunMeta, Error> {
        self.reader.meta()
    }

    /// The run's name.
    pub fn run(&self) -> &RunId {
        self.reader.run()
    }

    /// That the end of the journal could not be checked when it was opened, where it could not.
    pub fn unchecked_end(&self) -> Option<Error> {
        let (run, last) = (self.reader.run.clone(), self.chain.next - 1);
        self.unchecked_end.then_some(Error::NoTip { run, last })
    }

    fn create_in(dir: &Path, run: &RunId, meta: &RunMeta, owner: &Owner) -> Result<Sqlite, Error> {
        let lock = OwnerLock::take(run, dir, owner)?;
        lock.announce(1)?;
        failpoint!("journal.create.owned");
        let path = dir.join("journal.db");
        let fail = |error| refusal(&path, error);
        let file = private_file(&path)?;
        failpoint!("journal.create.file_made");
        disk::write_at(&file, &path, schema::EMPTY, 0).map_err(Error::io("write", &path))?;
        let connection = connect(&path)?;
        schema::begin(&connection).map_err(fail)?;
        failpoint!("journal.create.schema_made");
        let mut packer = new_packer(&path)?;
        let plan = insert_text(&connection, &path, &mut packer, &meta.plan)?;
        let source = insert_text(&connection, &path, &mut packer, &meta.source)?;
        let insert = "INSERT INTO run(one, id, plan, source, epoch) VALUES (1, ?1, ?2, ?3, 1)";
        connection.execute(insert, params![&*run.0, plan.0, source.0]).map_err(fail)?;
        failpoint!("journal.create.before_commit");
        connection.execute_batch("COMMIT").map_err(fail)?;
        failpoint!("journal.create.committed");
        // The log is synced by the first append; its file must then be known to be a database with a log.
        disk::sync(&file, &path).map_err(Error::io("sync", &path))?;
        failpoint!("journal.create.synced");
        schema::make_durable(&connection).map_err(fail)?;
        let reader = Reader::new(connection, &path, run)?;
        Sqlite::assemble(reader, Some(file), 1, lock)
    }

    fn assemble(reader: Reader, made: Option<File>, epoch: u64, lock: OwnerLock) -> Result<Sqlite, Error> {
        let chain = reader.end()?;
        let dir = reader.dir().to_path_buf();
        if let Some(tip) = Tip::read(&dir).filter(|tip| tip.seq >= chain.next) {
            let (run, last) = (reader.run.clone(), chain.next - 1);
            return Err(Error::Lost { run, last, acknowledged: tip.seq });
        }
        let unchecked_end = reader.lacks_tip()?;
        let packer = new_packer(&reader.path)?;
        failpoint!("journal.open.end_checked");
        let (tip, ballast, inbox) = (TipFile::open(&dir)?, Ballast::new(&dir), OwnerInbox::new(&dir));
        failpoint!("journal.open.ready");
        let (body, poison) = (Vec::new(), None);
        Ok(Sqlite {
            reader,
            _made: made,
            chain,
            epoch,
            body,
            packer,
            tip,
            ballast,
            inbox,
            poison,
            unchecked_end,
            lock,
        })
    }

    /// One transaction: the record if the epoch is still ours, then the blobs.
    fn commit(&mut self, record: &Record<'_>, hash: &[u8; 32], blobs: &[Packed]) -> rusqlite::Result<bool> {
        let connection = &self.reader.connection;
        failpoint!("journal.append.before_commit");
        if blobs.is_empty() {
            return insert_record(connection, record, hash);
        }
        let transaction = connection.unchecked_transaction()?;
        let is_ours =
            if record.count == 0 { self.is_ours()? } else { insert_record(connection, record, hash)? };
        failpoint!("journal.append.record_inserted");
        if is_ours {
            for blob in blobs {
                insert_blob(connection, blob)?;
            }
            failpoint!("journal.append.blobs_inserted");
            transaction.commit()?;
        }
        Ok(is_ours)
    }

    fn is_ours(&self) -> rusqlite::Result<bool> {
        Ok(self.current_epoch()? == self.epoch)
    }

    fn current_epoch(&self) -> rusqlite::Result<u64> {
        let epoch = self.reader.connection.query_row("SELECT epoch FROM run", [], |row| row.get::<_, i64>(0));
        epoch.map(|epoch| epoch as u64)
    }

    /// What is left to do once a commit is durable; nothing here can undo it.
    fn acknowledged(&mut self, consumed: &[MessageId]) {
        // A tip that cannot be written is older than the journal, which is allowed.
        failpoint!("journal.append.committed");
        self.tip.note(&self.chain).ok();
        failpoint!("journal.append.tip_noted");
        if !consumed.is_empty() {
            failpoint!("journal.append.inbox_consumed");
            self.inbox.forget(consumed);
            failpoint!("journal.append.inbox_forgotten");
        }
        self.ballast.restore();
    }

    fn fenced(&self) -> Error {
        match self.current_epoch() {
            Ok(current) => Error::Fenced { run: self.reader.run.clone(), epoch: self.epoch, current },
            Err(error) => refusal(&self.reader.path, error),
        }
    }

    /// A full disk or a busy file leaves no trace; after anything else the journal is not to be trusted.
    fn refused(&mut self, error: rusqlite::Error) -> Error {
        let error = refusal(&self.reader.path, error);
        match &error {
            Error::DiskFull { .. } | Error::Busy { .. } => {}
            other => self.poison(describe(other)),
        }
        error
    }

    /// Nothing more is acknowledged, and nothing that failed is tried again: a second sync may succeed although the kernel has
    /// dropped what the first one could not write.
    fn poison(&mut self, cause: String) {
        let connection = &self.reader.connection;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).ok();
        connection.pragma_update(None, "wal_autocheckpoint", 0).ok();
        self.poison = Some(cause);
    }

    /// An operation that failed behind a commit that succeeded: SQLite copies its log after a commit and drops errors of that.
    fn hidden_failure(&mut self) -> Option<Error> {
        let code = vfs::take_failure()?;
        let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        Some(self.refused(source))
    }
}

impl Journal for Sqlite {
    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn next_seq(&self) -> u64 {
        self.chain.next
    }

    fn append(&mut self, events: &[Stamped], blobs: &[Blob], consumed: &[MessageId]) -> Result<(), Error> {
        if let Some(cause) = &self.poison {
            return Err(Error::Poisoned { run: self.reader.run.clone(), cause: cause.clone() });
        }
        if events.is_empty() && !consumed.is_empty() {
            return Err(Error::NothingToRecord);
        }
        if events.is_empty() && blobs.is_empty() {
            return Ok(());
        }
        let packed = pack(&mut self.packer, &self.reader.path, blobs)?;
        let mut body = std::mem::take(&mut self.body);
        let result = encode(events, self.chain.next, &mut body)
            .and_then(|()| self.append_record(events.len() as u64, &body, &packed, consumed));
        self.body = body;
        result
    }

    fn read(&self, from: u64, each: &mut dyn FnMut(Stamped)) -> Result<(), Error> {
        self.reader.read(from, each)
    }

    fn recover(&self, rules: u32) -> Result<Vec<Stamped>, Error> {
        self.reader.recover(rules)
    }

    fn snapshot_taker(&self) -> Option<SnapshotTaker> {
        Some(SnapshotTaker::of(&self.reader))
    }

    fn blob(&self, digest: &Digest) -> Result<Option<JsonText>, Error> {
        self.reader.blob(digest)
    }

    fn beat(&mut self) -> Result<(), Error> {
        match self.is_ours() {
            Ok(true) => {}
            Ok(false) => return Err(self.fenced()),
            Err(error) => return Err(refusal(&self.reader.path, error)),
        }
        // A beat that cannot be written makes the owner look absent; what it appends is checked all the same.
        failpoint!("journal.beat.before");
        self.lock.announce(self.epoch).ok();
        failpoint!("journal.beat.announced");
        Ok(())
    }

    fn blocked(&mut self, why: Option<Blocked>) {
        self.lock.block(why);
        self.lock.announce(self.epoch).ok();
    }

    fn spend_ballast(&mut self) {
        self.ballast.release();
    }

    fn inbox_changed(&mut self) -> bool {
        self.inbox.changed()
    }

    fn take_inbox(&mut self) -> Result<Vec<InboxMessage>, Error> {
        self.inbox.take(|| self.reader.consumed())
    }

    fn take_settled_inbox(&mut self) -> Result<Vec<InboxMessage>, Error> {
        self.inbox.take_settled(|| self.reader.consumed())
    }
}

impl Sqlite {
    fn append_record(
        &mut self,
        count: u64,
        body: &[u8],
        blobs: &[Packed],
        consumed: &[MessageId],
    ) -> Result<(), Error> {
        let ids = join_ids(consumed);
        let record = Record { first: self.chain.next, count, epoch: self.epoch, consumed: &ids, body };
        let hash = record.hash(&self.chain.hash);
        vfs::take_failure();
        let committed = self.commit(&record, &hash, blobs);
        if committed.is_ok()
            && let Some(error) = self.hidden_failure()
        {
            return Err(error);
        }
        match committed {
            Ok(true) => {}
            Ok(false) => return Err(self.fenced()),
            Err(error) => return Err(self.refused(error)),
        }
        if count > 0 {
            self.chain = Chain { next: self.chain.next + count, epoch: self.epoch, hash };
        }
        self.acknowledged(consumed);
        Ok(())
    }
}

/// A blob as it is stored.
struct Packed {
    digest: Digest,
    size: i64,
    body: Vec<u8>,
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = match vfs::register() {
        true => Connection::open_with_flags_and_vfs(path, flags, vfs::NAME),
        false => Connection::open_with_flags(path, flags),
    };
    opened.map_err(|error| refusal(path, error))
}

/// Whether another process is in the middle of a commit, or was stopped there. A commit takes a moment, and the silent
/// owner is the only one that makes any, so one look is enough.
fn is_locked(path: &Path) -> Result<bool, Error> {
    let connection = connect(path)?;
    let begun = connection
        .busy_timeout(Duration::ZERO)
        .and_then(|()| connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK"));
    match begun.map_err(|error| refusal(path, error)) {
        Ok(()) => Ok(false),
        Err(Error::Busy { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

fn new_packer(path: &Path) -> Result<Packer, Error> {
    Packer::new().map_err(Error::io("compress for", path))
}

fn pack(packer: &mut Packer, path: &Path, blobs: &[Blob]) -> Result<Vec<Packed>, Error> {
    blobs.iter().map(|blob| pack_one(packer, path, blob.digest, &blob.text)).collect()
}

fn pack_one(packer: &mut Packer, path: &Path, digest: Digest, text: &JsonText) -> Result<Packed, Error> {
    let body = packer.pack(text.as_str()).map_err(Error::io("compress for", path))?;
    Ok(Packed { digest, size: text.as_str().len() as i64, body })
}

fn insert_text(
    connection: &Connection,
    path: &Path,
    packer: &mut Packer,
    text: &JsonText,
) -> Result<Digest, Error> {
    let digest = Digest::of(text.as_str().as_bytes());
    let packed = pack_one(packer, path, digest, text)?;
    insert_blob(connection, &packed).map_err(|error| refusal(path, error))?;
    Ok(digest)
}

fn insert_blob(connection: &Connection, blob: &Packed) -> rusqlite::Result<()> {
    connection.prepare_cached(INSERT_BLOB)?.execute(params![blob.digest.0, blob.size, blob.body]).map(|_| ())
}

fn insert_record(connection: &Connection, record: &Record<'_>, hash: &[u8; 32]) -> rusqlite::Result<bool> {
    let body = std::str::from_utf8(record.body).expect("JSON is UTF-8");
    let (first, count, epoch) = (record.first as i64, record.count as i64, record.epoch as i64);
    let mut insert = connection.prepare_cached(INSERT)?;
    Ok(insert.execute(params![first, count, epoch, hash, record.consumed, body])? == 1)
}

fn describe(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Event, Timestamp};

    fn journal(folder: &Path) -> Sqlite {
        let state = StateDir::open(folder).unwrap();
        let meta = RunMeta { plan: JsonText::of(&1), source: JsonText::of(&2) };
        let owner = Owner { pid: 1, start: None, host: "h".into(), boot: "b".into() };
        Sqlite::create(&state, &RunId("r".into()), &meta, &owner).unwrap()
    }

    fn note() -> Stamped {
        let event = Event::Noted { task: None, code: "x".into(), message: "y".into() };
        Stamped { seq: 1, at: Timestamp(1), event }
    }

    fn failure(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn after_a_failed_sync_nothing_more_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        journal.refused(failure(ffi::SQLITE_IOERR_FSYNC));
        let error = journal.append(&[note()], &[], &[]).unwrap_err();
        assert!(
            matches!(&error, Error::Poisoned { cause, .. } if cause.contains("disk I/O error")),
            "{error}"
        );
        assert!(!error.may_pass());
        assert_eq!(journal.read_all().unwrap(), []);
    }

    #[test]
    fn a_full_disk_or_a_busy_file_is_no_poison() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = journal(folder.path());
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_BUSY] {
            assert!(journal.refused(failure(code)).may_pass());
        }
        journal.append(&[note()], &[], &[]).unwrap();
    }
}
