//! What waits inside a run: for a rate, a breaker, money, or the run's own slots. The table does not see these.
//!
//! Live runs write once a second what their demands wait for; this reads it.

use convoke_capacity::{Liveness, Snapshot};
use convoke_engine::Metrics;
use convoke_journal::StateDir;
use convoke_model::RunId;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// What was written longer ago is not so any more.
const FRESH: Duration = Duration::from_secs(5);

/// Demands of one run that wait for the same.
pub struct Waiting {
    pub pid: u32,
    pub run: String,
    /// What they are short of.
    pub on: String,
    pub demands: u64,
}

/// All attempts and calls that wait inside a live run, and do not show in the table.
pub fn waiting(state: &StateDir, snapshot: &Snapshot) -> Vec<Waiting> {
    let alive = snapshot.instances.iter();
    let alive = alive.filter(|instance| instance.liveness == Liveness::Alive && !instance.run.is_empty());
    alive.flat_map(|instance| of_run(state, snapshot, instance.pid, &instance.run)).collect()
}

fn of_run(state: &StateDir, snapshot: &Snapshot, pid: u32, run: &str) -> Vec<Waiting> {
    let metrics = fresh(state, run).unwrap_or_default();
    let causes = metrics["waiting_for"].as_object().cloned().unwrap_or_default();
    let inside = causes.into_iter().filter(|(on, _)| !is_shown(snapshot, pid, on));
    let waiting = inside.filter_map(|(on, demands)| {
        Some(Waiting { pid, run: run.to_owned(), on, demands: demands.as_u64()? })
    });
    waiting.collect()
}

fn fresh(state: &StateDir, run: &str) -> Option<Value> {
    let path = Metrics::path(state, &RunId(run.into()));
    let written = std::fs::metadata(&path).ok()?.modified().ok()?;
    let age = SystemTime::now().duration_since(written).unwrap_or_default();
    let text = (age <= FRESH).then(|| std::fs::read(&path).ok()).flatten()?;
    serde_json::from_slice(&text).ok()
}

/// Whether the table shows a demand of this process that lacks something which this cause names.
fn is_shown(snapshot: &Snapshot, pid: u32, on: &str) -> bool {
    let mut wanted =
        snapshot.waiters.iter().filter(|waiter| waiter.pid == pid).flat_map(|waiter| &waiter.amounts);
    wanted.any(|(name, _)| on.contains(name.as_str()))
}

/// For programs.
pub fn record(waiting: &Waiting) -> Value {
    json!({"pid": waiting.pid, "run": waiting.run, "for": waiting.on, "demands": waiting.demands})
}
