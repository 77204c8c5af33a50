//! What an attempt at a tool step is given.

mod kit;

use convoke_model::{Class, Timestamp, ToolWork, Work};
use convoke_plan::Plan;
use convoke_schedule::{Command, Launch, TaskIx};
use kit::{Run, planned};
use serde_json::{Value, json};
use std::sync::Arc;

fn plan(context: &str, steps: &str) -> Arc<Plan> {
    planned(format!(
        "workflow:\n  name: w\n  context: {{mode: {context}}}\n  runtime: {{mcp_servers: {{fs: {{command: run}}}}}}\nagents:\n{steps}"
    ))
}

/// A run of a plan, up to where a step asks for its permit.
fn begun(plan: Arc<Plan>, inputs: &Value) -> (Run, TaskIx) {
    let mut run = Run::begun(plan, inputs);
    let turn = run.scheduler.decide(Timestamp(1), &run.outputs);
    match turn.commands.as_slice() {
        [Command::Admit(task)] => (run, *task),
        other => panic!("{other:?}"),
    }
}

fn called(plan: Arc<Plan>, inputs: &Value) -> ToolWork {
    let (Run { mut scheduler, outputs, .. }, task) = begun(plan, inputs);
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
    let (Run { mut scheduler, outputs, .. }, task) = begun(plan("accumulate", steps), &json!({}));
    assert!(matches!(scheduler.launch(task, None, &outputs), Launch::Refused));
    scheduler.decide(Timestamp(2), &outputs);
    let failure = scheduler.failure(task).expect("it failed");
    assert_eq!(failure.class, Class::Fatal);
    assert!(failure.message.contains("step `t`: arguments `a`"), "{}", failure.message);
}
