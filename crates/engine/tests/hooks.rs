//! Steps that hooks run see what a hook's text sees.

use convoke_model::{Assignment, RunStatus, Work};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Runs a workflow whose agents say `fine`, or fail where they are asked to; gives every prompt and command line.
fn asked(text: &str) -> (RunStatus, Vec<String>) {
    let heard = Rc::new(RefCell::new(Vec::new()));
    let ears = heard.clone();
    let script = move |assignment: &Assignment| {
        let words = match &assignment.work {
            Work::Agent(call) => call.prompt.clone(),
            Work::Script(call) => call.args.join(" "),
            Work::Tool(call) => call.tool.clone(),
            Work::Program(call) => call.agent.prompt.clone(),
            Work::Probe(_) => "probe".to_owned(),
        };
        ears.borrow_mut().push(words.clone());
        match words.as_str() {
            "fail" => Behaviour::fails(Duration::from_millis(1), convoke_model::Class::Fatal),
            _ => Behaviour::gives(Duration::from_millis(1), json!({ "said": "fine" })),
        }
    };
    let mut world = World::new(plan_of(text, &[]), json!({}), 4, 1, Box::new(script));
    let ended = world.finish();
    let heard = heard.borrow().clone();
    (ended.status, heard)
}

#[test]
fn at_the_end_they_see_outputs_and_the_result() {
    let text = "
workflow:
  name: w
  entry_point: a
  hooks:
    on_start: {run: first}
    on_complete: {command: tell, args: ['{{ result.r }}', '{{ a.output.said }}', '{{ context.history | join }}']}
agents:
  - {name: a, prompt: work}
  - {name: first, prompt: 'before {{ workflow.name }}'}
output: {r: 'it is {{ a.output.said }}'}
";
    let expected = (RunStatus::Succeeded, vec!["before w".into(), "work".into(), "it is fine fine a".into()]);
    assert_eq!(asked(text), expected);
}

#[test]
fn after_a_failure_they_see_the_error() {
    let text = "
workflow:
  name: w
  entry_point: a
  hooks: {on_error: {run: last}}
agents:
  - {name: a, prompt: work, routes: [{to: b}]}
  - {name: b, prompt: fail, retry: {max_attempts: 1}}
  - {name: last, prompt: '{{ error.step }}: {{ error.message }}, after {{ a.output.said }}'}
";
    let last = "b: simulated fatal, after fine".to_owned();
    assert_eq!(asked(text), (RunStatus::Failed, vec!["work".into(), "fail".into(), last]));
}

#[test]
fn after_a_terminate_step_they_see_its_reason() {
    let text = "
workflow:
  name: w
  entry_point: t
  hooks: {on_error: {run: last}}
agents:
  - {name: t, type: terminate, status: failed, reason: 'no good'}
  - {name: last, prompt: '{{ error.step }}: {{ error.message }}'}
";
    assert_eq!(asked(text), (RunStatus::Failed, vec!["t: no good".into()]));
}
