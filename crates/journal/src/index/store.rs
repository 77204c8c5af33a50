//! The index file: one line a run, and how far the journals of open runs were read.

use super::row::{RunRow, Summary};
use crate::record::Hash;
use crate::sqlite::refusal;
use crate::state::private_file;
use crate::{Error, StateDir};
use convoke_failpoint::failpoint;
use convoke_model::RunId;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The index of a state folder.
pub struct Index {
    pub(super) state: StateDir,
    path: PathBuf,
    connection: Connection,
}

/// The format of the file. One of another format is made anew.
const VERSION: i64 = 2;

/// `settled` lines are believed; `base` is the run that this one was forked from.
const SCHEMA: &str = "
    BEGIN IMMEDIATE;
    DROP TABLE IF EXISTS runs;
    DROP TABLE IF EXISTS cursors;
    CREATE TABLE runs(
        id TEXT PRIMARY KEY,
        started INTEGER NOT NULL,
        settled INTEGER NOT NULL,
        status TEXT NOT NULL,
        workflow TEXT NOT NULL,
        folder TEXT NOT NULL,
        base TEXT,
        words TEXT,
        row TEXT NOT NULL
    ) STRICT;
    CREATE INDEX by_start ON runs(started, id);
    CREATE INDEX by_settled ON runs(id, settled);
    CREATE INDEX by_folder ON runs(folder, started, id);
    CREATE INDEX by_base ON runs(base) WHERE base IS NOT NULL;
    CREATE TABLE cursors(
        id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        hash BLOB NOT NULL,
        state BLOB NOT NULL
    ) STRICT;
    PRAGMA user_version = 2;
    COMMIT;";

const PUT: &str = "INSERT INTO runs(id, started, settled, status, workflow, folder, base, words, row)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT(id) DO UPDATE SET started = ?2, settled = ?3, status = ?4, workflow = ?5, folder = ?6, base = ?7,
        words = coalesce(?8, words), row = ?9";

const PUT_CURSOR: &str = "INSERT INTO cursors(id, seq, hash, state) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT(id) DO UPDATE SET seq = ?2, hash = ?3, state = ?4";

/// A line with what a search looks at.
pub(super) struct Line {
    pub row: RunRow,
    /// Not known where a line is put that was not read from its journal; the words that are there stay.
    pub words: Option<String>,
    /// Whether a process drives the run: then its line is not believed, whatever it says.
    pub driven: bool,
    /// Where the next reading of a long open journal begins.
    pub cursor: Option<Cursor>,
}

/// How far a journal was read, with the fold up to there.
pub(super) struct Cursor {
    pub seq: u64,
    /// Of the record that ends with this event: another hash is another journal.
    pub hash: Hash,
    pub summary: Summary,
}

impl Index {
    /// Opens the index; where none can be kept (a read-only disk), it lives in memory.
    pub fn open(state: &StateDir) -> Result<Index, Error> {
        Index::open_within(state, Duration::from_secs(1))
    }

    /// The same with another patience for other processes that write to it.
    pub fn open_within(state: &StateDir, patience: Duration) -> Result<Index, Error> {
        let path = state.path().join("runs.db");
        let connection = match open_file(&path, patience) {
            Ok(connection) => connection,
            Err(error) if is_damage(&error) => remake(&path)?,
            Err(Error::Busy { path }) => return Err(Error::Busy { path }),
            Err(_) => in_memory(&path)?,
        };
        Ok(Index { state: state.clone(), path, connection })
    }

    /// Puts a run's line in, or in place of the one that is there.
    pub fn put(&mut self, row: &RunRow) -> Result<(), Error> {
        let line = Line { row: row.clone(), words: None, driven: false, cursor: None };
        self.healing(|connection| put(connection, &line))
    }

    /// A process goes on with this run: from here on its line is compared with its folder again. What a list would not hear of is
    /// worse than no index, so one that cannot be changed goes.
    pub fn expect_changes(state: &StateDir, run: &RunId) {
        failpoint!("index.put.before");
        let mark = "UPDATE runs SET settled = 0 WHERE id = ?1";
        let marked = Index::open(state)
            .and_then(|mut index| index.healing(|connection| connection.execute(mark, [&*run.0])));
        if marked.is_err() {
            std::fs::remove_file(state.path().join("runs.db")).ok();
        }
        failpoint!("index.put.done");
    }

    /// A run's line as it was last put.
    pub fn get(&mut self, run: &RunId) -> Result<Option<RunRow>, Error> {
        let sql = "SELECT row FROM runs WHERE id = ?1";
        let text = self.healing(|connection| {
            connection.query_row(sql, [&*run.0], |row| row.get::<_, String>(0)).optional()
        })?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// The runs that were forked from this one, as far as lines were put.
    pub fn forks_of(&mut self, run: &RunId) -> Result<Vec<RunId>, Error> {
        self.ids("SELECT id FROM runs WHERE base = ?1", &[&&*run.0])
    }

    /// The runs that others were forked from.
    pub(super) fn bases(&mut self) -> Result<Vec<RunId>, Error> {
        self.ids("SELECT DISTINCT base FROM runs WHERE base IS NOT NULL", &[])
    }

    fn ids(&mut self, sql: &str, given: &[&dyn rusqlite::ToSql]) -> Result<Vec<RunId>, Error> {
        self.healing(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let ids = statement.query_map(given, |row| Ok(RunId(row.get::<_, String>(0)?.into())))?;
            ids.collect()
        })
    }

    /// Every run that has a line, in the order of their names, and whether its line is believed.
    pub(super) fn known(&mut self) -> Result<Vec<(String, bool)>, Error> {
        self.healing(|connection| {
            let mut statement = connection.prepare_cached("SELECT id, settled FROM runs ORDER BY id")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })
    }

    pub(super) fn cursor(&mut self, run: &RunId) -> Option<Cursor> {
        let sql = "SELECT seq, hash, state FROM cursors WHERE id = ?1";
        let found = self.healing(|connection| {
            let row = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, Hash>(1)?, row.get::<_, Vec<u8>>(2)?))
            };
            connection.query_row(sql, [&*run.0], row).optional()
        });
        let (seq, hash, state) = found.ok().flatten()?;
        let state = zstd::decode_all(&state[..]).ok()?;
        Some(Cursor { seq: seq as u64, hash, summary: serde_json::from_slice(&state).ok()? })
    }

    /// Forgets all lines, so that every journal is read again.
    pub(super) fn forget(&mut self) -> Result<(), Error> {
        self.healing(|connection| connection.execute_batch("DELETE FROM runs; DELETE FROM cursors"))
    }

    pub(crate) fn remove(&mut self, run: &RunId) -> Result<(), Error> {
        self.settle(&[], std::slice::from_ref(run))
    }

    /// Writes what was found out about runs, in one go.
    pub(super) fn settle(&mut self, changed: &[Line], gone: &[RunId]) -> Result<(), Error> {
        if changed.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.healing(|connection| {
            let transaction = connection.unchecked_transaction()?;
            changed.iter().try_for_each(|line| put(connection, line))?;
            for run in gone {
                connection.execute("DELETE FROM runs WHERE id = ?1", [&*run.0])?;
                connection.execute("DELETE FROM cursors WHERE id = ?1", [&*run.0])?;
            }
            failpoint!("index.settle.before_commit");
            transaction.commit().inspect(|()| failpoint!("index.settle.committed"))
        })
    }

    /// Goes on in memory, for a disk without room: all lines are there, and new ones can be added.
    pub(super) fn leave_the_disk(&mut self) -> Result<(), Error> {
        let memory = in_memory(&self.path)?;
        let sql = "SELECT row, words FROM runs";
        let lines = self.healing(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        for (row, words) in lines {
            let Ok(row) = serde_json::from_str(&row) else { continue };
            let line = Line { row, words, driven: false, cursor: None };
            put(&memory, &line).map_err(|error| refusal(&self.path, error))?;
        }
        self.connection = memory;
        Ok(())
    }

    /// Does something with the index; if that shows damage, does it again with a new one.
    pub(super) fn healing<T>(
        &mut self,
        work: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
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

fn put(connection: &Connection, line: &Line) -> rusqlite::Result<()> {
    let Line { row, words, driven, cursor } = line;
    let settled = !driven && row.status.is_end() && row.problem.is_none();
    let text = serde_json::to_string(row).expect("plain data");
    connection.prepare_cached(PUT)?.execute(params![
        &*row.id.0,
        row.started_at.0 as i64,
        settled,
        row.status.word(),
        row.workflow,
        row.folder,
        row.base.as_ref().map(|base| &*base.0),
        words,
        text
    ])?;
    match cursor {
        Some(cursor) if !settled => put_cursor(connection, &row.id, cursor),
        _ if settled => connection.execute("DELETE FROM cursors WHERE id = ?1", [&*row.id.0]).map(|_| ()),
        _ => Ok(()),
    }
}

fn put_cursor(connection: &Connection, run: &RunId, cursor: &Cursor) -> rusqlite::Result<()> {
    let state = serde_json::to_vec(&cursor.summary).expect("plain data");
    // Without one the journal is read from its beginning.
    let Ok(state) = zstd::encode_all(&state[..], 1) else { return Ok(()) };
    let row = params![&*run.0, cursor.seq as i64, cursor.hash, state];
    connection.prepare_cached(PUT_CURSOR)?.execute(row).map(|_| ())
}

fn open_file(path: &Path, patience: Duration) -> Result<Connection, Error> {
    if !path.exists() {
        private_file(path)?;
    }
    prepare(Connection::open(path), patience).map_err(|error| refusal(path, error))
}

fn in_memory(path: &Path) -> Result<Connection, Error> {
    prepare(Connection::open_in_memory(), Duration::ZERO).map_err(|error| refusal(path, error))
}

fn prepare(connection: rusqlite::Result<Connection>, patience: Duration) -> rusqlite::Result<Connection> {
    let connection = connection?;
    connection.busy_timeout(patience)?;
    connection.execute_batch("PRAGMA synchronous = OFF;")?;
    let version = || connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    if version()? != VERSION {
        connection.execute_batch(SCHEMA)?;
    }
    Ok(connection)
}

fn remake(path: &Path) -> Result<Connection, Error> {
    for name in ["runs.db", "runs.db-journal"] {
        std::fs::remove_file(path.with_file_name(name)).ok();
    }
    failpoint!("index.remake.removed");
    open_file(path, Duration::from_secs(1))
}

/// Whether the file is not an index of this version: corrupt, or with other tables.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        Error::Database { source, .. } => source.sqlite_error_code() == Some(ErrorCode::Unknown),
        _ => false,
    }
}
