//! A run with its disk, and the process that drives it at the moment: the deciding half of the engine, and its attempts.

use super::agenda::Life;
use super::attempt::Attempt;
use super::journal::Journal;
use super::samples::NO_LIMIT;
use crate::start::started;
use convoke_engine::{Beginning, CapacityFact, Changes, Core, Effect, Limits, Start, What};
use convoke_model::{Blob, Event, Stamped, TaskId, Timestamp, Usage};
use convoke_plan::Plan;
use convoke_schedule::TaskIx;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// A turn that is not on disk yet.
pub(super) struct Commit {
    pub events: Vec<Stamped>,
    pub blobs: Vec<Blob>,
    pub effects: Vec<Effect>,
}

/// A service that a process is subscribed to, as the process knows it.
#[derive(Debug)]
pub(super) struct Subscribed {
    pub paused_until: Timestamp,
    pub limit: u64,
    pub told: u64,
}

impl Default for Subscribed {
    fn default() -> Subscribed {
        Subscribed { paused_until: Timestamp(0), limit: NO_LIMIT, told: NO_LIMIT }
    }
}

/// One process.
pub(super) struct Process {
    pub life: Life,
    pub core: Core,
    /// What the run begins with, not on disk yet.
    pub opening: Vec<Stamped>,
    pub inbox: Vec<What>,
    /// The commit that is under way: nothing is decided meanwhile.
    pub committing: Option<Commit>,
    /// It is stopped until then.
    pub away: Timestamp,
    /// Its last heartbeat.
    pub beat: Timestamp,
    pub attempts: BTreeMap<TaskIx, Attempt>,
    /// What attempts have said to have finished.
    pub finished: Vec<(TaskId, u32)>,
    /// Others wait for what it holds, as far as it was told.
    pub crowded: bool,
    /// Leases that it was given and has not heard of.
    pub coming: BTreeSet<u64>,
    pub services: BTreeMap<String, Subscribed>,
    /// Services that it was told to leave alone, and until when.
    pub paused: BTreeMap<String, Timestamp>,
    /// Attempts whose performers are silent and may still be at work, with their leases.
    pub silent: BTreeMap<(TaskIx, u32), Option<u64>>,
}

/// What outlives processes.
pub(super) struct Run {
    plan: Arc<Plan>,
    most: u32,
    seed: u64,
    pub journal: Journal,
    lives: u32,
    pub process: Option<Process>,
    /// Tasks that have ended, and those of which an attempt has finished.
    pub ended: HashSet<TaskId>,
    pub done: HashSet<TaskId>,
}

impl Run {
    pub fn new(plan: Arc<Plan>, most: u32, seed: u64) -> Run {
        let journal = Journal::default();
        let (ended, done) = (HashSet::new(), HashSet::new());
        Run { plan, most, seed, journal, lives: 0, process: None, ended, done }
    }

    /// Whether the journal says so.
    pub fn is_over(&self) -> bool {
        self.journal.events.iter().any(|stamped| matches!(stamped.event, Event::RunFinished { .. }))
    }

    /// A process takes the run up: a new one, or where the journal stands.
    pub fn take_up(&mut self, run: usize, limits: &Limits, forgets_spending: bool, now: Timestamp) {
        self.lives += 1;
        let life = Life { run, number: self.lives };
        let start = match self.journal.events.is_empty() {
            true => Start::Fresh(Box::new(started(&self.plan, &serde_json::json!({}), self.seed))),
            false => Start::Resume(Changes::None),
        };
        let (epoch, pid) = (self.lives.into(), self.lives);
        let owned = Event::RunOwned { epoch, pid, host: "simulated".into(), uptime: None };
        let limits = Limits { seed: limits.seed ^ u64::from(self.lives), ..limits.clone() };
        let (mut history, blob) = (self.journal.events.clone(), |digest: &_| self.journal.blob(digest));
        for stamped in history.iter_mut().filter(|_| forgets_spending) {
            if let Event::CallReserved { worst, .. } | Event::CallLost { worst, .. } = &mut stamped.event {
                *worst = Usage::default();
            }
        }
        let (core, opening) = Beginning::of(&self.plan, history, start, (self.most, &limits), owned, &blob)
            .and_then(|beginning| beginning.core(self.journal.store(), Vec::new(), now))
            .expect("what was committed can be taken up");
        self.process = Some(Process {
            life,
            core,
            opening,
            inbox: Vec::new(),
            committing: None,
            away: now,
            beat: now,
            attempts: BTreeMap::new(),
            finished: Vec::new(),
            crowded: false,
            coming: BTreeSet::new(),
            services: BTreeMap::new(),
            paused: BTreeMap::new(),
            silent: BTreeMap::new(),
        });
    }
}

impl Process {
    /// What it hears in this turn, as far as others have to know that it did.
    pub fn note(&mut self, heard: &[What], now: Timestamp) {
        for what in heard {
            match what {
                What::Capacity(CapacityFact::Granted { fence, .. }) => {
                    self.coming.remove(&fence.0);
                }
                What::Capacity(CapacityFact::Paused { service, pause }) => self.pause(service, now + *pause),
                What::Reported { task, attempt, report: convoke_agent::Report::LetGo } => {
                    self.silent.remove(&(*task, *attempt));
                }
                _ => {}
            }
        }
    }

    /// It knows from here on that a service is to be left alone.
    pub fn pause(&mut self, service: &str, until: Timestamp) {
        // A breaker is one step's own.
        if service.starts_with("breaker:") {
            return;
        }
        let known = self.paused.entry(service.to_owned()).or_default();
        *known = until.max(*known);
    }
}
