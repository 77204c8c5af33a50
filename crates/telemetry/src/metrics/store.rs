//! Totals of all runs, kept run by run in `follow/metrics.db`.
//!
//! A run's totals replace those that were kept of it, so a journal may be read as often as need be. When a run is removed, its totals
//! are added to those of its workflow that stay. Invariant: no counter ever goes down, as long as the file lives.

use super::totals::{Growing, Totals};
use convoke_follow::{Consumer, Delivered, Error, Fold, Forwarder, Lease, Since, Undelivered};
use convoke_journal::{Reader, StateDir, private_file};
use convoke_model::RunId;
use futures::future::BoxFuture;
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The name of its cursors.
const NAME: &str = "counting";

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS totals(run TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS removed(workflow TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;";

/// Counts the runs of a state directory as a consumer of their journals. Its receiver is a file, which is always there.
pub struct Counting {
    path: PathBuf,
}

impl Counting {
    /// Counts into the file of this state directory.
    pub fn new(state: &StateDir) -> Counting {
        Counting { path: state.path().join("follow").join("metrics.db") }
    }
}

impl Consumer for Counting {
    type Item = Arc<Mutex<Totals>>;

    fn name(&self) -> &str {
        NAME
    }

    fn begin(&self, _run: &RunId, _journal: &Reader) -> Box<dyn Fold<Self::Item>> {
        Box::new(Growing::default())
    }

    /// The totals are what they are by now, so one of the items stands for all.
    fn deliver<'a>(
        &'a mut self,
        run: &'a RunId,
        items: &'a [Self::Item],
    ) -> BoxFuture<'a, Result<Delivered, Undelivered>> {
        let kept = items.last().map_or(Ok(()), |totals| {
            let totals = totals.lock().unwrap_or_else(PoisonError::into_inner).clone();
            open(&self.path).and_then(|store| keep(&store, run, &totals))
        });
        let later = |error: rusqlite::Error| Undelivered::Later { why: error.to_string(), after: None };
        Box::pin(std::future::ready(kept.map(|()| Delivered::default()).map_err(later)))
    }
}

/// The totals of all runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Count {
    /// Of runs that are there.
    pub runs: Vec<(RunId, Totals)>,
    /// Of runs that were removed, by workflow.
    pub removed: Vec<Totals>,
}

impl Count {
    /// Counts what is new, unless another process does, and reads what is counted.
    pub async fn take(state: &StateDir) -> Result<Count, Error> {
        if let Some(lease) = Lease::take(state, NAME)? {
            let mut forwarder = Forwarder::open(state, Counting::new(state), "metrics", Since::Ever, lease)?;
            loop {
                let pass = forwarder.pass().await?;
                if pass.undelivered.is_some() || pass.delivered == 0 {
                    break;
                }
            }
        }
        let path = Counting::new(state).path;
        Count::read(state, &path).map_err(|source| Error::Cursors { path, source })
    }

    fn read(state: &StateDir, path: &Path) -> rusqlite::Result<Count> {
        if !path.exists() {
            return Ok(Count::default());
        }
        let mut store = open(path)?;
        let there: HashSet<RunId> = state.runs().unwrap_or_default().into_iter().collect();
        let mut count = Count::default();
        let mut gone = Vec::new();
        for (run, totals) in rows(&store, "SELECT run, body FROM totals")? {
            let run = RunId(run.into());
            match there.contains(&run) {
                true => count.runs.push((run, totals)),
                false => gone.push((run, totals)),
            }
        }
        retire(&mut store, gone)?;
        count.removed = rows(&store, "SELECT workflow, body FROM removed")?
            .into_iter()
            .map(|(_, totals)| totals)
            .collect();
        Ok(count)
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    if !path.exists() {
        private_file(path).ok();
    }
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

fn keep(store: &Connection, run: &RunId, totals: &Totals) -> rusqlite::Result<()> {
    let sql = "INSERT INTO totals(run, body) VALUES (?1, ?2) ON CONFLICT(run) DO UPDATE SET body = ?2";
    store.execute(sql, params![&*run.0, text(totals)]).map(drop)
}

/// Moves the totals of runs that are gone to those of their workflows, all or none.
fn retire(store: &mut Connection, gone: Vec<(RunId, Totals)>) -> rusqlite::Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let change = store.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for (run, totals) in gone {
        // Another process may have been first.
        if change.execute("DELETE FROM totals WHERE run = ?1", [&*run.0])? == 0 {
            continue;
        }
        let sql = "SELECT body FROM removed WHERE workflow = ?1";
        let before = change.query_row(sql, [&totals.workflow], |row| row.get::<_, String>(0)).optional()?;
        let mut sum = before.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        totals.add_to(&mut sum);
        let sql = "INSERT INTO removed(workflow, body) VALUES (?1, ?2) ON CONFLICT(workflow) DO UPDATE SET body = ?2";
        change.execute(sql, params![totals.workflow, text(&sum)])?;
    }
    change.commit()
}

fn rows(store: &Connection, sql: &str) -> rusqlite::Result<Vec<(String, Totals)>> {
    let mut statement = store.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let read = rows.map(|row| row.map(|(key, body)| (key, serde_json::from_str(&body).unwrap_or_default())));
    read.collect()
}

fn text(totals: &Totals) -> String {
    serde_json::to_string(totals).unwrap_or_default()
}

impl Totals {
    /// Adds what stays of a run: not what was going on in it.
    pub(super) fn add_to(&self, sum: &mut Totals) {
        sum.workflow.clone_from(&self.workflow);
        let pairs = [
            (&self.ends, &mut sum.ends),
            (&self.attempts, &mut sum.attempts),
            (&self.failures, &mut sum.failures),
        ];
        for (from, to) in pairs {
            from.iter().for_each(|(name, count)| *to.entry(name.clone()).or_default() += count);
        }
        sum.run_times.add_all(&self.run_times);
        sum.attempt_times.add_all(&self.attempt_times);
        sum.gate_times.add_all(&self.gate_times);
        sum.failed_tasks += self.failed_tasks;
        sum.budgets += self.budgets;
        sum.usage += self.usage;
        for (name, model) in &self.models {
            let to = sum.models.entry(name.clone()).or_default();
            to.times.add_all(&model.times);
            to.usage += model.usage;
        }
        for (name, calls) in &self.tools {
            let to = sum.tools.entry(name.clone()).or_default();
            to.iter_mut().zip(calls).for_each(|(to, more)| *to += more);
        }
    }
}
