//! What a long pipeline costs: each worker is told a bounded part of what was said before it.

use convoke_model::{
    Blob, Digest, Event, JsonText, Payload, RunId, RunStarted, RunStatus, Stamped, Timestamp, Usage, Work,
};
use convoke_plan::Plan;
use convoke_plan::compile::{Options, compile};
use convoke_plan::source::{SourceReadError, Sources};
use convoke_schedule::{Command, Launch, Outputs, Scheduler, TaskIx};
use serde_json::json;
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

/// Large values, and how often one was looked at.
#[derive(Default)]
struct Counted {
    values: RefCell<HashMap<Digest, JsonText>>,
    reads: Cell<u64>,
}

impl Outputs for Counted {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        self.reads.set(self.reads.get() + 1);
        self.values.borrow().get(digest).cloned()
    }

    fn put(&self, blob: Blob) {
        self.values.borrow_mut().insert(blob.digest, blob.text);
    }
}

/// Phases one after the other; each edge looks at a flag by an expression.
fn chain(phases: usize) -> Arc<Plan> {
    let node = |at| format!("    - {{id: p{at}, actorId: m, personaId: one}}\n");
    let edge = |at| format!("    - {{from: p{}, to: p{at}, when: 'not state.flags.stop'}}\n", at - 1);
    let text = format!(
        "schemaVersion: '1'\npersonas: [{{id: one, displayName: One, systemPromptTemplate: You are one.}}]\nrelationships: []\n\
         pipeline:\n  entryNodeId: p1\n  nodes:\n{}  edges:\n{}",
        (1..=phases).map(node).collect::<String>(),
        (2..=phases).map(edge).collect::<String>(),
    );
    let result = compile("w.yaml", &OneFile(text), &Options::default());
    let found: Vec<&String> = result.diagnostics.iter().map(|found| &found.message).collect();
    Arc::new(result.plan.unwrap_or_else(|| panic!("{found:?}")))
}

/// A run in which every worker announces something that is too large to travel inside an event.
struct Run {
    scheduler: Scheduler,
    outputs: Counted,
    now: u64,
    longest_prompt: usize,
}

impl Run {
    fn new(plan: Arc<Plan>) -> Run {
        let started = RunStarted {
            run: RunId("r".into()),
            workflow: "w".into(),
            file: "w.yaml".into(),
            folder: "/here".into(),
            plan: plan.digest(),
            inputs: Payload::Inline(JsonText::of(&json!({}))),
            seed: 0,
            skip_gates: false,
            version: String::new(),
            metadata: Default::default(),
        };
        let scheduler = Scheduler::new(plan);
        let mut run = Run { scheduler, outputs: Counted::default(), now: 0, longest_prompt: 0 };
        run.happens(Event::RunStarted(Box::new(started)));
        run
    }

    fn happens(&mut self, event: Event) {
        self.now += 1;
        let stamped = Stamped { seq: self.now, at: Timestamp(self.now as _), event };
        self.scheduler.apply(&stamped).expect("it follows");
    }

    fn finish(mut self) -> (RunStatus, u64, usize) {
        while self.scheduler.finished().is_none() {
            self.now += 1;
            let turn = self.scheduler.decide(Timestamp(self.now as _), &self.outputs);
            for command in turn.commands {
                if let Command::Admit { task, .. } = command {
                    self.work(task);
                }
            }
        }
        let status = self.scheduler.finished().expect("it has ended").status;
        (status, self.outputs.reads.get(), self.longest_prompt)
    }

    fn work(&mut self, task: TaskIx) {
        let Launch::Start(assignment) = self.scheduler.launch(task, None, &self.outputs) else {
            panic!("{:?}", self.scheduler.failure(task))
        };
        let Work::Agent(call) = &assignment.work else { panic!("a model") };
        self.longest_prompt = self.longest_prompt.max(call.prompt.len());
        let large = "x".repeat(5_000);
        let said = json!({
            "status": "success", "payload": {"large": large},
            "events": [{"type": "code_committed", "payload": {"summary": large}}],
        });
        let (output, blob) = Payload::new(JsonText::of(&said));
        blob.into_iter().for_each(|blob| self.outputs.put(blob));
        let (task, attempt) = (assignment.task.clone(), assignment.attempt);
        self.happens(Event::AttemptFinished { task, attempt, output, usage: Usage::default() });
    }
}

#[test]
fn what_a_pipeline_reads_grows_with_its_length_and_not_with_its_square() {
    let [(_, short, _), (status, long, prompt)] = [100, 300].map(|phases| Run::new(chain(phases)).finish());
    assert_eq!(status, RunStatus::Succeeded);
    // Three times as many phases; the first are told less than those that follow, a square would be nine times as much.
    assert!(long < short * 5, "{short} reads of 100 phases, {long} of 300");
    assert!(prompt < 200_000, "a prompt of {prompt} bytes");
}
