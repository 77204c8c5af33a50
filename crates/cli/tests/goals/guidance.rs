//! Words to a goal on its way.

use crate::goals::{events, prompt_of, shown};
use crate::support::goals::{lift_the_barrier, scripted, two_tasks, with_a_barrier};
use crate::support::process::until;
use serde_json::json;
use std::io::Write;

#[test]
fn words_to_a_live_goal_reach_whoever_is_asked_next() {
    let world = with_a_barrier();
    let process = world.start(&["goal", "go on"]);
    until("the first task is done", || events(&world).contains("goal/1/execute[1]"));
    let run = world.run();
    world.convoke(&["guide", &run, "use", "metric units"]).exits(0).mentions(&["said to run"]);
    until("it is written down", || events(&world).contains("use metric units"));
    lift_the_barrier(&world);
    process.wait().exits(0);
    assert!(!prompt_of(&world, "goal/1/execute[1]").contains("metric"));
    assert!(prompt_of(&world, "goal/2/execute[1]").contains("use metric units"));
    assert_eq!(shown(&world)["goals"][0]["guidance"][0]["text"], "use metric units");
    world.convoke(&["guide", &run, "too late"]).exits(2).mentions(&["has ended"]);
}

#[test]
fn lines_that_are_typed_meanwhile_are_guidance() {
    let world = with_a_barrier();
    let typed = world.work().join("typed");
    let made = std::process::Command::new("mkfifo").arg(&typed).status();
    assert!(made.expect("mkfifo is there").success());
    // Both ends, so that opening it does not wait.
    let mut keyboard = std::fs::OpenOptions::new().read(true).write(true).open(&typed).expect("a pipe");
    let mut command = world.command(&["goal", "go on", "--interactive"]);
    command.stdin(keyboard.try_clone().expect("a second handle"));
    let process = crate::support::process::Process::start(command);
    until("the first task is done", || events(&world).contains("goal/1/execute[1]"));
    let too_long = "z".repeat(10_001);
    keyboard.write_all(format!("{too_long}\n\nmind the gap\n").as_bytes()).expect("a keyboard");
    until("it is written down", || events(&world).contains("mind the gap"));
    assert!(events(&world).contains("guidance_unheard"));
    lift_the_barrier(&world);
    process.wait().exits(0);
    let prompt = prompt_of(&world, "goal/2/execute[1]");
    assert!(prompt.contains("mind the gap") && !prompt.contains("zzz"), "{prompt}");
}

#[test]
fn a_parked_goal_hears_when_it_goes_on_and_other_runs_have_nothing_to_hear() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    world
        .convoke(&["guide", &run, "in French"])
        .exits(0)
        .mentions(&["waits for an answer to `goal`", "resume"]);
    world.convoke(&["answer", &run, "goal", "approve", "--resume"]).exits(0);
    assert!(prompt_of(&world, "goal/1/execute[1]").contains("in French"));
    world
        .write("w.yaml", "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: '1'}]\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    world.convoke(&["guide", &world.runs()[0], "hello"]).exits(2).mentions(&["has no goal"]);
}

#[test]
fn what_is_said_to_a_goal_that_failed_is_heard_when_it_is_resumed() {
    let world = scripted(&json!({"goal/plan": {"fail": "fatal", "message": "down"}}), "");
    world.convoke(&["goal", "count"]).exits(1);
    let run = world.run();
    world.convoke(&["guide", &run, "in French"]).exits(0).mentions(&["heard when the run goes on"]);
    world.write("replies.yaml", json!({ "replies": two_tasks() }).to_string());
    world.convoke(&["resume", &run]).exits(0);
    assert!(prompt_of(&world, "goal/1/execute[1]").contains("in French"));
}
