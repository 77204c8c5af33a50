//! How far each run was delivered to one receiver, and what became of the last delivery.
//!
//! A file of SQLite beside the runs. Invariant: a row says what the receiver has acknowledged, never more. A file that is damaged is
//! made anew: then everything since the receiver was first named is delivered again, with the same ids.

use crate::Error;
use crate::lease::{self, Lease};
use convoke_journal::{StateDir, private_file};
use convoke_model::{RunId, Timestamp};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS runs(
        id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        at INTEGER NOT NULL,
        ended INTEGER NOT NULL,
        problem TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS account(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        label TEXT NOT NULL,
        since INTEGER NOT NULL,
        delivered INTEGER NOT NULL DEFAULT 0,
        refused INTEGER NOT NULL DEFAULT 0,
        dropped INTEGER NOT NULL DEFAULT 0,
        last_success INTEGER,
        problem TEXT,
        problem_at INTEGER
    ) STRICT;
    PRAGMA user_version = 1;";

/// Other processes look at it; none holds it for long.
const PATIENCE: Duration = Duration::from_secs(2);

/// How far a run was delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The number of the last event; 0: none.
    pub seq: u64,
    /// When that happened: another time under the same number is another journal. 0 where the event was not looked at.
    pub at: Timestamp,
    /// Whether the run had ended with it.
    pub ended: bool,
}

/// What there is to tell of the deliveries to one receiver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// The name of the receiver's cursors.
    pub name: String,
    /// What it is, for people.
    pub label: String,
    /// Events before this are not delivered.
    pub since: Timestamp,
    /// Items that were delivered, those among them that were delivered again included.
    pub delivered: u64,
    /// Items that the receiver did not want.
    pub refused: u64,
    /// Runs that were removed before all of them was delivered.
    pub dropped: u64,
    /// When it last took something.
    pub last_success: Option<Timestamp>,
    /// Why the last delivery came to nothing, and when; `None` once one succeeds again.
    pub problem: Option<(String, Timestamp)>,
    /// Runs whose journals cannot be read.
    pub unreadable: Vec<(RunId, String)>,
    /// Whether a process delivers at this moment.
    pub active: bool,
}

/// The cursors of one receiver.
pub struct Cursors {
    connection: Connection,
    path: PathBuf,
}

impl Cursors {
    /// Opens the file, or makes it: from `since` on events are delivered.
    pub fn open(state: &StateDir, name: &str, label: &str, since: Timestamp) -> Result<Cursors, Error> {
        let path = lease::file(state, name, "db");
        lease::make_folder(&path)?;
        match Cursors::at(&path, label, since) {
            Err(Error::Cursors { source, .. }) if is_damage(&source) => {
                Cursors::remove(state, name);
                Cursors::at(&path, label, since)
            }
            other => other,
        }
    }

    /// Removes the file: everything is delivered from the beginning.
    pub fn remove(state: &StateDir, name: &str) {
        for ending in ["db", "db-wal", "db-shm"] {
            std::fs::remove_file(lease::file(state, name, ending)).ok();
        }
    }

    fn at(path: &Path, label: &str, since: Timestamp) -> Result<Cursors, Error> {
        private_file(path)?;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(PATIENCE)?;
            connection.execute_batch(SCHEMA)?;
            connection.execute(
                "INSERT INTO account(one, label, since) VALUES (1, ?1, ?2)
                     ON CONFLICT(one) DO UPDATE SET label = ?1",
                params![label, since.0 as i64],
            )?;
            Ok(connection)
        };
        open()
            .map(|connection| Cursors { connection, path: path.into() })
            .map_err(|source| refusal(path, source))
    }

    /// Events before this are not delivered.
    pub fn since(&self) -> Result<Timestamp, Error> {
        let since = self.connection.query_row("SELECT since FROM account", [], |row| row.get::<_, i64>(0));
        since.map(|since| Timestamp(since as u64)).map_err(|source| self.refusal(source))
    }

    /// Every cursor.
    pub fn all(&self) -> Result<HashMap<RunId, Cursor>, Error> {
        let read = || -> rusqlite::Result<HashMap<RunId, Cursor>> {
            let mut statement = self.connection.prepare("SELECT id, seq, at, ended FROM runs")?;
            let rows = statement.query_map([], |row| {
                let cursor = Cursor {
                    seq: row.get::<_, i64>(1)? as u64,
                    at: Timestamp(row.get::<_, i64>(2)? as u64),
                    ended: row.get(3)?,
                };
                Ok((RunId(row.get::<_, String>(0)?.into()), cursor))
            })?;
            rows.collect()
        };
        read().map_err(|source| self.refusal(source))
    }

    /// Keeps how far a run was delivered.
    pub fn keep(&self, run: &RunId, cursor: Cursor) -> Result<(), Error> {
        self.execute(
            "INSERT INTO runs(id, seq, at, ended) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT(id) DO UPDATE SET seq = ?2, at = ?3, ended = ?4, problem = NULL",
            params![&*run.0, cursor.seq as i64, cursor.at.0 as i64, cursor.ended],
        )
    }

    /// Many at once.
    pub fn keep_all<'a>(&mut self, all: impl IntoIterator<Item = (&'a RunId, Cursor)>) -> Result<(), Error> {
        self.execute("BEGIN IMMEDIATE", [])?;
        let kept = all.into_iter().try_for_each(|(run, cursor)| self.keep(run, cursor));
        self.execute(if kept.is_ok() { "COMMIT" } else { "ROLLBACK" }, [])?;
        kept
    }

    /// Notes that a run's journal cannot be read.
    pub fn note_problem(&self, run: &RunId, why: &str) -> Result<(), Error> {
        self.execute(
            "INSERT INTO runs(id, seq, at, ended, problem) VALUES (?1, 0, 0, 0, ?2)
                 ON CONFLICT(id) DO UPDATE SET problem = ?2",
            params![&*run.0, why],
        )
    }

    /// Forgets a run that is gone; `undelivered` if something of it was not delivered.
    pub fn forget(&self, run: &RunId, undelivered: bool) -> Result<(), Error> {
        self.execute("DELETE FROM runs WHERE id = ?1", [&*run.0])?;
        if undelivered {
            self.execute("UPDATE account SET dropped = dropped + 1", [])?;
        }
        Ok(())
    }

    /// Counts a delivery.
    pub fn delivered(
        &self,
        items: u64,
        refused: u64,
        why: Option<&str>,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.execute(
            "UPDATE account SET delivered = delivered + ?1, refused = refused + ?2, last_success = ?3,
                 problem = ?4, problem_at = iif(?4 IS NULL, NULL, ?3)",
            params![items as i64, refused as i64, now.0 as i64, why],
        )
    }

    /// Notes why a delivery came to nothing.
    pub fn failed(&self, why: &str, now: Timestamp) -> Result<(), Error> {
        self.execute("UPDATE account SET problem = ?1, problem_at = ?2", params![why, now.0 as i64])
    }

    fn execute(&self, sql: &str, parameters: impl rusqlite::Params) -> Result<(), Error> {
        let done =
            self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(parameters));
        done.map(|_| ()).map_err(|source| self.refusal(source))
    }

    fn refusal(&self, source: rusqlite::Error) -> Error {
        refusal(&self.path, source)
    }
}

/// What there is to tell of every receiver of a state directory, by name.
pub fn accounts(state: &StateDir) -> Vec<Account> {
    let entries = std::fs::read_dir(lease::folder(state)).ok().into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".db")?.to_owned()))
        .collect();
    names.sort();
    names.into_iter().filter_map(|name| account(state, &name)).collect()
}

/// The same of one receiver; `None` if nothing was ever delivered to it, or if that cannot be read.
pub fn account(state: &StateDir, name: &str) -> Option<Account> {
    let path = lease::file(state, name, "db");
    let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    connection.busy_timeout(PATIENCE).ok()?;
    let time = |micros: Option<i64>| micros.map(|micros| Timestamp(micros as u64));
    let sql =
        "SELECT label, since, delivered, refused, dropped, last_success, problem, problem_at FROM account";
    let mut account = connection
        .query_row(sql, [], |row| {
            let problem: Option<String> = row.get(6)?;
            Ok(Account {
                name: name.to_owned(),
                label: row.get(0)?,
                since: Timestamp(row.get::<_, i64>(1)? as u64),
                delivered: row.get::<_, i64>(2)? as u64,
                refused: row.get::<_, i64>(3)? as u64,
                dropped: row.get::<_, i64>(4)? as u64,
                last_success: time(row.get(5)?),
                problem: problem.zip(time(row.get(7)?)),
                ..Account::default()
            })
        })
        .optional()
        .ok()??;
    account.unreadable = unreadable(&connection).unwrap_or_default();
    account.active = Lease::is_held(state, name);
    Some(account)
}

fn unreadable(connection: &Connection) -> rusqlite::Result<Vec<(RunId, String)>> {
    let mut statement =
        connection.prepare("SELECT id, problem FROM runs WHERE problem IS NOT NULL ORDER BY id LIMIT 100")?;
    let rows = statement.query_map([], |row| Ok((RunId(row.get::<_, String>(0)?.into()), row.get(1)?)))?;
    rows.collect()
}

fn refusal(path: &Path, source: rusqlite::Error) -> Error {
    Error::Cursors { path: path.into(), source }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        RunId("r".into())
    }

    #[test]
    fn what_is_kept_is_there_again_and_since_stays() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let cursor = Cursor { seq: 7, at: Timestamp(70), ended: true };
        let cursors = Cursors::open(&state, "a", "traces", Timestamp(5)).unwrap();
        cursors.keep(&run(), cursor).unwrap();
        cursors.delivered(3, 1, None, Timestamp(9)).unwrap();
        cursors.failed("down", Timestamp(10)).unwrap();
        drop(cursors);
        let cursors = Cursors::open(&state, "a", "traces", Timestamp(99)).unwrap();
        assert_eq!(cursors.since().unwrap(), Timestamp(5));
        assert_eq!(cursors.all().unwrap(), HashMap::from([(run(), cursor)]));
        let told = account(&state, "a").unwrap();
        assert_eq!((told.delivered, told.refused, told.last_success), (3, 1, Some(Timestamp(9))));
        assert_eq!(told.problem, Some(("down".to_owned(), Timestamp(10))));
        cursors.delivered(1, 0, None, Timestamp(11)).unwrap();
        assert_eq!(account(&state, "a").unwrap().problem, None);
        assert_eq!(accounts(&state).len(), 1);
    }

    #[test]
    fn a_damaged_file_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        Cursors::open(&state, "a", "", Timestamp(5)).unwrap().keep(&run(), Cursor::default()).unwrap();
        for ending in ["db-wal", "db-shm"] {
            std::fs::remove_file(lease::file(&state, "a", ending)).ok();
        }
        std::fs::write(lease::file(&state, "a", "db"), "no database at all, whatever it is called").unwrap();
        assert!(Cursors::open(&state, "a", "", Timestamp(6)).unwrap().all().unwrap().is_empty());
    }
}
