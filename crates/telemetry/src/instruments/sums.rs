//! Sums over all runs, in one file for each receiver: the part of each run, and since when the counters of a process count.
//!
//! The file is written by the process that has the receiver's lease, and by no other. Invariant: for one stream no counter goes down; a
//! file that is damaged is made anew, as another stream that begins with nothing.

use super::values::Values;
use crate::by_run::{self, Parts};
use convoke_journal::StateDir;
use convoke_model::{RunId, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};
use rusqlite::{Connection, ErrorCode, params};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS stream(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        instance TEXT NOT NULL,
        since INTEGER NOT NULL,
        changes INTEGER NOT NULL DEFAULT 0,
        sent INTEGER NOT NULL DEFAULT 0
    ) STRICT;";

/// Runs whose values are kept in memory, so that those of all others need not be read again for each request.
const KNOWN: usize = 256;

/// The sums of one receiver.
pub struct Sums {
    state: StateDir,
    path: PathBuf,
    store: Option<Connection>,
    /// Runs that this process has counted.
    known: BTreeMap<RunId, Values>,
    /// What all others come to, once that was read.
    others: Option<Values>,
}

impl Sums {
    /// Those of the receiver of this name.
    pub fn new(state: &StateDir, name: &str) -> Sums {
        let path = state.path().join("follow").join(format!("{name}.values"));
        Sums { state: state.clone(), path, store: None, known: BTreeMap::new(), others: None }
    }

    /// Keeps what a run adds by now.
    pub fn keep(&mut self, run: &RunId, values: Values) -> rusqlite::Result<()> {
        let store = self.store()?;
        let change = store.unchecked_transaction()?;
        by_run::keep(&change, run, &values)?;
        change.execute("UPDATE stream SET changes = changes + 1", [])?;
        change.commit()?;
        if self.known.len() >= KNOWN {
            self.known.clear();
            self.others = None;
        }
        if self.known.insert(run.clone(), values).is_none() {
            self.others = None;
        }
        Ok(())
    }

    /// Whether something was counted that the receiver does not know.
    pub fn has_news(&mut self) -> rusqlite::Result<bool> {
        self.store()?.query_row("SELECT changes > sent FROM stream", [], |row| row.get(0))
    }

    /// Notes that the receiver knows everything.
    pub fn is_sent(&mut self) -> rusqlite::Result<()> {
        self.store()?.execute("UPDATE stream SET sent = changes", []).map(drop)
    }

    /// Who counts, and since when.
    pub fn stream(&mut self) -> rusqlite::Result<(String, Timestamp)> {
        self.store()?.query_row("SELECT instance, since FROM stream", [], |row| {
            Ok((row.get(0)?, Timestamp(row.get::<_, i64>(1)? as u64)))
        })
    }

    /// What all runs come to.
    pub fn all(&mut self) -> rusqlite::Result<Values> {
        let mut sum = match self.others.take() {
            Some(others) => others,
            None => self.read_others()?,
        };
        self.others = Some(sum.clone());
        self.known.values().for_each(|values| sum.add_all(values));
        Ok(sum)
    }

    fn read_others(&mut self) -> rusqlite::Result<Values> {
        let state = self.state.clone();
        let Parts { runs, removed } = by_run::read::<Values>(self.store()?, &state)?;
        let mut sum = Values::default();
        removed.iter().for_each(|values| sum.add_all(values));
        // A run that is gone was counted with the removed ones just now.
        let there: std::collections::BTreeSet<_> = runs.iter().map(|(run, _)| run.clone()).collect();
        self.known.retain(|run, _| there.contains(run));
        let others = runs.iter().filter(|(run, _)| !self.known.contains_key(run));
        others.for_each(|(_, values)| sum.add_all(values));
        Ok(sum)
    }

    fn store(&mut self) -> rusqlite::Result<&mut Connection> {
        let store = match self.store.take() {
            Some(store) => store,
            None => match self.open() {
                Err(error) if is_damage(&error) => {
                    for ending in ["values", "values-wal", "values-shm"] {
                        std::fs::remove_file(self.path.with_extension(ending)).ok();
                    }
                    self.open()?
                }
                opened => opened?,
            },
        };
        Ok(self.store.insert(store))
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let store = by_run::open(&self.path)?;
        store.execute_batch(SCHEMA)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        store.execute(
            "INSERT INTO stream(one, instance, since) VALUES (1, ?1, ?2) ON CONFLICT(one) DO NOTHING",
            params![instance(), i64::try_from(since.as_micros()).unwrap_or(i64::MAX)],
        )?;
        Ok(store)
    }
}

/// A name that nothing else has, as a UUID of version 4.
fn instance() -> String {
    let mut bytes = [0; 16];
    // Without chance there is no other name either; the zeros are refused by no receiver.
    SystemRandom::new().fill(&mut bytes).ok();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = crate::spans::hex(&bytes);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
