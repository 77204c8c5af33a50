//! What an export holds besides the journal: a manifest, the messages that wait, and the log.

use crate::Error;
use crate::inbox::InboxRow;
use crate::sqlite::refusal;
use crate::state::private_file;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// What an export says that it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub run: String,
    /// The last event.
    pub events: u64,
    /// The hash of the last record, in hexadecimal digits.
    pub hash: String,
    pub blobs: u64,
    pub messages: u64,
    pub log_bytes: u64,
    /// Whether a process drove the run: there may be later events elsewhere.
    pub live: bool,
}

const TABLES: &str = "
    CREATE TABLE archive_manifest(one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT NOT NULL) STRICT;
    CREATE TABLE archive_messages(place INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
    CREATE TABLE archive_log(part INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;";

/// The log is kept in parts of this many bytes.
const PART: usize = 1 << 20;

/// The longest manifest; a longer one is none.
const LONGEST: i64 = 1 << 16;

/// Adds what belongs to the journal to its copy.
pub(super) fn add(
    copy: &Path,
    manifest: &Manifest,
    messages: &[InboxRow],
    log: Option<File>,
) -> Result<(), Error> {
    let fail = |error| refusal(copy, error);
    let connection = Connection::open(copy).map_err(fail)?;
    let pragmas = "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; BEGIN;";
    connection.execute_batch(pragmas).and_then(|()| connection.execute_batch(TABLES)).map_err(fail)?;
    let log_bytes = log.map_or(Ok(0), |log| add_log(&connection, copy, log))?;
    for message in messages {
        let sql = "INSERT INTO archive_messages(id, at, body) VALUES (?1, ?2, ?3)";
        connection.execute(sql, params![message.id, message.at, message.body]).map_err(fail)?;
    }
    let manifest = Manifest { log_bytes, messages: messages.len() as u64, ..manifest.clone() };
    let text = serde_json::to_string(&manifest).expect("plain data");
    connection.execute("INSERT INTO archive_manifest(one, text) VALUES (1, ?1)", [text]).map_err(fail)?;
    connection.execute_batch("COMMIT").map_err(fail)?;
    connection.close().map_err(|(_, error)| refusal(copy, error))
}

fn add_log(connection: &Connection, copy: &Path, mut log: File) -> Result<u64, Error> {
    let (mut length, mut part) = (0, Vec::with_capacity(PART));
    loop {
        part.clear();
        let read = Read::by_ref(&mut log)
            .take(PART as u64)
            .read_to_end(&mut part)
            .map_err(Error::io("read the log for", copy))?;
        if read == 0 {
            return Ok(length);
        }
        length += read as u64;
        let insert = "INSERT INTO archive_log(body) VALUES (?1)";
        connection.execute(insert, [&part]).map_err(|error| refusal(copy, error))?;
    }
}

/// The content of an export, to read.
pub(super) struct Content<'a> {
    connection: Connection,
    shown: &'a Path,
}

impl<'a> Content<'a> {
    /// Opens it, and refuses what is no plain table: nothing in it may act.
    pub fn open(path: &Path, shown: &'a Path) -> Result<Content<'a>, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags);
        let connection = opened.map_err(|error| foreign(shown, &error.to_string()))?;
        let content = Content { connection, shown };
        let odd = "SELECT count(*) FROM sqlite_schema
            WHERE type NOT IN ('table', 'index') OR sql LIKE '%VIRTUAL%' OR sql LIKE '%GENERATED%'";
        match content.number(odd)? {
            0 => Ok(content),
            _ => Err(content.refuse("it has more than tables")),
        }
    }

    pub fn manifest(&self) -> Result<Manifest, Error> {
        let sql = format!("SELECT text FROM archive_manifest WHERE length(text) <= {LONGEST}");
        let text = self.connection.query_row(&sql, [], |row| row.get::<_, String>(0)).optional();
        let text = text.map_err(|error| self.refuse(&error.to_string()))?;
        let manifest = text.and_then(|text| serde_json::from_str(&text).ok());
        manifest.ok_or_else(|| self.refuse("its manifest cannot be read"))
    }

    pub fn messages(&self) -> Result<Vec<InboxRow>, Error> {
        let query = || {
            let mut statement =
                self.connection.prepare("SELECT id, at, body FROM archive_messages ORDER BY place")?;
            let kept = statement
                .query_map([], |row| Ok(InboxRow { id: row.get(0)?, at: row.get(1)?, body: row.get(2)? }))?;
            kept.collect::<rusqlite::Result<Vec<_>>>()
        };
        query().map_err(|error| self.refuse(&error.to_string()))
    }

    /// Writes the log, if there is one; answers with its length.
    pub fn write_log(&self, to: &Path) -> Result<u64, Error> {
        let fail = |error: rusqlite::Error| self.refuse(&error.to_string());
        let mut statement =
            self.connection.prepare("SELECT body FROM archive_log ORDER BY part").map_err(fail)?;
        let mut rows = statement.query([]).map_err(fail)?;
        let (mut file, mut length) = (None, 0);
        while let Some(row) = rows.next().map_err(fail)? {
            let part = row.get_ref(0).and_then(|value| Ok(value.as_blob()?)).map_err(fail)?;
            if file.is_none() {
                file = Some(private_file(to)?);
            }
            let written = file.as_mut().expect("just made").write_all(part);
            written.map_err(Error::io("write", to))?;
            length += part.len() as u64;
        }
        if let Some(file) = file {
            file.sync_all().map_err(Error::io("sync", to))?;
        }
        Ok(length)
    }

    pub fn refuse(&self, why: &str) -> Error {
        foreign(self.shown, why)
    }

    fn number(&self, sql: &str) -> Result<i64, Error> {
        let number = self.connection.query_row(sql, [], |row| row.get(0));
        number.map_err(|error| self.refuse(&error.to_string()))
    }
}

fn foreign(shown: &Path, why: &str) -> Error {
    Error::Archive { path: shown.to_owned(), why: why.to_owned() }
}
