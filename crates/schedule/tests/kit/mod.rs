//! What these tests share: a plan from a text, values in memory, and a scheduler that knows that its run has begun.
#![allow(dead_code, reason = "each test program uses its part of this")]

use convoke_model::{Blob, Digest, Event, JsonText, Payload, RunId, RunStarted, Stamped, Timestamp};
use convoke_plan::Plan;
use convoke_plan::compile::{Options, compile};
use convoke_plan::source::{SourceReadError, Sources};
use convoke_schedule::{Outputs, Scheduler};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

struct OneFile(String);

impl Sources for OneFile {
    fn read(&self, _path: &str) -> Result<Vec<u8>, SourceReadError> {
        Ok(self.0.clone().into_bytes())
    }

    fn env(&self, _name: &str) -> Option<String> {
        None
    }
}

/// The plan of a text that has no errors.
pub fn planned(text: String) -> Arc<Plan> {
    let result = compile("w.yaml", &OneFile(text), &Options::default());
    let found: Vec<&String> = result.diagnostics.iter().map(|found| &found.message).collect();
    Arc::new(result.plan.unwrap_or_else(|| panic!("{found:?}")))
}

/// Large values, and how often one was looked at.
#[derive(Default)]
pub struct Blobs {
    values: RefCell<HashMap<Digest, JsonText>>,
    pub reads: Cell<u64>,
}

impl Outputs for Blobs {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        self.reads.set(self.reads.get() + 1);
        self.values.borrow().get(digest).cloned()
    }

    fn put(&self, blob: Blob) {
        self.values.borrow_mut().insert(blob.digest, blob.text);
    }
}

/// A scheduler to which things happen, one after the other.
pub struct Run {
    pub scheduler: Scheduler,
    pub outputs: Blobs,
    pub now: u64,
}

impl Run {
    pub fn begun(plan: Arc<Plan>, inputs: &Value) -> Run {
        Run::begun_with(Scheduler::new(plan.clone()), &plan, inputs)
    }

    /// The same by a scheduler that knows more than the language, without inputs.
    pub fn begun_by(scheduler: Scheduler, plan: &Plan) -> Run {
        Run::begun_with(scheduler, plan, &Value::Object(Default::default()))
    }

    fn begun_with(scheduler: Scheduler, plan: &Plan, inputs: &Value) -> Run {
        let started = RunStarted {
            run: RunId("r".into()),
            workflow: "w".into(),
            file: "w.yaml".into(),
            folder: "/here".into(),
            plan: plan.digest(),
            inputs: Payload::Inline(JsonText::of(inputs)),
            seed: 0,
            skip_gates: false,
            version: String::new(),
            metadata: Default::default(),
            configuration: Default::default(),
            base: None,
        };
        let mut run = Run { scheduler, outputs: Blobs::default(), now: 0 };
        run.happens(Event::RunStarted(Box::new(started)));
        run
    }

    pub fn happens(&mut self, event: Event) {
        self.now += 1;
        let stamped = Stamped { seq: self.now, at: Timestamp(self.now as _), event };
        self.scheduler.apply(&stamped).expect("it follows");
    }
}
