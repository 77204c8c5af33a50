//! What is held, how it is shown, and what becomes of it.

use super::{ONE, answers, calling, made, one, told, waiting, world};
use crate::support::World;
use crate::support::journal::Events;
use crate::support::process::until;
use serde_json::json;

/// A sub-workflow with a group of three risky agents, one of them with a shell, beside a script that keeps the run's process alive until `go` is there.
fn nested() -> World {
    let outer = "
agents:
  - {name: inner, type: workflow, workflow: inner.yaml}
  - {name: keep, type: script, command: sh, args: [-c, 'until [ -e go ]; do sleep 0.02; done']}
parallel: [{name: first, agents: [inner, keep]}]
output: {done: 'yes'}";
    let shell = "  remover:\n    - {tool_calls: [{name: convoke__shell, arguments: {command: rm -rf old}}]}\n    - it is over\n";
    let replies = calling("deleter", "delete_all", "a") + &calling("tidier", "tidy", "b") + shell;
    let world = world(outer, &replies);
    std::fs::create_dir(world.work().join("old")).unwrap();
    world.write("old/file", "x");
    let inner = "
workflow: {name: inner, entry_point: both}
parallel: [{name: both, agents: [deleter, tidier, remover]}]
agents:
  - {name: deleter, prompt: Delete all.}
  - {name: tidier, prompt: Tidy up.}
  - {name: remover, prompt: Remove the old ones., tools: [shell]}
output: {done: 'yes'}
";
    world.write("inner.yaml", inner);
    world
}

#[test]
fn risky_calls_of_a_nested_group_in_the_background_wait_and_are_made_once() {
    let world = nested();
    world.convoke(&["run", "w.yaml", "--detach", "--max-concurrency", "2"]).exits(0);
    let run = world.run();
    until("all ask", || waiting(&world, &run).len() == 3);
    assert!(made(&world).is_empty(), "nothing is made before it is allowed");
    let asked = waiting(&world, &run);
    let of = |tool: &str| {
        let is_of = |one: &&serde_json::Value| one["ask"]["approval"]["calls"][0]["tool"] == tool;
        &asked.iter().find(is_of).expect("it asks")["ask"]["approval"]["calls"][0]
    };
    let shell = of("convoke__shell");
    assert!(shell["action"].as_str().unwrap().contains("rm -rf old"), "{shell}");
    let call = of("box__delete_all");
    assert_eq!((&call["tool"], &call["arguments"]), (&json!("box__delete_all"), &json!("{\"what\":\"a\"}")));
    assert!(call["reasons"][0].as_str().unwrap().contains("deletes something"), "{call}");
    let hint = &of("box__tidy")["reasons"];
    assert!(hint[0].as_str().unwrap().contains("may destroy"), "{hint}");
    let shown = world.convoke(&["answer", &run]).exits(0).stdout;
    for words in [
        "box__delete_all {\"what\":\"a\"}",
        "It was asked:",
        "Delete all.",
        "python3 server.py",
        "plan: ",
        "hash: ",
    ] {
        assert!(shown.contains(words), "{words:?} is missing:\n{shown}");
    }

    for question in &asked {
        let (gate, shown) = (question["gate"].as_str().unwrap(), question["shown"].as_str().unwrap());
        world.convoke(&["answer", &run, gate, "approve", "--shown", shown]).exits(0);
        world.convoke(&["answer", &run, gate, "approve"]).exits(20);
    }
    until("both calls are made", || made(&world).len() == 2);
    world.write("go", "");
    until("the run has ended", || world.status() == "succeeded");
    let mut calls = made(&world);
    calls.sort();
    assert_eq!(calls, ["delete_all {\"what\": \"a\"}", "tidy {\"what\": \"b\"}"]);
    let answers = answers(&world, &run);
    assert_eq!(answers.len(), 3);
    if convoke_sandbox::available().is_ok() {
        assert!(!world.work().join("old").exists(), "what was allowed is done");
    }
    for answer in &answers {
        let ruling = &answer["answer"]["inline"]["approval"]["rulings"]["1"];
        assert_eq!(
            (&ruling["verdict"], &answer["from"]["origin"]),
            (&json!("approve"), &json!("command")),
            "{answer}"
        );
        let is_digest = |key: &str| ruling[key].as_str().is_some_and(|digest| digest.len() == 64);
        assert!(is_digest("hash") && is_digest("plan") && ruling["tool"].is_string(), "{ruling}");
    }
    let events = Events::of(&world, &run).0;
    let claimed = events.iter().filter_map(|event| event["event"]["effect_claimed"]["what"].as_str());
    let claimed = claimed.filter(|what| what.starts_with("box__")).count();
    let shells =
        events.iter().filter(|event| event["event"]["effect_claimed"]["what"] == "convoke__shell").count();
    assert_eq!(shells, 1, "a command is run once");
    assert_eq!(claimed, 2, "hints of a server make no call harmless");
    world.convoke(&["verify", &run]).exits(0);
}

#[test]
fn without_a_terminal_the_run_parks_and_skipping_gates_approves_nothing() {
    for args in [&["run", "w.yaml"][..], &["run", "w.yaml", "--skip-gates"]] {
        let world = one();
        let parked = world.convoke(args).exits(5);
        assert!(parked.stderr.contains("first~1 approve --resume"), "{}", parked.stderr);
        assert!(made(&world).is_empty() && answers(&world, &world.run()).is_empty(), "{args:?}");
        world.convoke(&["resume", &world.run(), "--skip-gates"]).exits(5);
        assert!(made(&world).is_empty());
    }
}

#[test]
fn a_refusal_goes_to_the_model_with_its_words() {
    let world = one();
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "first", "yes"]).exits(2).mentions(&["`approve`, `remember`, `deny`"]);
    world.convoke(&["answer", &run, "first~1", "deny", "--input", "words=use the bin", "--resume"]).exits(0);
    assert!(made(&world).is_empty());
    let said = told(&world, &run, "first");
    assert!(said.contains("This call was not made: a person refused it: use the bin."), "{said}");
    assert_eq!(Events::of(&world, &run).count("effect_claimed"), 0);
}

#[test]
fn a_call_that_changed_after_it_was_allowed_is_refused() {
    let world = one();
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "first~1", "approve"]).exits(0);
    world.write("describe", "Deletes much more than before.");
    world.convoke(&["resume", &run]).exits(0);
    assert!(made(&world).is_empty());
    let said = told(&world, &run, "first");
    assert!(said.contains("it is not the call that was allowed"), "{said}");
}

/// What a command would do depends on the files that are there: another file is another plan.
#[test]
fn a_command_whose_plan_changed_after_it_was_allowed_is_refused() {
    let steps = "agents: [{name: first, prompt: Clean up., tools: [shell]}]\noutput: {said: '{{ first.output.result }}'}";
    let replies = "  first:\n    - {tool_calls: [{name: convoke__shell, arguments: {command: 'rm -rf old; cat src/*.txt'}}]}\n    - it is over\n";
    let world = world(steps, replies);
    for folder in ["old", "src"] {
        std::fs::create_dir(world.work().join(folder)).unwrap();
        world.write(&format!("{folder}/a.txt"), "x");
    }
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "first~1", "approve"]).exits(0);
    world.write("src/b.txt", "more than was shown");
    world.convoke(&["resume", &run]).exits(0);
    assert!(world.work().join("old/a.txt").exists(), "nothing of it is done");
    let said = told(&world, &run, "first");
    assert!(said.contains("it is not the call that was allowed"), "{said}");
}

#[test]
fn an_answer_to_what_is_not_asked_any_more_is_refused() {
    let world = one();
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "first~1", "approve", "--shown", "0123456789ab"]).exits(23);
    assert!(answers(&world, &run).is_empty());
}

#[test]
fn what_is_remembered_is_this_very_call_in_this_run() {
    let replies = "  first:
    - {tool_calls: [{name: box__tidy, arguments: {what: a}}]}
    - {tool_calls: [{name: box__tidy, arguments: {what: a}}]}
    - {tool_calls: [{name: box__tidy, arguments: {what: b}}]}
    - it is over
";
    let world = world(ONE, replies);
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "first", "remember", "--resume"]).exits(5);
    assert_eq!(made(&world), ["tidy {\"what\": \"a\"}", "tidy {\"what\": \"a\"}"]);
    let asked = waiting(&world, &run);
    assert_eq!(asked[0]["ask"]["approval"]["calls"][0]["arguments"], "{\"what\":\"b\"}");
    let events = world.convoke(&["events", &run]).exits(0).stdout;
    assert!(events.contains("is made as remembered"), "{events}");
    world.convoke(&["run", "w.yaml"]).exits(5);
    assert_eq!(made(&world).len(), 2, "another run remembers nothing");
}

#[test]
fn time_that_is_over_counts_as_a_refusal_and_says_so() {
    let steps = "
agents:
  - {name: asker, prompt: Clean up., approve: {within: 0.3s}}
  - {name: keep, type: script, command: sh, args: [-c, 'until [ -e go ]; do sleep 0.02; done']}
parallel: [{name: first, agents: [asker, keep]}]
output: {said: '{{ first.outputs.asker.result }}'}";
    let world = world(steps, &calling("asker", "delete_all", "a"));
    let process = world.start(&["run", "w.yaml"]);
    until("the time is over", || !world.runs().is_empty() && answers(&world, &world.run()).len() == 1);
    world.write("go", "");
    process.wait().exits(0);
    let run = world.run();
    assert!(made(&world).is_empty());
    assert_eq!(answers(&world, &run)[0]["from"]["origin"], "timeout");
    let said = told(&world, &run, "first/asker");
    assert!(said.contains("nobody allowed it in time, which counts as a refusal"), "{said}");
    world.convoke(&["answer", &run, "first/asker~1", "approve"]).exits(20);
}

#[test]
fn an_agent_approves_nothing_by_itself() {
    let convoke = env!("CARGO_BIN_EXE_convoke");
    let steps = "
agents:
  - {name: asker, prompt: Clean up.}
  - {name: sly, type: script, command: sh, args: [try.sh]}
parallel: [{name: first, agents: [asker, sly]}]
output: {done: 'yes'}";
    // With the state folder in sight it sees the question, and still decides nothing.
    let world = world(steps, &calling("asker", "delete_all", "a")).env("CONVOKE_SANDBOX_STATE", "visible");
    world.write(
        "try.sh",
        format!(
            "until {convoke} answer last --format json 2>/dev/null | grep -q asker~1; do sleep 0.02; done
for how in approve remember; do
{convoke} answer last first/asker~1 $how --alike >>said 2>&1; echo $? >>codes
done
"
        ),
    );
    world.convoke(&["run", "w.yaml"]).exits(5);
    assert_eq!(world.read("codes"), "24\n24\n", "{}", world.read("said"));
    assert!(made(&world).is_empty() && answers(&world, &world.run()).is_empty());
}
