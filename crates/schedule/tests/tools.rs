//! What an attempt at a tool step is given.

use convoke_model::{
    Blob, Class, Digest, Event, JsonText, Payload, RunId, RunStarted, Stamped, Timestamp, ToolWork, Work,
};
use convoke_plan::Plan;
use convoke_plan::compile::{Options, compile};
use convoke_plan::source::{SourceReadError, Sources};
use convoke_schedule::{Command, Launch, Outputs, Scheduler, TaskIx};
use serde_json::{Value, json};
use std::cell::RefCell;
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

#[derive(Default)]
struct Kept(RefCell<HashMap<Digest, JsonText>>);

impl Outputs for Kept {
    fn get(&self, digest: &Digest) -> Option<JsonText> {
        self.0.borrow().get(digest).cloned()
    }

    fn put(&self, blob: Blob) {
        self.0.borrow_mut().insert(blob.digest, blob.text);
    }
}

fn plan(context: &str, steps: &str) -> Arc<Plan> {
    let text = format!(
        "workflow:\n  name: w\n  context: {{mode: {context}}}\n  runtime: {{mcp_servers: {{fs: {{command: run}}}}}}\nagents:\n{steps}"
    );
    let result = compile("w.yaml", &OneFile(text), &Options::default());
    let found: Vec<&String> = result.diagnostics.iter().map(|found| &found.message).collect();
    Arc::new(result.plan.unwrap_or_else(|| panic!("{found:?}")))
}

/// A run of a plan, up to where a step asks for its permit.
fn begun(plan: Arc<Plan>, inputs: &Value, outputs: &Kept) -> (Scheduler, TaskIx) {
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
    };
    let mut scheduler = Scheduler::new(plan);
    let event = Event::RunStarted(Box::new(started));
    scheduler.apply(&Stamped { seq: 1, at: Timestamp(1), event }).expect("a run begins so");
    let turn = scheduler.decide(Timestamp(1), outputs);
    match turn.commands.as_slice() {
        [Command::Admit { task, .. }] => (scheduler, *task),
        other => panic!("{other:?}"),
    }
}

fn called(plan: Arc<Plan>, inputs: &Value) -> ToolWork {
    let outputs = Kept::default();
    let (mut scheduler, task) = begun(plan, inputs, &outputs);
    match scheduler.launch(task, None, &outputs) {
        Launch::Start(assignment) => match assignment.work {
            Work::Tool(work) => *work,
            other => panic!("{other:?}"),
        },
        Launch::Refused => panic!("{:?}", scheduler.failure(task)),
    }
}

const STEPS: &str = "  - {name: s, type: set, value: '[1, {k: v}]'}
  - name: t
    type: tool
    tool: write
    needs: [s]
    input: [s.output]
    arguments:
      list: '{{ s.output }}'
      first: '{{ s.output[0] }}'
      text: 'n={{ s.output[0] }}'
      deep: {flag: true, inner: [x, '{{ s.output[1].k }}', '{{ workflow.input.n }}']}
      looks: '5'
    output: {done: {type: boolean}}
";

#[test]
fn arguments_keep_the_types_of_what_they_name() {
    for context in ["accumulate", "last_only", "explicit"] {
        let work = called(plan(context, STEPS), &json!({"n": 7}));
        assert_eq!((work.server.as_str(), work.tool.as_str()), ("fs", "write"));
        assert!(work.servers.contains_key("fs") && work.schema.is_some());
        let expected = json!({
            "list": [1, {"k": "v"}], "first": 1, "text": "n=1",
            "deep": {"flag": true, "inner": ["x", "v", 7]}, "looks": "5",
        });
        assert_eq!(work.arguments.value(), expected, "{context}");
    }
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let plan = plan(
        "accumulate",
        "  - {name: s, type: set, value: x}\n  - {name: t, type: tool, tool: list, needs: [s]}\n",
    );
    assert_eq!(called(plan, &json!({})).arguments.as_str(), "{}");
}

#[test]
fn an_argument_that_cannot_be_rendered_fails_the_step_before_it_starts() {
    let steps = "  - {name: s, type: set, value: '{}'}\n  - {name: t, type: tool, tool: x, needs: [s], arguments: {a: '{{ s.output.missing.deeper }}'}}\n";
    let outputs = Kept::default();
    let (mut scheduler, task) = begun(plan("accumulate", steps), &json!({}), &outputs);
    assert!(matches!(scheduler.launch(task, None, &outputs), Launch::Refused));
    scheduler.decide(Timestamp(2), &outputs);
    let failure = scheduler.failure(task).expect("it failed");
    assert_eq!(failure.class, Class::Fatal);
    assert!(failure.message.contains("step `t`: arguments `a`"), "{}", failure.message);
}
