//! One engine of the machine: the deciding half of a run, its attempts, and what is on its disk.

use convoke_agent::Admitted;
use convoke_engine::{Core, Effect, Limits, Permits, Store, What};
use convoke_model::{
    Digest, Event, Failure, JsonText, Payload, RunId, RunStarted, Stamped, TaskId, Timestamp, Usage,
};
use convoke_plan::Plan;
use convoke_schedule::{Scheduler, TaskIx};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

pub const START: Timestamp = Timestamp(1_000_000_000);

pub type Reply = oneshot::Receiver<Result<Admitted, Failure>>;

/// An attempt that runs.
pub struct Attempt {
    pub id: TaskId,
    pub number: u32,
    pub fence: Option<u64>,
    /// Calls that it has yet to make.
    pub left: u64,
    /// The first call needs no asking, or none does.
    pub covered: bool,
    pub free: bool,
    pub answer: Option<Reply>,
    /// The call that is being made.
    pub call: Option<u64>,
    pub usage: Usage,
}

pub struct Process {
    pub core: Core,
    pub inbox: Vec<What>,
    /// A commit is under way, or the process is stopped: nothing is decided.
    pub busy: bool,
    /// It is stopped until then.
    pub away: Timestamp,
    pub attempts: BTreeMap<TaskIx, Attempt>,
    pub events: Vec<Stamped>,
    /// What attempts have said to have finished.
    pub finished: Vec<(TaskId, u32)>,
    /// Tokens that the provider has to be paid for; all that it can be where a call was given up.
    pub spent: u64,
    blobs: Arc<Mutex<HashMap<Digest, JsonText>>>,
}

impl Process {
    pub fn new(plan: &Arc<Plan>, most: u32, limits: &Limits, seed: u64) -> Process {
        let started = RunStarted {
            run: RunId(format!("simulated-{seed}").as_str().into()),
            workflow: plan.root().name.to_string(),
            file: plan.root().file.clone(),
            folder: "/simulated".into(),
            plan: plan.digest(),
            inputs: Payload::Inline(JsonText::of(&serde_json::json!({}))),
            seed,
            skip_gates: false,
            version: "simulated".into(),
            metadata: Default::default(),
            configuration: Default::default(),
        };
        let blobs: Arc<Mutex<HashMap<Digest, JsonText>>> = Arc::default();
        let lookup = blobs.clone();
        let store =
            Store::new(Box::new(move |digest| lookup.lock().expect("one thread").get(&digest).cloned()));
        let mut scheduler = Scheduler::new(plan.clone());
        scheduler.set_configured_budgets(limits.configured_budgets());
        let mut core = Core::new(scheduler, Permits::new(most, limits), store, 1, START);
        let begun = core.stamp(START, Event::RunStarted(Box::new(started)));
        core.scheduler.apply(&begun).expect("a run begins so");
        Process {
            core,
            inbox: Vec::new(),
            busy: false,
            away: START,
            attempts: BTreeMap::new(),
            events: vec![begun],
            finished: Vec::new(),
            spent: 0,
            blobs,
        }
    }

    /// A turn is on disk.
    pub fn commit(&mut self, events: Vec<Stamped>) {
        for blob in self.core.store.take_pending() {
            self.blobs.lock().expect("one thread").insert(blob.digest, blob.text);
        }
        self.events.extend(events);
    }

    pub fn is_over(&self) -> bool {
        self.core.scheduler.finished().is_some()
    }
}

/// What is yet to happen.
pub enum Happening {
    /// A process hears something.
    Hears(usize, What),
    /// Something may be due, though nothing has happened.
    Wakes(usize),
    /// A commit is on disk.
    Committed(usize, Vec<Stamped>, Vec<Effect>),
    /// An attempt goes on: with its next call, or to its end.
    GoesOn(usize, TaskIx, u32),
    /// The provider has answered a call.
    Answered(usize, TaskIx, u32, u64),
}
