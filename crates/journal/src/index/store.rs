//! The index file, and how it is kept in line with the folders.

use super::row::{RunRow, Summary};
use crate::sqlite::refusal;
use crate::state::private_file;
use crate::{Error, Reader, StateDir, live_owner};
use convoke_failpoint::failpoint;
use convoke_model::{RunId, RunStatus};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The index of a state folder.
pub struct Index {
    pub(super) state: StateDir,
    path: PathBuf,
    connection: Connection,
}

/// Never synced: after a power loss it is made anew.
const SCHEMA: &str = "
    PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS runs(id TEXT PRIMARY KEY, started INTEGER NOT NULL, row TEXT NOT NULL) STRICT;";

const PUT: &str = "INSERT INTO runs(id, started, row) VALUES (?1, ?2, ?3)
    ON CONFLICT(id) DO UPDATE SET started = ?2, row = ?3";

impl Index {
    /// Opens the index; where none can be kept (a read-only disk), it lives in memory.
    pub fn open(state: &StateDir) -> Result<Index, Error> {
        let path = state.path().join("runs.db");
        let connection = match open_file(&path) {
            Ok(connection) => connection,
            Err(error) if is_damage(&error) => remake(&path)?,
            Err(Error::Busy { path }) => return Err(Error::Busy { path }),
            Err(_) => prepare(Connection::open_in_memory()).map_err(|error| refusal(&path, error))?,
        };
        Ok(Index { state: state.clone(), path, connection })
    }

    /// Puts a run's line in, or in place of the one that is there.
    pub fn put(&mut self, row: &RunRow) -> Result<(), Error> {
        failpoint!("index.put.before");
        self.healing(|connection| put(connection, row)).inspect(|()| failpoint!("index.put.done"))
    }

    /// A run's line as it was last put.
    pub fn get(&mut self, run: &RunId) -> Result<Option<RunRow>, Error> {
        let sql = "SELECT row FROM runs WHERE id = ?1";
        let text = self.healing(|connection| {
            connection.query_row(sql, [&*run.0], |row| row.get::<_, String>(0)).optional()
        })?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// All runs, newest first, in line with the folders and with the owners that are alive.
    pub fn list(&mut self) -> Result<Vec<RunRow>, Error> {
        let mut known = self.healing(rows)?;
        let mut changed = Vec::new();
        let mut listed = Vec::new();
        for run in self.state.runs()? {
            // A run that is driven changes all the time, and one that was driven has changed since it was put.
            let row = known.remove(&run).filter(|row| row.status != RunStatus::Running);
            let fresh = row.is_none();
            let Some(row) = row.or_else(|| look(&self.state, &run)) else { continue };
            if fresh {
                changed.push(row.clone());
            }
            listed.push(row);
        }
        match self.settle(&changed, known.keys()) {
            // The index is an aid: a listing works without room on the disk.
            Err(Error::DiskFull { .. }) => {}
            settled => settled?,
        }
        listed.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
        Ok(listed)
    }

    /// Forgets everything and reads every journal again.
    pub fn rebuild(&mut self) -> Result<Vec<RunRow>, Error> {
        self.healing(|connection| connection.execute("DELETE FROM runs", []))?;
        self.list()
    }

    pub(crate) fn remove(&mut self, run: &RunId) -> Result<(), Error> {
        self.settle(&[], [run])
    }

    /// Writes what a listing has found out, in one go.
    fn settle<'a>(
        &mut self,
        changed: &[RunRow],
        gone: impl IntoIterator<Item = &'a RunId>,
    ) -> Result<(), Error> {
        let gone: Vec<_> = gone.into_iter().collect();
        if changed.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.healing(|connection| {
            let transaction = connection.unchecked_transaction()?;
            changed.iter().try_for_each(|row| put(connection, row))?;
            for run in &gone {
                connection.execute("DELETE FROM runs WHERE id = ?1", [&*run.0])?;
            }
            failpoint!("index.settle.before_commit");
            transaction.commit().inspect(|()| failpoint!("index.settle.committed"))
        })
    }

    /// Does something with the index; if that shows damage, does it again with a new one.
    fn healing<T>(&mut self, work: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let path = self.path.clone();
        let fail = |error| refusal(&path, error);
        match work(&self.connection).map_err(fail) {
            Err(error) if is_damage(&error) => {
                self.connection = remake(&self.path)?;
                work(&self.connection).map_err(fail)
            }
            other => other,
        }
    }
}

fn put(connection: &Connection, row: &RunRow) -> rusqlite::Result<()> {
    let text = serde_json::to_string(row).expect("plain data");
    connection.prepare_cached(PUT)?.execute(params![&*row.id.0, row.started_at.0 as i64, text]).map(|_| ())
}

/// The lines that can be read; the others are as good as absent.
fn rows(connection: &Connection) -> rusqlite::Result<HashMap<RunId, RunRow>> {
    let mut statement = connection.prepare_cached("SELECT row FROM runs")?;
    let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut rows = HashMap::new();
    for text in texts {
        if let Ok(row) = serde_json::from_str::<RunRow>(&text?) {
            rows.insert(row.id.clone(), row);
        }
    }
    Ok(rows)
}

fn is_driven(state: &StateDir, run: &RunId) -> bool {
    matches!(live_owner(state, run), Ok(Some(_)))
}

/// Reads a run's line from its journal. A journal that cannot be read is listed with the reason.
fn look(state: &StateDir, run: &RunId) -> Option<RunRow> {
    let driven = is_driven(state, run);
    let mut summary = Summary::new(run);
    let read = Reader::open(state, run).and_then(|reader| reader.read(1, &mut |event| summary.add(&event)));
    let mut row = summary.row();
    match read {
        Ok(()) => {}
        Err(Error::UnknownRun { .. }) => return None,
        Err(_) if driven && row.total == 0 => return None, // it is being made
        Err(error) => row.problem = Some(error.to_string()),
    }
    if row.status == RunStatus::Running && !driven {
        row.status = RunStatus::Interrupted;
    }
    if row.status != RunStatus::Running {
        row.running = 0;
    }
    Some(row)
}

fn open_file(path: &Path) -> Result<Connection, Error> {
    if !path.exists() {
        private_file(path)?;
    }
    prepare(Connection::open(path)).map_err(|error| refusal(path, error))
}

fn prepare(connection: rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let connection = connection?;
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

fn remake(path: &Path) -> Result<Connection, Error> {
    for name in ["runs.db", "runs.db-journal"] {
        std::fs::remove_file(path.with_file_name(name)).ok();
    }
    failpoint!("index.remake.removed");
    open_file(path)
}

/// Whether the file is not an index of this version: corrupt, or with other tables.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        Error::Database { source, .. } => source.sqlite_error_code() == Some(ErrorCode::Unknown),
        _ => false,
    }
}
