//! The words of texts, behind the predicate `cv:matches`.
//!
//! `?x cv:matches "late answer"` is true of what has a searched property whose text holds all of the words. Words are quoted, so
//! what is searched is never read as a query language of the index.

use super::Trouble;
use crate::{term, vocab};
use oxrdf::NamedNode;
use rusqlite::Connection;

/// The predicate.
pub const MATCHES: &str = "https://w3id.org/convoke#matches";

/// The most texts that one search gives.
const FOUND: i64 = 10_000;

/// Our properties whose texts are searched.
const SEARCHED: [&str; 8] =
    ["taskId", "workflow", "message", "failureReason", "task", "systemPrompt", "successCriteria", "preview"];

/// Whether texts of this property are searched.
pub fn is_searched(predicate: &str) -> bool {
    predicate.strip_prefix(vocab::CV).is_some_and(|name| SEARCHED.contains(&name))
        || predicate == vocab::label().as_str()
}

/// Notes the words of a text, once.
pub fn note(connection: &Connection, id: i64, text: &str) -> rusqlite::Result<()> {
    let is_new =
        connection.prepare_cached("INSERT OR IGNORE INTO worded(id) VALUES (?1)")?.execute([id])? > 0;
    if is_new {
        let mut statement = connection.prepare_cached("INSERT INTO words(rowid, v) VALUES (?1, ?2)")?;
        statement.execute(rusqlite::params![id, text])?;
    }
    Ok(())
}

/// Forgets the words of a text.
pub fn forget(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    if connection.prepare_cached("DELETE FROM worded WHERE id = ?1")?.execute([id])? > 0 {
        connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Subjects with a searched text that has all these words, and the graph in which it says so; `None` searches all subjects.
pub fn search(connection: &Connection, subject: Option<i64>, text: &str) -> Result<Vec<[i64; 2]>, Trouble> {
    let words = text.split_whitespace().map(|word| word.replace('"', "")).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    if quoted.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1 LIMIT ?2")?;
    let found: Vec<i64> = statement
        .query_map(rusqlite::params![quoted.join(" "), FOUND], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let predicates = searched_predicates(connection)?;
    let mut having =
        connection.prepare_cached("SELECT s, g FROM quad INDEXED BY quad_posg WHERE p = ?1 AND o = ?2")?;
    let mut rows = Vec::new();
    for id in found {
        for predicate in &predicates {
            let told = having.query_map([*predicate, term::pack(term::LITERAL, id)], |row| {
                Ok([row.get(0)?, row.get(1)?])
            })?;
            for row in told {
                let row: [i64; 2] = row?;
                if subject.is_none_or(|wanted| wanted == row[0]) {
                    rows.push(row);
                }
            }
        }
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

fn searched_predicates(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let ours = SEARCHED.iter().map(|name| vocab::cv(name));
    let names: Vec<NamedNode> = ours.chain([vocab::label()]).collect();
    let mut found = Vec::new();
    for name in names {
        found.extend(super::find(connection, &name.into())?);
    }
    Ok(found)
}
