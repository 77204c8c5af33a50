//! `run --record` and `run --replay`: a run that asked models is had again without them.
#![allow(clippy::print_stderr, reason = "a test that cannot run must say so")]

use crate::support;

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use support::World;
use support::model::Model;

/// Agents that end in another order than they begin, a retry, a loop and a for_each.
const BUSY: &str = r#"
workflow:
  name: busy
  entry_point: all
  runtime: {provider: {name: scripted, file: replies.yaml}}
  input:
    topic: {type: string, default: tea}
    numbers: {type: array, default: [1, 2, 3, 4, 5, 6]}
parallel:
  - {name: all, agents: [slow, quick, flaky], routes: [{to: each}]}
for_each:
  - name: each
    type: for_each
    source: workflow.input.numbers
    as: number
    max_concurrent: 3
    agent: {name: item, prompt: "Number {{ number }}"}
    routes: [{to: check}]
agents:
  - {name: slow, prompt: "Slowly about {{ workflow.input.topic }}"}
  - {name: quick, prompt: Quickly}
  - {name: flaky, prompt: Flaky, retry: {max_attempts: 3, delay_seconds: 0.4}}
  - name: check
    prompt: "Check {{ context.iteration }}"
    output: {good: {type: boolean}}
    routes: [{to: $end, when: output.good}, {to: check}]
output:
  items: "{{ each.outputs | json }}"
  slow: "{{ all.outputs.slow.result }}"
"#;

const REPLIES: &str = r#"
replies:
  slow: {say: late, delay_ms: 120}
  quick: {say: soon, delay_ms: 40}
  flaky: [{status: 503}, {say: third, delay_ms: 90}]
  check: [{good: false}, {good: true}]
match:
  - {pattern: "Number [135]", replies: {say: odd, delay_ms: 60}}
  - {pattern: "Number [246]", replies: {say: even, delay_ms: 20}}
"#;

fn recorded() -> World {
    let world = World::with_workflow(BUSY);
    world.write("replies.yaml", REPLIES);
    world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0).mentions(&["recorded to tape"]);
    let mode = std::fs::metadata(world.work().join("tape")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "prompts and answers are the user's alone");
    // No provider is left that could answer.
    std::fs::remove_file(world.work().join("replies.yaml")).unwrap();
    world
}

/// The events of the newest run, without what differs from run to run.
fn events(world: &World) -> Vec<Value> {
    let said = world.convoke(&["events", &world.runs()[0], "--format", "json"]).exits(0);
    let lines = said.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|stamped| timeless(stamped["event"].clone())).collect()
}

fn timeless(mut event: Value) -> Value {
    for (kind, keys) in [
        ("run_started", &["run", "seed"][..]),
        ("run_owned", &["pid", "uptime"]),
        // Keys are of the run.
        ("effect_claimed", &["key"]),
        ("effect_committed", &["key"]),
        ("retry_scheduled", &["at"]),
        ("tool_called", &["ms"]),
    ] {
        if let Some(Value::Object(fields)) = event.get_mut(kind) {
            keys.iter().for_each(|key| drop(fields.remove(*key)));
        }
    }
    event
}

#[test]
fn a_recorded_run_is_had_again_without_its_provider() {
    let world = recorded();
    let replayed = world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
    assert_eq!(replayed.json()["slow"], "late");
    let replayed = replayed.mentions(&["replayed from tape: no model is asked"]);
    assert!(!replayed.stderr.contains("not_on_cassette"), "{replayed}");
    let started = &events(&world)[0]["run_started"];
    assert_eq!(started["metadata"], json!({"replayed_from": "tape"}));
}

/// The attempts that ended, in order.
fn ends(events: &[Value]) -> Vec<(&Value, &Value)> {
    let end = |event: &'_ Value| event.get("attempt_finished").or(event.get("attempt_failed")).is_some();
    let ended = events.iter().filter(|event| end(event));
    ended
        .flat_map(|event| event.as_object().unwrap().values())
        .map(|end| (&end["task"], &end["attempt"]))
        .collect()
}

/// Replays are like each other in every event, and end their attempts in the order of the recording.
fn assert_replays_are_alike(world: &World) {
    let recording = events(world);
    let replay = || {
        world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
        events(world)
    };
    let first = replay();
    assert_eq!(ends(&first), ends(&recording));
    for _ in 0..3 {
        let other = replay();
        let parts = first.iter().zip(&other).position(|(a, b)| a != b);
        assert_eq!(first, other, "they part at event {parts:?}");
    }
}

#[test]
fn replays_are_alike_event_by_event() {
    assert_replays_are_alike(&recorded());
}

/// Forty agents that all could be answered at once, and forty more that each wait for one of them.
#[test]
fn replays_are_alike_however_much_runs_at_once() {
    let pair = |n: usize| {
        format!("  - {{name: a{n}, prompt: A {n}}}\n  - {{name: b{n}, needs: [a{n}], prompt: B {n}}}\n")
    };
    let agents: String = (0..40).map(pair).collect();
    let head = "workflow: {name: wide, runtime: {provider: {name: scripted, file: replies.yaml}}}\nagents:\n";
    let world = World::with_workflow(&format!("{head}{agents}output: {{done: 'yes'}}\n"));
    let reply = |n: usize| {
        format!(
            "  a{n}: {{say: x, delay_ms: {}}}\n  b{n}: {{say: x, delay_ms: {}}}\n",
            n * 17 % 40,
            n * 7 % 40
        )
    };
    world.write("replies.yaml", format!("replies:\n{}", (0..40).map(reply).collect::<String>()));
    world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0);
    assert_replays_are_alike(&world);
}

/// Agents and tool steps that make equal calls at the same time and get other results.
const COUNTING: &str = r#"
workflow:
  name: counting
  entry_point: all
  runtime:
    provider: {name: scripted, file: replies.yaml}
    mcp_servers: {c: {command: python3, args: [counter.py]}}
parallel:
  - {name: all, agents: [a, b, s, t]}
agents:
  - {name: a, prompt: Count}
  - {name: b, prompt: Count}
  - {name: s, type: tool, server: c, tool: next}
  - {name: t, type: tool, server: c, tool: next}
output: {s: "{{ all.outputs.s.result }}", t: "{{ all.outputs.t.result }}"}
"#;

const COUNTING_REPLIES: &str = r#"
replies:
  a: [{tool_calls: [{name: c__next}, {name: c__next}]}, {tool_calls: [{name: c__next}]}, done]
  b: [{tool_calls: [{name: c__next}]}, {tool_calls: [{name: c__next}, {name: c__next}]}, done]
"#;

#[test]
fn equal_calls_of_tools_get_their_own_results_and_order() {
    let python = std::process::Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|said| said.status.success()) {
        return eprintln!("skipped: python3 is not here");
    }
    let world = World::with_workflow(COUNTING);
    world.write("counter.py", include_str!("conversation/counter.py"));
    world.write("replies.yaml", COUNTING_REPLIES);
    let recorded = world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0);
    std::fs::remove_file(world.work().join("counter.py")).unwrap();
    std::fs::remove_file(world.work().join("replies.yaml")).unwrap();
    assert_replays_are_alike(&world);
    let replayed = world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
    assert_eq!(replayed.json(), recorded.json());
}

#[test]
fn a_model_is_asked_once_and_neither_it_nor_its_key_is_needed_again() {
    let Value::Object(replies) = json!({"m": [{"json": {"word": "yes"}}]}) else { panic!("a map") };
    let model = Model::start(&replies);
    let text = "
workflow: {name: w, entry_point: ask, runtime: {provider: {name: openai, base_url: MODEL_URL, api_key: '${SERVICE_KEY:-}'}}}
agents: [{name: ask, model: m, prompt: Yes or no?, output: {word: {type: string}}}]
output: {word: '{{ ask.output.word }}'}
";
    let world = World::with_workflow(&text.replace("MODEL_URL", &model.url()));
    let mut recording = world.command(&["run", "w.yaml", "--record", "tape"]);
    let said =
        support::Said::from(recording.env("SERVICE_KEY", "canary-0123456789").output().unwrap()).exits(0);
    let asked = model.asked().len();
    assert!(asked > 0 && !world.read("tape/cassette.jsonl").contains("canary"));
    let replayed = world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
    assert_eq!((said.stdout, model.asked().len()), (replayed.stdout, asked));
}

#[test]
fn replays_that_ask_one_at_a_time_come_to_an_end() {
    let world = recorded();
    let said = world.convoke(&["run", "w.yaml", "--replay", "tape", "--max-concurrency", "1"]).exits(0);
    assert_eq!(said.json()["slow"], "late");
}

/// Agents that ask several times, and a limit that lets only one of them ask at a time: an agent that waits for the answer
/// recorded before its own must not keep that one from being asked for.
#[test]
fn limits_of_services_do_not_hold_up_a_replay() {
    let names = ["a", "b", "c", "d"];
    let agent = |name: &str| {
        format!(
            "  - {{name: {name}, prompt: Number {name}, output: {{n: {{type: number}}}}, \
             retry: {{max_attempts: 1, max_parse_recovery_attempts: 4}}}}\n"
        )
    };
    let text = |provider: &str| {
        let agents: String = names.iter().map(|name| agent(name)).collect();
        format!(
            "workflow: {{name: w, entry_point: all, runtime: {{provider: {provider}, default_model: m}}}}\n\
             parallel: [{{name: all, agents: [a, b, c, d]}}]\nagents:\n{agents}output: {{done: 'yes'}}\n"
        )
    };
    let replies = names.iter().enumerate().map(|(at, name)| {
        let delay = |turn: usize| 5 + (at * 13 + turn * 29) % 40;
        format!(
            "  {name}: [{{say: prose, delay_ms: {}}}, {{say: more, delay_ms: {}}}, {{n: {at}}}]\n",
            delay(1),
            delay(2)
        )
    });
    let world = World::with_workflow(&text("{name: scripted, file: replies.yaml}"));
    world.write("replies.yaml", format!("replies:\n{}", replies.collect::<String>()));
    world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0);
    // The same run, as one whose models have a limit.
    world.write("w.yaml", text("{name: openai, base_url: 'http://localhost:9'}"));
    world.write("convoke.toml", "[limits.models.openai]\nconcurrency = 1\n");
    world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
}

#[test]
fn a_request_that_was_not_recorded_fails_and_shows_the_nearest() {
    let world = recorded();
    let said = world.convoke(&["run", "w.yaml", "--replay", "tape", "-i", "topic=coffee"]).exits(1);
    said.mentions(&["call 3 of step `slow`", "recorded \"Slowly about tea\", asked \"Slowly about coffee\""]);
    let failed = events(&world).into_iter().find_map(|event| event.get("attempt_failed").cloned());
    let failure = &failed.expect("an attempt failed")["failure"];
    assert_eq!((&failure["class"], &failure["reason"]), (&json!("fatal"), &json!("not_on_cassette")));
}

#[test]
fn a_replay_that_was_parked_is_resumed_as_a_replay() {
    let world = World::with_workflow(
        r#"
workflow: {name: gated, entry_point: draft, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: draft, prompt: Draft it, routes: [{to: gate}]}
  - {name: gate, type: human_gate, prompt: Good?, options: [{label: Yes, value: yes_, route: polish}]}
  - {name: polish, prompt: "Polish {{ draft.output.result }}"}
output: {text: "{{ polish.output.result }}"}
"#,
    );
    world.write("replies.yaml", "{draft: rough, polish: smooth}");
    world.convoke(&["run", "w.yaml", "--record", "tape", "--skip-gates"]).exits(0);
    std::fs::remove_file(world.work().join("replies.yaml")).unwrap();
    world.convoke(&["run", "w.yaml", "--replay", "tape", "--no-interactive"]).exits(5);
    let run = world.runs()[0].clone();
    let said = world.convoke(&["answer", &run, "gate", "yes_", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({"text": "smooth"}));
    said.mentions(&["replaying from tape: no model is asked"]);
}

#[test]
fn a_recording_that_was_parked_goes_on_with_its_cassette() {
    let world = World::with_workflow(
        r#"
workflow: {name: gated, entry_point: draft, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: draft, prompt: Draft it, routes: [{to: gate}]}
  - {name: gate, type: human_gate, prompt: Good?, options: [{label: Yes, value: yes_, route: polish}]}
  - {name: polish, prompt: "Polish {{ draft.output.result }}"}
output: {text: "{{ polish.output.result }}"}
"#,
    );
    world.write("replies.yaml", "{draft: rough, polish: smooth}");
    world.convoke(&["run", "w.yaml", "--record", "tape", "--no-interactive"]).exits(5);
    assert_eq!(world.read("tape/cassette.jsonl").lines().count(), 2);
    world.convoke(&["answer", &world.run(), "gate", "yes_", "--resume"]).exits(0);
    assert_eq!(world.read("tape/cassette.jsonl").lines().count(), 3);
}

#[test]
fn cassettes_are_refused_with_words() {
    let world = recorded();
    world.convoke(&["run", "w.yaml", "--record", "tape", "--replay", "tape"]).exits(2);
    world
        .convoke(&["run", "w.yaml", "--replay", "nowhere"])
        .exits(3)
        .mentions(&["there is no cassette in `nowhere`"]);
    world.write("replies.yaml", REPLIES);
    let said = world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(3);
    said.mentions(&["there is a cassette in `tape` already", "remove it"]);
}

#[test]
fn no_secret_of_the_environment_reaches_a_cassette() {
    let secret = "canary-0123456789/abc";
    let world = World::with_workflow(
        "
workflow: {name: leaky, entry_point: look, runtime: {provider: scripted}}
agents:
  - {name: look, type: script, command: printenv, args: [SERVICE_TOKEN], env: {SERVICE_TOKEN: '${SERVICE_TOKEN}'}, routes: [{to: tell}]}
  - {name: tell, secrets: [SERVICE_TOKEN], prompt: 'It says {{ look.output.stdout }}'}
output: {told: '{{ tell.output.result }}'}
",
    )
    .env("SERVICE_TOKEN", secret);
    let said = world.convoke(&["run", "w.yaml", "--record", "tape"]).exits(0);
    assert!(said.stdout.contains(secret), "the workflow passes it on\n{said}");
    let tape = world.read("tape/cassette.jsonl");
    assert!(tape.contains("It says [secret]") && !tape.contains("canary"), "{tape}");
    world.convoke(&["run", "w.yaml", "--replay", "tape"]).exits(0);
}
