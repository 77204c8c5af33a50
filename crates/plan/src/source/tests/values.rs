//! Coercion, places of texts, defaults of the language.

use std::time::Duration;

use super::super::workflow::{
    Argument, BudgetMode, ContextMode, ErrorClass, FailureMode, ForEachBody, Hook, Join, OnUnknown, Priority,
    QueueClass, Requires, StepKind, TrimStrategy, WaitDuration,
};
use super::{HEADER, assert_one, good, good_kind, good_step, read, step_findings};

#[test]
fn numbers_and_booleans_may_be_written_as_text() {
    let text = "workflow:\n  name: w\n  entry_point: a\n  limits: {max_iterations: \"12\", budget_usd: \"0.5\"}\n  cost: {show_summary: \"off\", show_per_agent: yes}\nagents: []\n";
    let workflow = good(text);
    assert_eq!(workflow.limits.max_iterations.unwrap().value, 12);
    assert_eq!(workflow.limits.budget_usd.unwrap().value, 0.5);
    assert_eq!((workflow.cost.show_summary, workflow.cost.show_per_agent), (false, true));
}

#[test]
fn text_is_never_made_of_numbers_or_booleans() {
    for value in ["1.0", "7", "true", "[x]", "{x: y}"] {
        let text = format!("workflow: {{name: w, entry_point: a, description: {value}}}\nagents: []\n");
        assert_one(&read(&text).1, "workflow::wrong_type", &["`description`", "must be text"], value);
    }
}

#[test]
fn a_place_inside_a_template_leads_into_the_file() {
    let text = "workflow: {name: w, entry_point: a}\nagents:\n  - name: a\n    prompt: |\n      First line.\n      Then {{ reserch.output }} here.\n    system_prompt: \"say \\\"{{ hi }}\\\" now\"\n    model: >\n      fold\n      {{ ed }}\n";
    let workflow = good(text);
    let StepKind::Agent(agent) = &workflow.agents[0].kind else { panic!("not an agent") };
    let cases = [
        (agent.prompt.as_ref().unwrap(), "reserch", (6, 15)),
        (agent.system_prompt.as_ref().unwrap(), "hi", (7, 30)),
        (agent.system_prompt.as_ref().unwrap(), "now", (7, 38)),
        (agent.model.as_ref().unwrap(), "ed", (10, 10)),
    ];
    for (template, word, place) in cases {
        let offset = template.value.find(word).unwrap();
        assert_eq!(template.place_of(offset..offset + word.len()).line_column(), place, "{word}");
    }
    let prompt = agent.prompt.as_ref().unwrap();
    assert_eq!(prompt.place(prompt.value.len()).line_column().0, 6, "the end of a text is in its last line");
}

#[test]
fn what_is_not_written_has_the_default_of_the_language() {
    let workflow = good("workflow: {name: w, entry_point: a}\nagents: []\n");
    assert!(workflow.input.is_none() && workflow.tools.is_none() && workflow.output.is_none());
    assert!(workflow.limits.max_iterations.is_none());
    assert_eq!(workflow.limits.budget_mode, BudgetMode::Audit);
    assert_eq!(workflow.context.mode, ContextMode::Accumulate);
    assert_eq!(workflow.context.trim_strategy, TrimStrategy::DropOldest);
    assert_eq!(workflow.runtime.tool_output.max_chars, 50_000);
    let step = good_step("prompt: x, retry: {}");
    let retry = step.common.retry.unwrap();
    assert_eq!((retry.max_attempts, retry.delay), (1, Duration::from_secs(2)));
    let classes = [ErrorClass::RateLimit, ErrorClass::Capacity, ErrorClass::Transient, ErrorClass::Timeout];
    assert_eq!(retry.retry_on, classes);
}

#[test]
fn what_every_step_has_can_stand_on_every_type() {
    let common = "needs: [b, {step: c, requires: completed}], join: {quorum: 2}, on_error: [{class: [timeout, fatal], to: d}, {class: any, to: $end}], retry: {max_attempts: 2}, timeout: 5m, on_unknown: ask, idempotent: true, labels: {priority: high, class: batch, tenant: t}, input: [b.output], description: d";
    let kinds = [
        "prompt: x",
        "type: human_gate, prompt: x, options: [{label: l, value: v}]",
        "type: questions, questions: [{text: t}]",
        "type: script, command: ls",
        "type: set, value: x",
        "type: terminate, status: success, reason: r",
        "type: tool, tool: t",
        "type: wait, duration: 1s",
        "type: workflow, workflow: ./c.yaml",
    ];
    for kind in kinds {
        let step = good_step(&format!("{kind}, {common}"));
        let common = step.common;
        assert_eq!(common.needs[0].requires, Requires::Success, "{kind}");
        assert_eq!(
            (common.needs[1].step.value.as_str(), common.needs[1].requires),
            ("c", Requires::Completed)
        );
        assert_eq!(common.join.unwrap().value, Join::Quorum(2));
        assert_eq!((common.on_error[0].classes.len(), common.on_error[1].classes.len()), (2, 0));
        assert_eq!(common.timeout.unwrap().value, Duration::from_secs(300));
        assert_eq!(common.on_unknown.unwrap().value, OnUnknown::Ask);
        assert!(common.idempotent.unwrap().value);
        assert_eq!(common.labels.priority.unwrap().value, Priority::High);
        assert_eq!(common.labels.class.unwrap().value, QueueClass::Batch);
    }
}

#[test]
fn the_start_may_be_one_several_or_left_to_the_needs() {
    assert_eq!(good("workflow: {name: w, entry_point: [a, b]}\nagents: []\n").entry_point.len(), 2);
    let needs = "workflow: {name: w}\nagents: [{name: a, prompt: x}, {name: b, prompt: x, needs: [a]}]\n";
    assert!(good(needs).entry_point.is_empty());
    let empty = "workflow: {name: w, entry_point: []}\nagents: []\n";
    assert_one(&read(empty).1, "workflow::missing_key", &["entry_point"], empty);
}

#[test]
fn hooks_say_or_run_something() {
    let text = "workflow:\n  name: w\n  entry_point: a\n  hooks:\n    on_start: \"begin {{ x }}\"\n    on_complete: {command: notify, args: [done]}\n    on_error: {run: cleanup}\nagents: []\n";
    let hooks = good(text).hooks;
    assert!(matches!(hooks.on_start, Some(Hook::Message(text)) if text.value == "begin {{ x }}"));
    assert!(matches!(hooks.on_complete, Some(Hook::Command { args, .. }) if args.len() == 1));
    assert!(matches!(hooks.on_error, Some(Hook::Step(name)) if name.value == "cleanup"));
}

#[test]
fn groups_take_members_items_and_bounds() {
    let text = format!(
        "{HEADER}agents: []\nparallel:\n  - {{name: g, agents: [a, b, c], failure_mode: quorum, min: 2, max_concurrent: 2, timeout: 60}}\nfor_each:\n  - {{name: e, type: for_each, source: a.output.items, as: item, run: g, key_by: id, max_concurrent: 100000}}\n  - {{name: f, type: for_each, source: a.output.items, as: item, agent: {{name: i, prompt: x}}}}\n"
    );
    let workflow = good(&text);
    let group = &workflow.parallel[0];
    assert_eq!(
        (group.failure_mode, group.max_concurrent.as_ref().unwrap().value),
        (FailureMode::Quorum(2), 2)
    );
    assert!(matches!(&workflow.for_each[0].body, Some(ForEachBody::Run(name)) if name.value == "g"));
    assert!(matches!(&workflow.for_each[1].body, Some(ForEachBody::Inline(step)) if step.name.value == "i"));
    assert!(workflow.for_each[1].max_concurrent.is_none());
}

#[test]
fn a_wait_is_a_number_a_text_or_a_template() {
    let literal = |body| match good_kind(body) {
        StepKind::Wait(step) => match step.duration {
            Some(WaitDuration::Literal(duration)) => duration.value,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(literal("type: wait, duration: 2.5"), Duration::from_millis(2500));
    assert_eq!(literal("type: wait, duration: \"5m\""), Duration::from_secs(300));
    assert_eq!(literal("type: wait, duration: 24h"), Duration::from_secs(86_400));
    let template = good_kind("type: wait, duration: \"{{ x }}s\"");
    assert!(
        matches!(template, StepKind::Wait(step) if matches!(step.duration, Some(WaitDuration::Template(_))))
    );
    let wrong = [
        ("0", "workflow::out_of_range"),
        ("25h", "workflow::out_of_range"),
        ("true", "workflow::bad_duration"),
        ("[1]", "workflow::bad_duration"),
        ("-3", "workflow::bad_duration"),
    ];
    for (value, code) in wrong {
        assert_one(&step_findings(&format!("type: wait, duration: {value}")), code, &["`duration`"], value);
    }
}

#[test]
fn a_set_step_has_one_value_or_several() {
    assert!(matches!(good_kind("type: set, value: \"1\", output_type: list"),
        StepKind::Set(step) if step.value.is_some() && step.values.is_none()));
    assert!(matches!(good_kind("type: set, values: {x: \"1\"}"),
        StepKind::Set(step) if step.values.is_some() && step.value.is_none()));
    assert_one(&step_findings("type: set"), "workflow::missing_key", &["`value`", "`values`"], "none");
    assert_one(&step_findings("type: set, value: x, values: {}"), "workflow::excludes", &["both"], "both");
    let typed = step_findings("type: set, values: {x: y}, output_type: list");
    assert_one(&typed, "workflow::excludes", &["output_type"], "typed");
}

#[test]
fn arguments_keep_the_types_of_yaml_and_the_places_of_their_texts() {
    let text = format!(
        "{HEADER}agents:\n  - name: a\n    type: tool\n    tool: t\n    arguments:\n      n: 3\n      on: true\n      no: ~\n      deep: [1.5, {{k: \"x {{{{ b }}}}\"}}]\n"
    );
    let StepKind::Tool(tool) = good(&text).agents.remove(0).kind else { panic!("not a tool") };
    let value = |name: &str| match &tool.arguments[name].value {
        Argument::Value(value) => value.clone(),
        other => panic!("{name} is {other:?}"),
    };
    assert_eq!((value("n"), value("on"), value("no")), (3.into(), true.into(), serde_json::Value::Null));
    let texts = tool.arguments["deep"].value.texts();
    let [text] = texts.as_slice() else { panic!("{texts:?}") };
    assert_eq!(text.value, "x {{ b }}");
    assert_eq!(text.place(text.value.find('b').unwrap()).line_column(), (10, 29));
}
