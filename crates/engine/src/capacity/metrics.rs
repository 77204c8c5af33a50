//! How a run uses its capacity at a moment: what is under way, what waits and for what, how much of each limit is in use.
//!
//! Attempts and calls are told apart: one attempt may hold several permits at once (its own, and those of its call), and a reader
//! compares these numbers with what a service sees. What has happened over the whole run, also before a resume, is in its events.

use crate::reporting::summary::Latency;
use convoke_failpoint::failpoint;
use convoke_govern::Metrics as Governed;
use convoke_journal::{StateDir, replace_private};
use convoke_model::RunId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Numbers about a live run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Attempts under way.
    pub active: u64,
    /// Attempts that this process has started.
    pub granted: u64,
    /// Attempts of them that have ended.
    pub released: u64,
    /// Calls to models.
    pub calls: Flow,
    /// Demands that wait.
    pub waiting: usize,
    /// Demands that wait, by the first thing that they are short of. Those that are only behind others are not here.
    pub waiting_for: BTreeMap<String, usize>,
    /// How much of each limit is in use, from 0 to 1 (more if the limit was lowered).
    pub utilisation: BTreeMap<String, f64>,
    /// Limits that were learned.
    pub learned: BTreeMap<String, u64>,
    /// What was spent, by budget.
    pub spent: BTreeMap<String, u64>,
    /// Demands refused because they can never fit, or were known already.
    pub refused: u64,
    /// Demands refused because the queue was full.
    pub overflowed: u64,
    /// Demands that a budget could not pay.
    pub unpaid: u64,
    /// How long grants waited, in milliseconds.
    pub wait_ms: Latency,
}

impl Metrics {
    /// Where a live run publishes its metrics, for other processes to read.
    pub fn path(state: &StateDir, run: &RunId) -> PathBuf {
        state.run_dir(run).join("metrics.json")
    }

    /// Publishes them. They are an aid: where they cannot be written, the last ones stay.
    pub fn publish(&self, state: &StateDir, run: &RunId) {
        let text = serde_json::to_vec_pretty(self).expect("metrics are data");
        replace_private(&Metrics::path(state, run), &text).ok();
        failpoint!("engine.metrics.published");
    }
}

/// What begins and ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Under way.
    pub active: u64,
    /// Begun so far.
    pub granted: u64,
    /// Ended so far.
    pub released: u64,
}

impl Flow {
    /// One more begins.
    pub(crate) fn begin(&mut self) {
        self.active += 1;
        self.granted += 1;
    }

    /// One of them has ended.
    pub(crate) fn end(&mut self) {
        self.active = self.active.saturating_sub(1);
        self.released += 1;
    }

    /// One that was said to begin never did.
    pub(crate) fn take_back(&mut self) {
        self.active = self.active.saturating_sub(1);
        self.granted = self.granted.saturating_sub(1);
    }
}

impl Metrics {
    /// The governor's numbers, with attempts and calls as they were counted.
    pub(crate) fn new(governed: Governed, attempts: Flow, calls: Flow) -> Metrics {
        Metrics {
            active: attempts.active,
            granted: attempts.granted,
            released: attempts.released,
            calls,
            waiting: governed.waiting,
            waiting_for: governed.waiting_for,
            utilisation: governed.utilisation,
            learned: governed.learned,
            spent: governed.spent,
            refused: governed.refused,
            overflowed: governed.overflowed,
            unpaid: governed.unpaid,
            wait_ms: Latency::new(governed.wait_p50, governed.wait_p95),
        }
    }
}
