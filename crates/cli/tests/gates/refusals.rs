//! Answers that are not taken, each with its reason and its exit code; and what is recorded of those that are.

use crate::support::World;
use crate::support::journal::Events;
use serde_json::{Value, json};

fn gated(keys: &str) -> World {
    let world = World::with_workflow(&format!(
        "
workflow: {{name: w, entry_point: ask}}
agents:
  - name: ask
    type: human_gate
    prompt: 'ship it?'
    {keys}
    options: [{{label: Yes, value: y, route: $end}}, {{label: No, value: n, route: $end}}]
output: {{said: '{{{{ ask.output.selected }}}}'}}
"
    ))
    .env("USER", "ann");
    world.convoke(&["run", "w.yaml"]).exits(5).mentions(&["ask~1", "shown"]);
    world
}

fn open(world: &World) -> Value {
    world.convoke(&["answer", "last", "--format", "json"]).exits(0).json()
}

#[test]
fn open_gates_are_listed_with_their_ids_and_hashes() {
    let world = gated("description: x");
    let listed = open(&world);
    assert_eq!((listed[0]["gate"].clone(), listed[0]["question"].clone()), (json!("ask~1"), json!(1)));
    assert_eq!(listed[0]["ask"]["choice"]["prompt"], "ship it?");
    let shown = listed[0]["shown"].as_str().expect("a hash").to_owned();
    let text = world.convoke(&["answer", "last"]).exits(0).stdout;
    assert!(text.contains("gate ask~1") && text.contains(&shown[..12]), "{text}");
    let record = world.convoke(&["show", "last", "--format", "json"]).exits(0).json();
    assert_eq!(record["gates"], listed);
    assert_eq!(world.convoke(&["complete", "answer", "last", ""]).stdout.trim(), "ask~1");
    // The id and the beginning of the hash name the question; the answer is recorded with its author and its way.
    let run = world.run();
    world.convoke(&["answer", &run, "ask~1", "y", "--shown", &shown[..12], "--resume"]).exits(0);
    let events = Events::of(&world, &run);
    let opened = events.0.iter().find_map(|event| event["event"].get("gate_opened")).expect("it was asked");
    assert_eq!(opened["shown"], shown);
    let answered =
        events.0.iter().find_map(|event| event["event"].get("gate_answered")).expect("it was answered");
    assert_eq!((answered["by"].clone(), answered["question"].clone()), (json!("ann"), json!(1)));
    assert_eq!(answered["from"]["origin"], "command");
    assert!(answered["from"]["pid"].as_u64().is_some_and(|pid| pid > 1), "{answered}");
    assert!(answered["from"]["host"].as_str().is_some_and(|host| !host.is_empty()), "{answered}");
    let shown = world.convoke(&["show", &run, "ask"]).exits(0).stdout;
    assert!(shown.contains("ask~1 answered by ann (convoke answer, process "), "{shown}");
    assert!(open(&world).as_array().is_some_and(Vec::is_empty));
}

#[test]
fn an_answer_to_something_else_than_was_shown_is_stale() {
    let world = gated("description: x");
    let other = "0123456789ab";
    let said = world.convoke(&["answer", "last", "ask", "y", "--shown", other, "--format", "json"]).exits(23);
    assert_eq!(said.json()["refused"]["reason"], "stale");
    assert!(said.stderr.contains("the question has changed since"), "{said}");
    world.convoke(&["answer", "last", "ask", "y", "--shown", "xyz"]).exits(2);
    // The workflow asks something else now: the question has another number, and the old one is over.
    let text = world.read("w.yaml").replace("ship it?", "ship it today?");
    world.write("w.yaml", text);
    let before = open(&world)[0]["shown"].as_str().expect("a hash").to_owned();
    let run = world.run();
    world.convoke(&["resume", &run, "--accept-changes"]).exits(5).mentions(&["ship it today?", "ask~2"]);
    world.convoke(&["answer", &run, "ask", "y", "--shown", &before]).exits(23).mentions(&["(stale)"]);
    world.convoke(&["answer", &run, "ask~1", "y"]).exits(23).mentions(&["(stale)"]);
    let said = world.convoke(&["answer", &run, "ask~2", "n", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({"said": "n"}));
}

#[test]
fn a_second_answer_is_told_whose_was_first_before_and_after_it_is_heard() {
    let world = gated("description: x");
    let run = world.run();
    world.convoke(&["answer", &run, "ask", "y"]).exits(0);
    let said = world.convoke(&["answer", &run, "ask~1", "n", "--format", "json"]).exits(20);
    assert_eq!(said.json()["refused"]["reason"], "already_answered");
    assert_eq!(said.json()["refused"]["by"], "ann (convoke answer)");
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"said": "y"}));
    for gate in ["ask", "ask~1"] {
        let heard = ["is answered already, by ann (convoke answer) at", "(already_answered)"];
        world.convoke(&["answer", &run, gate, "n"]).exits(20).mentions(&heard);
    }
    world.convoke(&["answer", &run, "ask~2", "n"]).exits(2);
    world.convoke(&["answer", &run, "nothing", "n"]).exits(2).mentions(&["it waits for no answer"]);
    assert_eq!(Events::of(&world, &run).count("gate_answered"), 1);
}

/// No process drives the run, and its time passes: it is wall time. (Engine tests have answers that are left in time.)
#[test]
fn an_answer_after_the_time_is_late_before_and_after_the_run_has_noticed() {
    let world = gated("timeout: 3s");
    let run = world.run();
    let listed = open(&world);
    crate::support::process::until("the time is over", || is_over(&listed));
    let late = world.convoke(&["answer", &run, "ask", "y", "--format", "json"]).exits(21);
    assert_eq!(late.json()["refused"]["reason"], "timed_out");
    world.convoke(&["resume", &run]).exits(1).mentions(&["no answer after 3 s", "denied"]);
    world.convoke(&["answer", &run, "ask", "y"]).exits(21).mentions(&["(timed_out)"]);
    assert_eq!(Events::of(&world, &run).count("gate_answered"), 0);
}

#[test]
fn a_default_is_the_answer_when_the_time_is_over() {
    let world = gated("timeout: 3s\n    default: n");
    let run = world.run();
    let listed = open(&world);
    crate::support::process::until("the time is over", || is_over(&listed));
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"said": "n"}));
    let events = Events::of(&world, &run);
    let answered =
        events.0.iter().find_map(|event| event["event"].get("gate_answered")).expect("it was answered");
    assert_eq!(answered["from"]["origin"], "timeout");
    world.convoke(&["answer", &run, "ask", "y"]).exits(20).mentions(&["by timeout"]);
}

#[test]
fn an_answer_to_a_gate_that_was_cancelled_is_over() {
    let world = World::with_workflow(
        "
workflow: {name: w, entry_point: both}
parallel: [{name: both, agents: [ask, bad], failure_mode: fail_fast}]
agents:
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Y, value: y}]}
  - {name: bad, type: script, command: no-such-program-anywhere}
",
    );
    world.convoke(&["run", "w.yaml"]).exits(1);
    world
        .convoke(&["answer", "last", "both/ask", "y"])
        .exits(22)
        .mentions(&["does not wait for `both/ask~1`", "(ended)"]);
}

/// A default that could not be the answer is found before anything runs.
#[test]
fn check_finds_defaults_that_do_not_fit() {
    let gate = |keys: &str| {
        format!(
            "workflow: {{name: w, entry_point: ask}}
agents:
  - name: ask
    type: human_gate
    prompt: 'go?'
    {keys}
    options: [{{label: Yes, value: y, route: $end}}, {{label: No, value: n, route: $end, prompt_for: why}}]
"
        )
    };
    for (keys, words) in [
        (
            "timeout: 1s\n    default: maybe",
            &["workflow::bad_default", "`maybe` is not among the options", "`y`, `n`"][..],
        ),
        ("timeout: 1s\n    default: n", &["workflow::bad_default", "asks for a text"]),
        ("default: y", &["workflow::needs_key", "needs `timeout`"]),
        ("timeout: 1s\n    on_timeout: default", &["workflow::needs_key", "needs `default`"]),
        ("timeout: 1s\n    on_timeout: fail\n    default: y", &["workflow::bad_default", "never taken"]),
        ("timeout: 1s\n    on_timeout: later", &["default", "fail"]),
    ] {
        World::with_workflow(&gate(keys)).convoke(&["check", "w.yaml"]).exits(3).mentions(words);
    }
    let form = |question: &str| {
        format!(
            "workflow: {{name: w, entry_point: ask}}
agents: [{{name: ask, type: questions, timeout: 1s, on_timeout: default, questions: [{question}]}}]
"
        )
    };
    for question in
        ["{text: a?, required: true}", "{text: a?, choices: [x, z], allow_free_text: false, default: maybe}"]
    {
        World::with_workflow(&form(question))
            .convoke(&["check", "w.yaml"])
            .exits(3)
            .mentions(&["workflow::bad_default"]);
    }
    World::with_workflow(&form("{text: a?, required: true, default: x}"))
        .convoke(&["check", "w.yaml"])
        .exits(0);
}

fn is_over(listed: &Value) -> bool {
    let until = listed[0]["until"].as_str().expect("a time");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    convoke_model::Timestamp(now.as_micros() as u64).rfc3339().as_str() > until
}
