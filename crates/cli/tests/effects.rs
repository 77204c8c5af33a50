//! What the world outside can tell a repetition by: the idempotency key of a task.

use crate::support;

use serde_json::json;
use std::collections::BTreeSet;
use support::World;
use support::journal::Events;
use support::process::until;

/// Two steps that wait for `go` and may be repeated.
const ONCE: &str = r#"
workflow: {name: once, entry_point: first}
agents:
  - {name: first, type: script, idempotent: true, routes: [{to: second}], command: sh, args: [-c, 'echo "$CONVOKE_IDEMPOTENCY_KEY" >>keys; while [ ! -e go ]; do sleep 0.01; done']}
  - {name: second, type: script, command: sh, args: [-c, 'echo "$CONVOKE_IDEMPOTENCY_KEY" >>keys']}
output: {done: 'yes'}
"#;

fn keys(world: &World, file: &str) -> Vec<String> {
    world.read(file).lines().map(str::to_owned).collect()
}

#[test]
fn every_attempt_of_a_task_has_one_key_and_no_other_task_or_run_has_it() {
    let world = World::with_workflow(ONCE);
    let mut all = BTreeSet::new();
    for (number, run) in ["first", "second"].into_iter().enumerate() {
        world.write("go", "");
        world.convoke(&["run", "w.yaml"]).exits(0);
        let found = keys(&world, "keys");
        assert_eq!(found.len(), 2 * (number + 1), "{run}: {found:?}");
        all.extend(found);
    }
    assert_eq!(all.len(), 4, "two tasks of two runs: {all:?}");
    assert!(all.iter().all(|key| key.len() == 64), "{all:?}");
}

#[test]
fn after_a_crash_the_key_is_the_same() {
    let world = World::with_workflow(ONCE);
    let mut process = world.start(&["run", "w.yaml"]);
    until("the step has begun", || keys(&world, "keys").len() == 1);
    process.kill();
    drop(process);
    world.write("go", "");
    world.convoke(&["resume", &world.run()]).exits(0);
    let found = keys(&world, "keys");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0] == found[1] && found[1] != found[2], "{found:?}");
}

/// A command that waits for `go` and gives its number.
const LONG: &str = r#"
workflow: {name: once, entry_point: long}
agents:
  - name: long
    type: script
    survive: true
    timeout: 120
    command: sh
    args: [-c, 'echo run >>witness; while [ ! -e go ]; do sleep 0.01; done; echo "{\"n\": 7}"; echo x >>ended']
output: {n: '{{ long.output.n }}'}
"#;

fn lines(world: &World, file: &str) -> usize {
    if world.work().join(file).exists() { world.read(file).lines().count() } else { 0 }
}

/// How every effect of the run stands.
fn states(world: &World) -> Vec<String> {
    let shown = world.convoke(&["show", &world.run(), "--effects", "--format", "json"]).exits(0).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let state = |effect: &serde_json::Value| effect["state"].as_str().unwrap().to_owned();
    shown["effects"].as_array().unwrap().iter().map(state).collect()
}

#[test]
fn a_command_that_survives_ends_without_an_engine_and_its_result_is_taken() {
    let world = World::with_workflow(LONG);
    let mut process = world.start(&["run", "w.yaml"]);
    until("the command has begun", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    assert_eq!(states(&world), ["claimed"], "it goes on");
    world.write("go", "");
    until("the command has ended", || lines(&world, "ended") == 1);
    let resumed = world.convoke(&["resume", &world.run()]).exits(0);
    assert!(resumed.stdout.contains('7'), "{}", resumed.stdout);
    assert_eq!(lines(&world, "witness"), 1, "it was run once");
    assert_eq!(states(&world), ["done"]);
}

#[test]
fn a_run_whose_command_goes_on_is_not_removed() {
    let world = World::with_workflow(LONG);
    let mut process = world.start(&["run", "w.yaml"]);
    until("the command has begun", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    let all = ["prune", "--keep-last", "0", "--include-unfinished", "--format", "json"];
    let kept = world.convoke(&all).exits(0).json();
    assert_eq!(
        (kept["removed"].as_array().map(Vec::len), &kept["kept"]["busy"]),
        (Some(0), &json!(1)),
        "{kept}"
    );
    world.write("go", "");
    world.convoke(&["resume", &world.run()]).exits(0);
    let gone = world.convoke(&all).exits(0).json();
    assert_eq!(gone["removed"].as_array().map(Vec::len), Some(1), "{gone}");
}

#[test]
fn every_engine_that_is_killed_leaves_the_command_to_the_next_one() {
    let world = World::with_workflow(LONG);
    let mut process = world.start(&["run", "w.yaml"]);
    until("the command has begun", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    for attempt in 2..4 {
        let mut process = world.start(&["resume", &world.run()]);
        let attached = format!("\"attempt\":{attempt},\"pid\"");
        until("another engine attends to it", || {
            world.convoke(&["events", &world.run(), "--format", "json"]).stdout.contains(&attached)
        });
        process.kill();
        drop(process);
    }
    let process = world.start(&["resume", &world.run()]);
    world.write("go", "");
    assert!(process.wait().exits(0).stdout.contains('7'));
    assert_eq!((lines(&world, "witness"), lines(&world, "ended")), (1, 1));
    assert_eq!(states(&world), ["done"]);
}

#[test]
fn a_command_that_survives_ends_in_time_without_an_engine() {
    let world = World::with_workflow(&LONG.replace("timeout: 120", "timeout: 1"));
    let mut process = world.start(&["run", "w.yaml"]);
    until("the command has begun", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    until("its time is over", || states(&world) != ["claimed"]);
    let resumed = world.convoke(&["resume", &world.run()]);
    assert_ne!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("time"), "{}", resumed.stderr);
    assert_eq!((lines(&world, "witness"), lines(&world, "ended")), (1, 0));
    assert_eq!(states(&world), ["failed"]);
}

#[test]
fn stop_ends_a_command_that_goes_on_alone() {
    let world = World::with_workflow(LONG);
    let mut process = world.start(&["run", "w.yaml"]);
    until("the command has begun", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    let stopped = world.convoke(&["stop", &world.run()]).exits(0);
    assert!(stopped.stderr.contains("ended 1 command"), "{}", stopped.stderr);
    world.write("go", "");
    assert_eq!(lines(&world, "ended"), 0, "nothing of it is left");
    let again = world.convoke(&["stop", &world.run()]).exits(0);
    assert!(again.stderr.contains("nothing to stop"), "{}", again.stderr);
}

/// A payment that is cut off in its middle, and a probe that looks into the book.
fn payment(on_unknown: &str) -> World {
    let world = World::with_workflow(&format!(
        r#"
workflow: {{name: pay, entry_point: pay}}
agents:
  - name: pay
    type: script
    command: sh
    args: [-c, 'echo run >>witness; while [ ! -e go ]; do sleep 0.01; done; echo "$CONVOKE_IDEMPOTENCY_KEY" >>book; echo paid']
    {on_unknown}
output: {{said: '{{{{ pay.output.stdout }}}}'}}
"#
    ));
    let mut process = world.start(&["run", "w.yaml"]);
    until("the payment has begun", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    world
}

const PROBE: &str = r#"on_unknown: probe
    probe: {command: sh, args: [-c, '[ -e broken ] && exit 1; grep -q "{key}" book 2>/dev/null && echo "paid, says the book" || exit 10']}"#;

#[test]
fn a_probe_that_finds_nothing_has_the_effect_made() {
    let world = payment(PROBE);
    assert_eq!(states(&world), ["unknown"]);
    world.write("go", "");
    world.convoke(&["resume", &world.run()]).exits(0);
    assert_eq!((lines(&world, "witness"), lines(&world, "book")), (2, 1));
    assert_eq!(states(&world), ["repeated", "done"]);
}

#[test]
fn a_probe_that_finds_the_effect_gives_the_output() {
    let world = payment(PROBE);
    let shown = world.convoke(&["show", &world.run(), "--effects", "--format", "json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    world.write("book", shown["effects"][0]["key"].as_str().unwrap());
    let resumed = world.convoke(&["resume", &world.run()]).exits(0);
    assert!(resumed.stdout.contains("paid, says the book"), "{}", resumed.stdout);
    assert_eq!(lines(&world, "witness"), 1);
    assert_eq!(states(&world), ["done"]);
}

#[test]
fn a_probe_that_breaks_off_has_a_person_asked() {
    let world = payment(PROBE);
    world.write("broken", "");
    let resumed = world.convoke(&["resume", &world.run()]).exits(5);
    assert!(resumed.stderr.contains("exit code 1"), "{}", resumed.stderr);
    assert_eq!(lines(&world, "witness"), 1, "nothing is repeated unasked");
    assert_eq!(states(&world), ["unknown"]);
}

/// What a coding agent does itself stands in no event, so it is not repeated unasked.
#[test]
fn a_coding_agent_that_was_cut_off_is_asked_about() {
    let agent = "echo run >>witness; while IFS= read -r line; do
  id=$(printf '%s' \"$line\" | grep -o '\"id\":[^,}]*' | head -n1 | cut -d: -f2)
  case $line in
  *'\"initialize\"'*) result='{\"protocolVersion\":1,\"agentCapabilities\":{\"loadSession\":false,\"promptCapabilities\":{}}}' ;;
  *'\"session/new\"'*) result='{\"sessionId\":\"s1\"}' ;;
  *'\"session/prompt\"'*)
    [ -e go ] || exec sleep 1000
    echo '{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"written\"}}}}'
    result='{\"stopReason\":\"end_turn\"}' ;;
  *) continue ;;
  esac
  printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\\n' \"$id\" \"$result\"
done
";
    let step = |more: &str| {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: coder}}\nagents:\n  - {{name: coder, provider: {{name: acp, command: sh, args: [agent.sh]}}, prompt: Write., output_mode: raw{more}}}\n"
        ));
        world.write("agent.sh", agent);
        let mut process = world.start(&["run", "w.yaml"]);
        until("it works", || {
            lines(&world, "witness") == 1 && Events::of(&world, &world.run()).count("process_started") == 1
        });
        process.kill();
        drop(process);
        world.write("go", "");
        world
    };
    let world = step("");
    world.convoke(&["resume", &world.run()]).exits(5).mentions(&["cut off"]);
    assert_eq!((lines(&world, "witness"), states(&world)), (1, vec!["unknown".to_owned()]));
    world.convoke(&["answer", &world.run(), "coder", "retry", "--resume"]);
    assert_eq!((lines(&world, "witness"), states(&world)[0].as_str()), (2, "repeated"));
    let world = step(", idempotent: true");
    world.convoke(&["resume", &world.run()]);
    assert_eq!(lines(&world, "witness"), 2, "it says that it may be repeated");
}

/// What a persona's script did is asked about as what a step's script did.
#[test]
fn the_script_of_a_persona_has_a_probe_too() {
    let world = World::new();
    world.write(
        "w.yaml",
        "schemaVersion: '1'
project: false
personas: [{id: one, displayName: One, systemPromptTemplate: You work.}]
actors:
  work: {type: script, command: sh, args: [work.sh], on_unknown: probe, probe: {command: sh, args: [-c, 'grep -q \"{key}\" book 2>/dev/null || exit 10']}}
pipeline:
  entryNodeId: one
  nodes: [{id: one, personaId: one, actorId: work}]
",
    );
    world.write("work.sh", "echo run >>witness; while [ ! -e go ]; do sleep 0.01; done; echo \"$CONVOKE_IDEMPOTENCY_KEY\" >>book; echo '{\"status\":\"success\"}'");
    let mut process = world.start(&["run", "w.yaml"]);
    until("it works", || lines(&world, "witness") == 1);
    process.kill();
    drop(process);
    world.write("go", "");
    world.convoke(&["resume", &world.run()]);
    assert_eq!((lines(&world, "witness"), lines(&world, "book")), (2, 1), "the probe found nothing");
}
