//! What a run adds to the counters, as a fold of its events.

use convoke_follow::Fold;
use convoke_model::{BaseKind, Event, Stamped, TaskId, Timestamp, Usage};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Upper bounds of the buckets of every histogram, in seconds: from a quick command to a day.
pub const BUCKETS: [f64; 14] =
    [0.05, 0.25, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 14_400.0, 43_200.0, 86_400.0];

/// How often something took how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How many were within each bound and above the one before.
    pub counts: [u64; BUCKETS.len()],
    /// How many there were.
    pub count: u64,
    /// How long they took together, in millionths of a second: whole numbers add up to the same in any order, so the sum over runs
    /// never goes down.
    #[serde(default)]
    pub micros: u64,
}

impl Times {
    fn add(&mut self, time: Duration) {
        if let Some(bucket) = BUCKETS.iter().position(|bound| time.as_secs_f64() <= *bound) {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.micros += u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    }

    /// How long they took together.
    pub(super) fn seconds(&self) -> f64 {
        self.micros as f64 / 1e6
    }

    pub(super) fn add_all(&mut self, other: &Times) {
        self.counts.iter_mut().zip(other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.micros += other.micros;
    }
}

/// What one run adds to the counters. Lists by name are sorted, so that the same run gives the same text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// The workflow.
    pub workflow: String,
    /// How the run ended, each time.
    pub ends: BTreeMap<String, u64>,
    /// How long it took, each time.
    pub run_times: Times,
    /// Attempts by how they ended.
    pub attempts: BTreeMap<String, u64>,
    /// How long they took.
    pub attempt_times: Times,
    /// Failed attempts by class.
    pub failures: BTreeMap<String, u64>,
    /// Tasks that failed for good.
    pub failed_tasks: u64,
    /// What was used.
    pub usage: Usage,
    /// Calls of models, by provider and model, where they were told one by one.
    pub models: BTreeMap<String, Model>,
    /// Calls of tools, well and badly, by tool.
    pub tools: BTreeMap<String, [u64; 2]>,
    /// How long questions waited.
    pub gate_times: Times,
    /// Budgets that could not pay a call.
    pub budgets: u64,
    /// Questions that wait.
    pub open_gates: u64,
    /// Attempts under way.
    pub running: u64,
}

/// Calls of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// How long they took.
    pub times: Times,
    /// What they used.
    pub usage: Usage,
}

/// The most names of models and tools that one run adds; the rest is told together.
const NAMES: usize = 100;

/// What is told together.
pub(super) const OTHER: &str = "other";

/// The totals of a run as they grow; what is delivered is always what they are by then.
#[derive(Debug, Default)]
pub(super) struct Growing {
    totals: Arc<Mutex<Totals>>,
    started: Timestamp,
    copied: u64,
    attempts: HashMap<TaskId, Timestamp>,
    gates: HashMap<TaskId, Timestamp>,
}

impl Fold<Arc<Mutex<Totals>>> for Growing {
    fn take(&mut self, stamped: &Stamped, items: &mut Vec<Arc<Mutex<Totals>>>) {
        let shared = self.totals.clone();
        let mut totals = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let changed = self.add(&mut totals, stamped);
        totals.open_gates = self.gates.len() as u64;
        totals.running = self.attempts.len() as u64;
        drop(totals);
        if changed {
            items.push(shared);
        }
    }
}

impl Growing {
    /// Adds an event; whether something is different now that is worth keeping.
    fn add(&mut self, totals: &mut Totals, stamped: &Stamped) -> bool {
        let at = stamped.at;
        match &stamped.event {
            Event::RunStarted(started) => {
                totals.workflow.clone_from(&started.workflow);
                self.started = at;
                if let Some(BaseKind::Fork { seq, .. }) = started.base.as_ref().map(|base| base.how) {
                    self.copied = seq;
                }
            }
            // What came before is counted with the base.
            Event::RunForked(_) => {
                let workflow = std::mem::take(&mut totals.workflow);
                *totals = Totals { workflow, ..Totals::default() };
                self.attempts.clear();
                self.started = at;
            }
            Event::RunReopened(_) => self.started = at,
            Event::AttemptStarted { task, .. } | Event::ProbeStarted { task, .. } => {
                self.attempts.insert(task.clone(), at);
            }
            Event::GateOpened { task, .. } => {
                self.gates.insert(task.clone(), at);
            }
            _ => return self.add_ends(totals, stamped),
        }
        true
    }

    fn add_ends(&mut self, totals: &mut Totals, stamped: &Stamped) -> bool {
        let at = stamped.at;
        match &stamped.event {
            Event::RunFinished { status, .. } => {
                *totals.ends.entry(status.word().to_owned()).or_default() += 1;
                totals.run_times.add(at.since(self.started));
                self.attempts.clear();
                self.gates.clear();
            }
            Event::AttemptFinished { task, usage, .. } => {
                self.attempt_ended(totals, task, at, "finished", *usage)
            }
            Event::AttemptFailed { task, usage, failure, .. } => {
                *totals.failures.entry(failure.class.word().to_owned()).or_default() += 1;
                self.attempt_ended(totals, task, at, "failed", *usage);
            }
            Event::AttemptSuspended { task, usage, .. } => {
                self.attempt_ended(totals, task, at, "suspended", *usage)
            }
            Event::AttemptLost { task, usage, .. } => self.attempt_ended(totals, task, at, "lost", *usage),
            Event::AttemptDetached { task, .. } | Event::EffectProbed { task, .. } => {
                self.attempt_ended(totals, task, at, "detached", Usage::default());
            }
            Event::TurnRecorded { usage, .. } => totals.usage += *usage,
            Event::TaskFailed { .. } => totals.failed_tasks += 1,
            Event::BudgetSpent(_) | Event::BudgetExceeded { .. } => totals.budgets += 1,
            Event::ModelCalled { call, .. } => {
                let name = named(&totals.models, format!("{}/{}", call.provider, call.model));
                let model = totals.models.entry(name).or_default();
                model.times.add(Duration::from_millis(call.ms));
                model.usage += call.usage;
            }
            Event::ToolCalled { tool, failed, .. } => {
                let name = named(&totals.tools, tool.clone());
                totals.tools.entry(name).or_default()[usize::from(*failed)] += 1;
            }
            Event::GateAnswered { task, .. } => {
                if let Some(opened) = self.gates.remove(task) {
                    totals.gate_times.add(at.since(opened));
                }
            }
            _ => return false,
        }
        true
    }

    fn attempt_ended(&mut self, totals: &mut Totals, task: &TaskId, at: Timestamp, how: &str, usage: Usage) {
        totals.usage += usage;
        let Some(began) = self.attempts.remove(task) else { return };
        *totals.attempts.entry(how.to_owned()).or_default() += 1;
        totals.attempt_times.add(at.since(began));
    }
}

/// A name that has room, or the word for all the others.
fn named<T>(known: &BTreeMap<String, T>, name: String) -> String {
    if known.len() < NAMES || known.contains_key(&name) { name } else { OTHER.to_owned() }
}
