//! The format of a journal file, and how older ones become newer ones.
//!
//! A version is for ever: its fixture in `tests/fixtures` must stay readable. To change the format, append a migration
//! here and keep a fixture of the new version; never edit an old migration.

use super::refusal;
use crate::Error;
use crate::tip::Tip;
use rusqlite::Connection;
use std::path::Path;

/// Tells our files from other databases: `CNVK`.
pub const APPLICATION_ID: i32 = 0x434e_564b;

/// Step n brings version n to version n + 1; the first one makes an empty file ours.
pub const MIGRATIONS: &[&str] = &["
    CREATE TABLE run(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL,
        plan BLOB NOT NULL,
        source BLOB NOT NULL,
        epoch INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE records(
        first INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        hash BLOB NOT NULL,
        consumed TEXT NOT NULL,
        body TEXT NOT NULL
    ) STRICT;
    CREATE TABLE blobs(
        digest BLOB NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        body BLOB NOT NULL
    ) STRICT;
    PRAGMA application_id = 0x434e564b;
"];

/// How many pages the log may have before it is copied into the file (512 KB). Small, because a log that starts over
/// is overwritten, and syncing what does not grow takes half the time of syncing what does.
const LOG_PAGES: u32 = 128;

/// A journal with a log in which nothing stands yet: what the migrations make of an empty file, byte for byte, so that a new run
/// need not carry them out. A test holds it against them, and writes it anew if told.
pub const EMPTY: &[u8] = include_bytes!("empty.db");

/// Where the header of the file says by which versions it is written and read: 2 with a log, 1 without.
const LOG_VERSIONS: std::ops::Range<usize> = 18..20;

/// Tells the first page of a journal that there is no log.
pub fn without_log(first_page: &mut [u8]) {
    first_page[LOG_VERSIONS].fill(1);
}

/// Begins what makes an empty journal that of a run. Nothing is durable until the first append.
pub fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA synchronous = OFF; BEGIN;")
}

/// Makes an empty file a journal; for one that is made in one go and has no log.
pub fn create_plain(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN;")?;
    migrate_from(connection, 0, MIGRATIONS)
}

/// Every commit from here on is durable when it returns.
pub fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    let pragmas = format!("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {LOG_PAGES};");
    connection.execute_batch(&pragmas)
}

/// The version of a file that is ours and not too new.
pub fn check(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id").map_err(|error| refusal(path, error))?;
    if application != i64::from(APPLICATION_ID) {
        return Err(foreign(path, "its header names another program"));
    }
    let found = number("PRAGMA user_version").map_err(|error| refusal(path, error))?;
    let known = MIGRATIONS.len() as i64;
    if found < 1 {
        return Err(Error::NoFormat { path: path.into(), found });
    }
    if found > known {
        return Err(Error::Newer { path: path.into(), found, known });
    }
    Ok(found)
}

/// A file that is none of ours; damage where events of it were acknowledged.
pub fn foreign(path: &Path, why: &str) -> Error {
    match path.parent().and_then(Tip::read) {
        Some(tip) if tip.seq > 0 => {
            let why = format!("{why}, but event {} was acknowledged", tip.seq);
            Error::Corrupt { path: path.into(), why }
        }
        _ => Error::Foreign { path: path.into() },
    }
}

/// What tables and indexes a file of a version has, as their statements say. A reader can do with less than a writer needs.
pub fn check_tables(connection: &Connection, path: &Path, version: i64) -> Result<(), Error> {
    let fail = |error| refusal(path, error);
    let model = Connection::open_in_memory().map_err(fail)?;
    migrate_from(&model, 0, &MIGRATIONS[..version as usize]).map_err(fail)?;
    let (found, expected) = (tables(connection).map_err(fail)?, tables(&model).map_err(fail)?);
    if found == expected {
        return Ok(());
    }
    let other = expected.iter().find(|table| !found.contains(table)).or(found.first());
    let name = other.map_or("sqlite_schema", |(name, ..)| name.as_str());
    Err(Error::Corrupt {
        path: path.into(),
        why: format!("the definition of `{name}` is not what was written"),
    })
}

type Table = (String, String, String, Option<String>);

fn tables(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    let mut statement =
        connection.prepare("SELECT name, type, tbl_name, sql FROM sqlite_schema ORDER BY name")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect()
}

/// The file's header says by which versions of the format it may be written: a file of a later one would be for readers only.
pub fn check_header(header: &[u8; 100], path: &Path) -> Result<(), Error> {
    match header[LOG_VERSIONS] {
        [1, 1] | [2, 2] => Ok(()),
        ref other => {
            let why = format!("its header names the versions {other:?} of the file format");
            Err(Error::Corrupt { path: path.into(), why })
        }
    }
}

/// Brings an older file to the newest version, all steps or none.
pub fn migrate(connection: &Connection, from: i64) -> rusqlite::Result<()> {
    if from == MIGRATIONS.len() as i64 {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE")?;
    migrate_from(connection, from, MIGRATIONS)?;
    connection.execute_batch("COMMIT")
}

/// Takes the remaining steps inside an open transaction.
fn migrate_from(connection: &Connection, from: i64, steps: &[&str]) -> rusqlite::Result<()> {
    for step in steps.iter().skip(usize::try_from(from).unwrap_or(0)) {
        connection.execute_batch(step)?;
    }
    connection.execute_batch(&format!("PRAGMA user_version = {};", steps.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_file_takes_only_the_steps_it_lacks() {
        let connection = Connection::open_in_memory().unwrap();
        migrate_from(&connection, 0, &["CREATE TABLE a(x)"]).unwrap();
        migrate_from(&connection, 1, &["CREATE TABLE a(x)", "ALTER TABLE a ADD COLUMN y"]).unwrap();
        connection.execute("INSERT INTO a(x, y) VALUES (1, 2)", []).unwrap();
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert_eq!(version, 2);
    }

    /// `CONVOKE_EMPTY_JOURNAL=write` writes it anew, after a migration was added.
    #[test]
    fn the_empty_journal_is_what_the_migrations_make() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; BEGIN;").unwrap();
        migrate_from(&connection, 0, MIGRATIONS).unwrap();
        connection.execute_batch("COMMIT").unwrap();
        connection.close().unwrap();
        let mut made = std::fs::read(&path).unwrap();
        if std::env::var_os("CONVOKE_EMPTY_JOURNAL").is_some_and(|told| told == "write") {
            std::fs::write("src/sqlite/empty.db", &made).unwrap();
            return;
        }
        let mut kept = EMPTY.to_vec();
        // How often it was changed, and by which SQLite.
        [&mut made, &mut kept].into_iter().for_each(|file| {
            file[24..28].fill(0);
            file[92..100].fill(0);
        });
        assert!(made == kept, "a migration was added: CONVOKE_EMPTY_JOURNAL=write");
    }

    #[test]
    fn the_database_is_newer_than_its_log_reset_fault() {
        let number = rusqlite::version_number();
        assert!(number >= 3_051_003 && number != 3_052_000, "{}", rusqlite::version());
    }

    #[test]
    fn other_databases_are_not_ours() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(matches!(check(&connection, Path::new("x")), Err(Error::Foreign { .. })));
    }
}
