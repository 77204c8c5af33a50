//! The time to answer, and what follows when it is over.

use super::kit::{Asked, OPTIONS};
use convoke_model::{AnswerOrigin, Class, Event, RunStatus, reason};
use serde_json::json;

fn gate(keys: &str, more: &str) -> Asked {
    let text = format!(
        "
workflow: {{name: w, entry_point: ask}}
agents:
  - name: ask
    type: human_gate
    prompt: 'go on?'
    {keys}
    options: [{{label: Yes, value: y, route: $end}}, {{label: No, value: n, route: $end}}]
{more}
output: {{said: '{{{{ ask.output.selected }}}}'}}
"
    );
    Asked::new(&text, &[], json!({}))
}

fn origins(run: &Asked) -> Vec<AnswerOrigin> {
    let origins = run.events().into_iter().filter_map(|stamped| match stamped.event {
        Event::GateAnswered { from, .. } => Some(from.expect("an answer says where it comes from").origin),
        _ => None,
    });
    origins.collect()
}

#[test]
fn a_gate_with_a_default_takes_it_when_its_time_is_over() {
    for keys in
        ["timeout: 60s\n    default: n", "timeout_seconds: 60\n    default: n\n    on_timeout: default"]
    {
        let mut run = gate(keys, "");
        let ended = run.finish();
        assert_eq!(
            (ended.status, ended.output),
            (RunStatus::Succeeded, Some(json!({"said": "n"}))),
            "{keys}"
        );
        assert_eq!(ended.took.as_secs(), 60, "not before");
        assert_eq!(origins(&run), [AnswerOrigin::Timeout]);
    }
}

#[test]
fn a_gate_without_a_default_is_denied_when_its_time_is_over() {
    for keys in ["timeout: 60s", "timeout_seconds: 60\n    on_timeout: fail"] {
        let mut run = gate(keys, "");
        let ended = run.finish();
        let failure = ended.failure.expect("it fails");
        assert_eq!((ended.status, failure.class), (RunStatus::Failed, Class::Timeout), "{keys}");
        assert_eq!(failure.reason.as_deref(), Some(reason::ANSWER_TIMEOUT));
        assert!(failure.message.contains("no answer after 60 s: it counts as denied"), "{failure}");
        assert_eq!(origins(&run), [], "nothing stands for an approval");
    }
}

#[test]
fn a_time_that_is_over_can_lead_elsewhere() {
    let more = "  - {name: late, type: set, value: 'late'}";
    let mut run = gate("timeout: 60s\n    on_error: [{class: timeout, to: late}]", more);
    let ended = run.finish();
    assert!(
        run.events()
            .iter()
            .any(|stamped| matches!(&stamped.event, Event::TaskSucceeded { task, .. } if &*task.0 == "late")),
        "{ended:?}"
    );
}

#[test]
fn a_form_takes_its_defaults_when_its_time_is_over() {
    let text = |on_timeout: &str| {
        format!(
            "
workflow: {{name: w, entry_point: ask}}
agents:
  - name: ask
    type: questions
    timeout: 60s
    {on_timeout}
    questions: [{{id: a, text: 'a?', default: x, required: true}}, {{id: b, text: 'b?'}}]
output: {{answers: '{{{{ ask.output.answers | json }}}}'}}
"
        )
    };
    let mut run = Asked::new(&text("on_timeout: default"), &[], json!({}));
    assert_eq!(run.finish().output, Some(json!({"answers": {"a": "x"}})));
    // A default of a question is for an empty answer; it approves nothing by itself.
    let mut run = Asked::new(&text("description: x"), &[], json!({}));
    assert_eq!(run.finish().status, RunStatus::Failed);
}

#[test]
fn the_others_go_on_when_the_time_of_one_is_over() {
    let text = format!(
        "
workflow: {{name: w, entry_point: both}}
parallel: [{{name: both, agents: [short, long], failure_mode: continue_on_error}}]
agents:
  - {{name: short, timeout: 5s, type: human_gate, prompt: 's?', {OPTIONS}}}
  - {{name: long, type: human_gate, prompt: 'l?', {OPTIONS}}}
output: {{long: '{{{{ both.outputs.long.additional_input.note }}}}'}}
"
    );
    let mut run = Asked::new(&text, &[], json!({}));
    assert_eq!(run.park(), ["both/long~1"], "the short one is over");
    run.answer("both/long~1");
    assert_eq!(run.finish().output, Some(json!({"long": "both/long~1"})));
}
