//! Quads in SQLite: a dictionary of terms, one table in four orders, and the words of texts.
//!
//! Invariant: what nothing names any more is not in the file: a graph that is dropped takes its terms and their words with it.

mod dataset;
mod rows;
mod words;

pub use dataset::{Dataset, Limits, Trouble};

use crate::{Error, term};
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Another form of the tables has another number; a file of another number is made anew.
const FORMAT: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS term(
        id INTEGER PRIMARY KEY,
        h INTEGER NOT NULL,           -- 32 bits of a hash of kind, datatype and text
        kind INTEGER NOT NULL,        -- 0 IRI, 1 blank node, 2 string, 3 text in a language, 4 typed
        v TEXT NOT NULL,
        x TEXT                        -- language or datatype
    ) STRICT;
    CREATE INDEX IF NOT EXISTS term_h ON term(h);
    CREATE TABLE IF NOT EXISTS quad(
        s INTEGER NOT NULL, p INTEGER NOT NULL, o INTEGER NOT NULL, g INTEGER NOT NULL,
        PRIMARY KEY(s, p, o, g)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS quad_posg ON quad(p, o, s, g);
    CREATE INDEX IF NOT EXISTS quad_ospg ON quad(o, s, p, g) WHERE (o & 7) = 0;
    CREATE INDEX IF NOT EXISTS quad_gspo ON quad(g, s, p, o);
    CREATE TABLE IF NOT EXISTS graph(g INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE IF NOT EXISTS worded(id INTEGER PRIMARY KEY) STRICT;
    CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
        v, content='', contentless_delete=1, detail=none, tokenize=\"unicode61 remove_diacritics 2\");";

/// Terms that the writer remembers.
const REMEMBERED: usize = 200_000;

/// For other processes that write at this moment.
const PATIENCE: Duration = Duration::from_secs(10);

/// The store, open for writing.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    known: HashMap<Term, i64>,
    next: i64,
}

impl Store {
    /// Opens the file, or makes it; one of another format is made anew, and `true` says so.
    pub fn open(path: &Path) -> Result<(Store, bool), Error> {
        let fail = |source| Error::Store { path: path.to_owned(), source };
        let is_new = !path.exists();
        convoke_journal::private_file(path)?;
        match Store::at(path) {
            Ok(store) => Ok((store, is_new)),
            // A projection is made anew rather than mended.
            Err(_) => {
                Store::remove(path);
                convoke_journal::private_file(path)?;
                Ok((Store::at(path).map_err(fail)?, true))
            }
        }
    }

    /// A store that is gone with its process.
    pub fn in_memory() -> Result<Store, Error> {
        let path = PathBuf::from(":memory:");
        Store::at(&path).map_err(|source| Error::Store { path, source })
    }

    /// Removes the file with everything beside it.
    pub fn remove(path: &Path) {
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            std::fs::remove_file(name).ok();
        }
    }

    fn at(path: &Path) -> rusqlite::Result<Store> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;
             PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;",
        )?;
        // Plans may not depend on what is bound: every bind would prepare anew.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        let format: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if format != 0 && format != FORMAT {
            return Err(rusqlite::Error::InvalidQuery);
        }
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "user_version", FORMAT)?;
        connection.set_prepared_statement_cache_capacity(64);
        let next = connection.query_row("SELECT coalesce(max(id), 0) + 1 FROM term", [], |row| row.get(0))?;
        Ok(Store { connection, path: path.to_owned(), known: HashMap::new(), next })
    }

    /// A connection that only reads.
    pub fn reader(path: &Path) -> Result<Connection, Error> {
        let fail = |source| Error::Store { path: path.to_owned(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        let prepare = || {
            connection.busy_timeout(PATIENCE)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            connection.execute_batch(
                "PRAGMA query_only = ON; PRAGMA cache_size = -65536; PRAGMA mmap_size = 2147483648;",
            )?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(())
        };
        prepare().map_err(fail)?;
        Ok(connection)
    }

    /// Notes whether contents are part of the graph.
    pub fn note_contents(&self, contents: bool) -> Result<(), Error> {
        let fail = |source| Error::Store { path: self.path.clone(), source };
        self.connection.pragma_update(None, "application_id", i64::from(contents)).map_err(fail)
    }

    /// Whether contents are part of the graph.
    pub fn has_contents(&self) -> Result<bool, Error> {
        let fail = |source| Error::Store { path: self.path.clone(), source };
        let flag = self.connection.query_row("PRAGMA application_id", [], |row| row.get::<_, i64>(0));
        flag.map(|flag| flag != 0).map_err(fail)
    }

    /// The connection, to read what was just written.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Does all of it, or nothing.
    pub fn in_one<T>(
        &mut self,
        work: impl FnOnce(&mut Writing<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        let done = begun.and_then(|()| work(&mut Writing { store: self }));
        let ended = done.and_then(|done| self.connection.execute_batch("COMMIT").map(|()| done));
        ended.map_err(|source| {
            self.connection.execute_batch("ROLLBACK").ok();
            // What was remembered may not be in the file.
            self.known.clear();
            if let Ok(next) =
                self.connection.query_row("SELECT coalesce(max(id), 0) + 1 FROM term", [], |row| row.get(0))
            {
                self.next = next;
            }
            Error::Store { path: self.path.clone(), source }
        })
    }
}

/// The store within one transaction.
pub struct Writing<'s> {
    store: &'s mut Store,
}

impl Writing<'_> {
    /// Adds quads; those that are there stay.
    pub fn add<'q>(&mut self, quads: impl IntoIterator<Item = &'q Quad>) -> rusqlite::Result<()> {
        for quad in quads {
            let [s, p, o, g] = self.numbers(quad)?;
            let connection = &self.store.connection;
            connection
                .prepare_cached("INSERT OR IGNORE INTO quad(s, p, o, g) VALUES (?1, ?2, ?3, ?4)")?
                .execute([s, p, o, g])?;
            connection.prepare_cached("INSERT OR IGNORE INTO graph(g) VALUES (?1)")?.execute([g])?;
            if let Term::Literal(text) = &quad.object
                && words::is_searched(quad.predicate.as_str())
                && term::tag(o) == term::LITERAL
            {
                words::note(connection, term::payload(o), text.value())?;
            }
        }
        Ok(())
    }

    /// Takes quads away. Their terms stay until their graph goes.
    pub fn remove<'q>(&mut self, quads: impl IntoIterator<Item = &'q Quad>) -> rusqlite::Result<()> {
        for quad in quads {
            let numbers = self.numbers(quad)?;
            let mut statement = self
                .store
                .connection
                .prepare_cached("DELETE FROM quad WHERE s = ?1 AND p = ?2 AND o = ?3 AND g = ?4")?;
            statement.execute(numbers)?;
        }
        Ok(())
    }

    /// Takes a whole graph away, with every term that nothing else names.
    pub fn drop_graph(&mut self, graph: &NamedNode) -> rusqlite::Result<()> {
        let connection = &self.store.connection;
        let Some(g) = find(connection, &graph.clone().into())? else { return Ok(()) };
        let named = "SELECT s FROM quad WHERE g = ?1 UNION SELECT p FROM quad WHERE g = ?1
                     UNION SELECT o FROM quad WHERE g = ?1";
        let mut ids: Vec<i64> =
            connection.prepare_cached(named)?.query_map([g], |row| row.get(0))?.collect::<Result<_, _>>()?;
        ids.push(g);
        connection.prepare_cached("DELETE FROM quad INDEXED BY quad_gspo WHERE g = ?1")?.execute([g])?;
        connection.prepare_cached("DELETE FROM graph WHERE g = ?1")?.execute([g])?;
        self.forget(&ids)
    }

    /// Forgets those of the terms that nothing names.
    fn forget(&mut self, ids: &[i64]) -> rusqlite::Result<()> {
        let connection = &self.store.connection;
        let predicates: Vec<i64> = connection
            .prepare_cached(PREDICATES)?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut gone = 0;
        for id in ids.iter().copied().filter(|id| matches!(term::tag(*id), term::RESOURCE | term::LITERAL)) {
            if !is_named(connection, id, &predicates)? {
                connection.prepare_cached("DELETE FROM term WHERE id = ?1")?.execute([term::payload(id)])?;
                words::forget(connection, term::payload(id))?;
                gone += 1;
            }
        }
        if gone > 0 {
            self.store.known.clear();
        }
        Ok(())
    }

    fn numbers(&mut self, quad: &Quad) -> rusqlite::Result<[i64; 4]> {
        let subject = match &quad.subject {
            NamedOrBlankNode::NamedNode(node) => Term::from(node.clone()),
            NamedOrBlankNode::BlankNode(node) => node.clone().into(),
        };
        let graph = match &quad.graph_name {
            GraphName::NamedNode(node) => Term::from(node.clone()),
            GraphName::BlankNode(node) => node.clone().into(),
            GraphName::DefaultGraph => unreachable!("everything that is stored has a graph of its own"),
        };
        Ok([
            self.number(&subject)?,
            self.number(&quad.predicate.clone().into())?,
            self.number(&quad.object)?,
            self.number(&graph)?,
        ])
    }

    fn number(&mut self, term: &Term) -> rusqlite::Result<i64> {
        if let Some(id) = term::inline(term).or_else(|| self.store.known.get(term).copied()) {
            return Ok(id);
        }
        let connection = &self.store.connection;
        let id = match find(connection, term)? {
            Some(id) => id,
            None => {
                let (kind, text, extra) = parts(term);
                let row = self.store.next;
                connection
                    .prepare_cached("INSERT INTO term(id, h, kind, v, x) VALUES (?1, ?2, ?3, ?4, ?5)")?
                    .execute(params![row, hash(kind, text, extra), kind, text, extra])?;
                self.store.next += 1;
                term::pack(tag_of(kind), row)
            }
        };
        if self.store.known.len() >= REMEMBERED {
            self.store.known.clear();
        }
        self.store.known.insert(term.clone(), id);
        Ok(id)
    }
}

/// All predicates, each by one step in the index.
const PREDICATES: &str = "
    WITH RECURSIVE known(p) AS (
        SELECT (SELECT min(p) FROM quad INDEXED BY quad_posg)
        UNION ALL
        SELECT (SELECT min(p) FROM quad INDEXED BY quad_posg WHERE p > known.p) FROM known WHERE known.p IS NOT NULL
    ) SELECT p FROM known WHERE p IS NOT NULL";

fn is_named(connection: &Connection, id: i64, predicates: &[i64]) -> rusqlite::Result<bool> {
    if term::tag(id) == term::RESOURCE {
        for sql in [
            "SELECT 1 FROM quad WHERE s = ?1",
            "SELECT 1 FROM quad INDEXED BY quad_posg WHERE p = ?1",
            "SELECT 1 FROM quad INDEXED BY quad_ospg WHERE o = ?1 AND (o & 7) = 0",
            "SELECT 1 FROM quad INDEXED BY quad_gspo WHERE g = ?1",
        ] {
            if connection.prepare_cached(sql)?.exists([id])? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM quad INDEXED BY quad_posg WHERE p = ?1 AND o = ?2")?;
    for predicate in predicates {
        if statement.exists([*predicate, id])? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn hash(kind: i64, text: &str, extra: Option<&str>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&[kind as u8])
        .update(extra.unwrap_or_default().as_bytes())
        .update(&[0])
        .update(text.as_bytes());
    let hash = hasher.finalize();
    let bytes = hash.as_bytes();
    i64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn tag_of(kind: i64) -> i64 {
    if kind < 2 { term::RESOURCE } else { term::LITERAL }
}

/// How a term stands in the dictionary.
fn parts(term: &Term) -> (i64, &str, Option<&str>) {
    match term {
        Term::NamedNode(node) => (0, node.as_str(), None),
        Term::BlankNode(node) => (1, node.as_str(), None),
        Term::Literal(literal) => match literal.language() {
            Some(language) => (3, literal.value(), Some(language)),
            None if literal.datatype() == xsd::STRING => (2, literal.value(), None),
            None => (4, literal.value(), Some(literal.datatype().as_str())),
        },
    }
}

/// The term that a row of the dictionary is.
fn term_of(kind: i64, text: String, extra: Option<String>) -> Term {
    match kind {
        0 => NamedNode::new_unchecked(text).into(),
        1 => BlankNode::new_unchecked(text).into(),
        2 => Literal::new_simple_literal(text).into(),
        3 => Literal::new_language_tagged_literal_unchecked(text, extra.unwrap_or_default()).into(),
        _ => Literal::new_typed_literal(text, NamedNode::new_unchecked(extra.unwrap_or_default())).into(),
    }
}

/// The number of a term that is known.
pub(crate) fn find(connection: &Connection, term: &Term) -> rusqlite::Result<Option<i64>> {
    if let Some(id) = term::inline(term) {
        return Ok(Some(id));
    }
    let (kind, text, extra) = parts(term);
    let mut statement =
        connection.prepare_cached("SELECT id FROM term WHERE h = ?1 AND kind = ?2 AND v = ?3 AND x IS ?4")?;
    let row = statement
        .query_row(params![hash(kind, text, extra), kind, text, extra], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(row.map(|row| term::pack(tag_of(kind), row)))
}

/// Every quad of a graph, in the order of its terms' texts: two stores with the same content give the same list.
pub fn quads_of(connection: &Connection, graph: &NamedNode) -> rusqlite::Result<Vec<Quad>> {
    let Some(g) = find(connection, &graph.clone().into())? else { return Ok(Vec::new()) };
    let mut statement =
        connection.prepare_cached("SELECT s, p, o FROM quad INDEXED BY quad_gspo WHERE g = ?1")?;
    let rows: Vec<[i64; 3]> = statement
        .query_map([g], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?
        .collect::<Result<_, _>>()?;
    let mut known = HashMap::new();
    let mut quads = Vec::with_capacity(rows.len());
    for [s, p, o] in rows {
        let mut term = |id| -> rusqlite::Result<Term> {
            if let Some(term) = known.get(&id) {
                return Ok(Term::clone(term));
            }
            let term = read(connection, id)?;
            known.insert(id, term.clone());
            Ok(term)
        };
        let subject = match term(s)? {
            Term::NamedNode(node) => NamedOrBlankNode::from(node),
            Term::BlankNode(node) => node.into(),
            Term::Literal(_) => continue,
        };
        let Term::NamedNode(predicate) = term(p)? else { continue };
        quads.push(Quad::new(subject, predicate, term(o)?, graph.clone()));
    }
    quads.sort_by_cached_key(ToString::to_string);
    Ok(quads)
}

/// The term behind a number of the store.
fn read(connection: &Connection, id: i64) -> rusqlite::Result<Term> {
    if let Some(literal) = term::outline(id) {
        return Ok(literal.into());
    }
    connection
        .prepare_cached("SELECT kind, v, x FROM term WHERE id = ?1")?
        .query_row([term::payload(id)], |row| Ok(term_of(row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// The names of all graphs, sorted.
pub fn graphs(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT t.v FROM graph JOIN term AS t ON t.id = graph.g >> 3 ORDER BY t.v";
    connection.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
}
