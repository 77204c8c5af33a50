//! What runs add to totals, kept run by run in a file.
//!
//! What a run adds replaces what was kept of it, so a journal may be read as often as need be. When a run is removed, its part is
//! added to what stays of its group. Invariant: no total ever goes down, as long as the file lives.

use convoke_journal::{StateDir, private_file};
use convoke_model::RunId;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS totals(run TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS removed(workflow TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/// Other processes look at it; none holds it for long.
const PATIENCE: Duration = Duration::from_secs(2);

/// What one run adds. The same events give the same text.
pub trait Part: Serialize + DeserializeOwned + Default {
    /// The workflow of the run.
    fn workflow(&self) -> &str;

    /// Adds what stays of a run: not what was going on in it.
    fn add_to(&self, sum: &mut Self);
}

/// What all runs add.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts<T> {
    /// Of runs that are there.
    pub runs: Vec<(RunId, T)>,
    /// Of runs that were removed, by workflow.
    pub removed: Vec<T>,
}

impl<T> Default for Parts<T> {
    fn default() -> Parts<T> {
        Parts { runs: Vec::new(), removed: Vec::new() }
    }
}

/// Opens a file, or makes it.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    if !path.exists() {
        private_file(path).ok();
    }
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Keeps what a run adds.
pub fn keep<T: Part>(store: &Connection, run: &RunId, part: &T) -> rusqlite::Result<()> {
    let sql = "INSERT INTO totals(run, body) VALUES (?1, ?2) ON CONFLICT(run) DO UPDATE SET body = ?2";
    store.execute(sql, params![&*run.0, text(part)]).map(drop)
}

/// Reads everything; runs that are gone are counted with their workflows from then on.
pub fn read<T: Part>(store: &mut Connection, state: &StateDir) -> rusqlite::Result<Parts<T>> {
    // A folder that cannot be listed at this moment has lost no run: one that is counted as gone and goes on would count twice.
    let there: Option<HashSet<RunId>> = state.runs().ok().map(|runs| runs.into_iter().collect());
    let is_there = |run: &RunId| there.as_ref().is_none_or(|there| there.contains(run));
    let (mut parts, mut gone) = (Parts::default(), Vec::new());
    for (run, part) in rows(store, "SELECT run, body FROM totals")? {
        let run = RunId(run.into());
        match is_there(&run) {
            true => parts.runs.push((run, part)),
            false => gone.push((run, part)),
        }
    }
    retire(store, gone)?;
    parts.removed =
        rows(store, "SELECT workflow, body FROM removed")?.into_iter().map(|(_, part)| part).collect();
    Ok(parts)
}

/// Moves what runs added that are gone to what stays of their workflows, all or none.
fn retire<T: Part>(store: &mut Connection, gone: Vec<(RunId, T)>) -> rusqlite::Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let change = store.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for (run, part) in gone {
        // Another process may have been first.
        if change.execute("DELETE FROM totals WHERE run = ?1", [&*run.0])? == 0 {
            continue;
        }
        let sql = "SELECT body FROM removed WHERE workflow = ?1";
        let before = change.query_row(sql, [part.workflow()], |row| row.get::<_, String>(0)).optional()?;
        let mut sum: T = before.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        part.add_to(&mut sum);
        let sql = "INSERT INTO removed(workflow, body) VALUES (?1, ?2) ON CONFLICT(workflow) DO UPDATE SET body = ?2";
        change.execute(sql, params![part.workflow(), text(&sum)])?;
    }
    change.commit()
}

fn rows<T: Part>(store: &Connection, sql: &str) -> rusqlite::Result<Vec<(String, T)>> {
    let mut statement = store.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let read = rows.map(|row| row.map(|(key, body)| (key, serde_json::from_str(&body).unwrap_or_default())));
    read.collect()
}

fn text<T: Part>(part: &T) -> String {
    serde_json::to_string(part).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct One(u64);

    impl Part for One {
        fn workflow(&self) -> &str {
            "w"
        }

        fn add_to(&self, sum: &mut One) {
            sum.0 += self.0;
        }
    }

    fn numbers(parts: &Parts<One>) -> (Vec<u64>, Vec<u64>) {
        (parts.runs.iter().map(|(_, one)| one.0).collect(), parts.removed.iter().map(|one| one.0).collect())
    }

    #[test]
    fn what_a_removed_run_added_stays_and_a_folder_that_cannot_be_listed_has_lost_none() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let runs = folder.path().join("runs");
        let run = RunId("20261116-142310-7k3q".into());
        std::fs::create_dir_all(runs.join(&*run.0)).unwrap();
        let mut store = open(&folder.path().join("parts.db")).unwrap();
        keep(&store, &run, &One(5)).unwrap();
        keep(&store, &run, &One(7)).unwrap();
        assert_eq!(numbers(&read(&mut store, &state).unwrap()), (vec![7], vec![]), "the last word counts");
        // No folder of that name can be listed.
        std::fs::rename(&runs, folder.path().join("aside")).unwrap();
        std::fs::write(&runs, "").unwrap();
        assert_eq!(numbers(&read(&mut store, &state).unwrap()), (vec![7], vec![]));
        std::fs::remove_file(&runs).unwrap();
        assert_eq!(numbers(&read(&mut store, &state).unwrap()), (vec![], vec![7]));
        assert_eq!(numbers(&read(&mut store, &state).unwrap()), (vec![], vec![7]), "and once");
    }
}
