//! One task is done again, with what followed from it and nothing else that is finished; what it did to the world only with a word.

use crate::serving::Served;
use crate::support::World;
use crate::support::journal::Events;
use crate::support::process::until;
use serde_json::json;

/// Two branches; each script leaves a line, and may be repeated.
const BRANCHES: &str = r#"
workflow: {name: branches, entry_point: start}
agents:
  - {name: start, type: set, value: '1', routes: [{to: both}]}
  - {name: left, type: script, on_unknown: retry, command: sh, args: [-c, 'echo left >>log; cat left-says']}
  - {name: right, type: script, on_unknown: retry, command: sh, args: [-c, 'echo right >>log']}
parallel:
  - {name: both, agents: [left, right], routes: [{to: $end}]}
output: {said: '{{ both.outputs.left.stdout }}'}
"#;

/// `a`, then `b` which needs it; `c` beside them.
const NEEDS: &str = r#"
workflow: {name: needs}
agents:
  - {name: a, type: script, on_unknown: retry, command: sh, args: [-c, 'echo a >>log; cat says']}
  - {name: b, type: script, needs: [a], on_unknown: retry, command: sh, args: [-c, 'echo b >>log']}
  - {name: c, type: script, on_unknown: retry, command: sh, args: [-c, 'echo c >>log']}
output: {said: '{{ a.output.stdout }}'}
"#;

fn log(world: &World) -> String {
    let mut lines: Vec<_> = world.read("log").lines().map(str::to_owned).collect();
    lines.sort();
    lines.join(" ")
}

#[test]
fn what_ended_well_is_done_again_with_what_needs_it_and_nothing_else() {
    let world = World::with_workflow(NEEDS);
    world.write("says", "once");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(log(&world), "a b c");
    world.write("says", "twice");
    let run = world.run();
    let said = world.convoke(&["resume", &run, "--retry", "a"]).exits(0);
    assert_eq!((said.json()["said"].as_str(), log(&world).as_str()), (Some("twice"), "a a b b c"));
    // The journal knows what happened, and verifies.
    assert_eq!(Events::of(&world, &run).count("run_reopened"), 1);
    world.convoke(&["verify", &run]).exits(0);
    // Without a name the run has nothing left to do.
    world.convoke(&["resume", &run]).exits(0);
    assert_eq!(log(&world), "a a b b c");
}

#[test]
fn a_member_of_a_group_is_done_again_alone() {
    let world = World::with_workflow(BRANCHES);
    world.write("left-says", "once");
    world.convoke(&["run", "w.yaml"]).exits(0);
    world.write("left-says", "twice");
    let said = world.convoke(&["resume", "last", "--retry", "both/left"]);
    let said = if said.code == Some(0) {
        said
    } else {
        world.convoke(&["resume", "last", "--retry", "left"]).exits(0)
    };
    assert_eq!((said.json()["said"].as_str(), log(&world).as_str()), (Some("twice"), "left left right"));
}

#[test]
fn a_failed_task_is_tried_again_and_what_ended_well_is_not() {
    let world = World::with_workflow(
        "workflow: {name: two}\nagents:\n  - {name: a, type: script, on_unknown: retry, command: sh, args: [-c, 'echo a >>log; test -e a-may'], output: {ok: {type: boolean}}}\n  - {name: c, type: script, on_unknown: retry, command: sh, args: [-c, 'echo c >>log']}\n  - {name: d, type: set, needs: [c], value: '1'}\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(1);
    let run = world.run();
    world
        .convoke(&["resume", &run, "--retry", "nothing"])
        .exits(3)
        .mentions(&["no task `nothing`", "convoke show"]);
    world.convoke(&["resume", &run, "--retry", "aa"]).exits(3).mentions(&["did you mean `a`?"]);
    let before = log(&world);
    world.convoke(&["resume", &run, "--retry", "a"]).exits(1);
    assert_eq!(log(&world), format!("a {before}"), "`c` had ended well");
}

#[test]
fn what_it_did_to_the_world_is_repeated_only_with_a_word() {
    let world = World::with_workflow(&NEEDS.replace("on_unknown: retry, ", ""));
    world.write("says", "once");
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    world.convoke(&["resume", &run, "--retry", "a"]).exits(3).mentions(&[
        "did this already",
        "a: sh",
        "b: sh",
        "--repeat-effects",
    ]);
    assert_eq!(log(&world), "a b c");
    assert_eq!(Events::of(&world, &run).count("run_reopened"), 0, "nothing was written");
    world.convoke(&["resume", &run, "--retry", "a", "--repeat-effects"]).exits(0);
    assert_eq!(log(&world), "a a b b c");
}

#[test]
fn a_task_is_done_again_over_http() {
    let world = World::with_workflow(&NEEDS.replace("on_unknown: retry, ", ""));
    world.write("says", "once");
    world.convoke(&["run", "w.yaml"]).exits(0);
    let (run, served) = (world.run(), Served::over(&world));
    let retry = |body| served.post(&format!("/runs/{run}/retry"), body);
    let refused = retry(json!({"task": "a"})).is(422).json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("it would be done again"), "{refused}");
    assert_eq!(retry(json!({"task": "nothing"})).is(409).code(), "not_retryable");
    let retried = retry(json!({"task": "a", "repeat_effects": true})).is(202).json();
    assert_eq!(retried["retried"], json!(["a"]));
    until("it is done again", || log(&world) == "a a b b c");
    until("it has ended", || served.get(&format!("/runs/{run}")).json()["status"] == "succeeded");
}
