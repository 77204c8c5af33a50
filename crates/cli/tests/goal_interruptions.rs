//! Goals that are cut off: killed at any call, stopped by a person, out of room. Each comes to the same answer in the end.

use crate::support;

use rustix::process::Signal;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use support::World;
use support::disk::SmallDisk;
use support::goals::{answer, done, lift_the_barrier, task, with_a_barrier};
use support::model::Model;
use support::process::until;

/// A model for a goal of three tasks, the second of which is split into three.
fn model(delay_ms: u64, result: &str) -> Model {
    let result = result.to_owned();
    model_of(delay_ms, move || done(&result))
}

/// Letters that no compression makes shorter by much, others at every call.
fn noise(length: usize) -> String {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let mut state = SEED.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + (state >> 60) as u8)
    };
    (0..length).map(|_| next()).collect()
}

fn model_of(delay_ms: u64, result: impl Fn() -> Value + Send + Sync + 'static) -> Model {
    Model::answering(move |request| {
        let text = request["messages"].to_string();
        let reply = match () {
            () if text.contains("Make a plan") => {
                let mut large = task("b", "build the house", &["a"]);
                large["estimated_tokens"] = json!(90_000);
                json!({ "tasks": [task("a", "find a place", &[]), large, task("c", "move in", &["b"])] })
            }
            () if text.contains("Split this task") => {
                let parts =
                    ["walls", "roof", "door"].map(|part| task(part, &format!("make the {part}"), &[]));
                json!({ "tasks": parts })
            }
            () if text.contains("Answer the person") => answer("It stands."),
            () => result(),
        };
        json!({ "say": reply.to_string(), "delay_ms": delay_ms })
    })
}

fn world(model: &Model) -> World {
    let world = World::new();
    let provider =
        format!("[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("{provider}model = \"m\"\n"));
    world
}

/// What does not differ from run to run.
fn essence(output: &Value) -> Value {
    json!([output["message"], output["status"], output["tasks"]])
}

#[test]
fn a_goal_with_children_that_is_killed_at_any_call_gives_the_same_answer() {
    let undisturbed = model(0, "done");
    let expected = essence(&world(&undisturbed).convoke(&["goal", "a house"]).exits(0).json());
    let calls = undisturbed.asked().len();
    assert_eq!(calls, 9, "plan, two tasks, split, three parts, their result, answer");
    for call in 1..=calls {
        let model = model(60, "done");
        let world = world(&model);
        let mut process = world.start(&["goal", "a house"]);
        until("the call is made", || model.asked().len() >= call);
        process.kill();
        let said = world.convoke(&["resume", &world.run()]).exits(0);
        assert_eq!(essence(&said.json()), expected, "killed at call {call}");
        world.convoke(&["verify", &world.run()]).exits(0);
        let again = model.asked().len() - calls;
        assert!(again <= 3, "only what was running is asked again, not {again} calls (killed at {call})");
    }
}

#[test]
fn the_first_ctrl_c_lets_a_task_of_a_goal_end_and_nothing_new_begins() {
    let world = with_a_barrier();
    let process = world.start(&["goal", "go on"]);
    until("the task runs", || started(&world, "goal/1/execute[1]"));
    process.signal(Signal::INT);
    process.await_words("Ctrl-C again");
    lift_the_barrier(&world);
    process.wait().exits(130).prints_nothing().mentions(&["convoke resume"]);
    assert_eq!(world.status(), "interrupted");
    assert!(!started(&world, "goal/2/execute[1]"), "nothing new begins");
    let output = resumed_without_the_barrier(&world);
    assert_eq!(output["message"], "It went on.");
}

#[test]
fn the_second_ctrl_c_ends_a_goal_at_once() {
    let world = with_a_barrier();
    let process = world.start(&["goal", "go on"]);
    until("the task runs", || started(&world, "goal/1/execute[1]"));
    process.signal(Signal::INT);
    process.await_words("Ctrl-C again");
    process.signal(Signal::INT);
    process.wait().exits(130).prints_nothing().mentions(&["convoke resume"]);
    assert_eq!(world.status(), "interrupted");
    assert_eq!(resumed_without_the_barrier(&world)["message"], "It went on.");
}

/// Goes on where nothing holds a task up any more. Scripted replies begin anew with the process, so it may call again.
fn resumed_without_the_barrier(world: &World) -> Value {
    std::fs::remove_file(world.work().join("barrier")).expect("the pipe is there");
    world.write("barrier", "open\n");
    world.convoke(&["resume", &world.run()]).exits(0).json()
}

fn started(world: &World, task: &str) -> bool {
    let Some(run) = world.runs().pop() else { return false };
    let events = world.convoke(&["events", &run, "--format", "json"]).stdout;
    events.lines().any(|line| line.contains("attempt_started") && line.contains(task))
}

#[test]
fn a_goal_on_a_full_disk_stops_and_goes_on_when_there_is_room() {
    let model = model_of(0, || done(&noise(700_000)));
    let world = world(&model);
    let Some(disk) = SmallDisk::mount(&world, "3m") else { return };
    let state = disk.path().join("state").display().to_string();
    let world = world.env("CONVOKE_STATE_DIR", &state).env("CONVOKE_DISK_WAIT_SECONDS", "0");
    world.convoke(&["goal", "a house"]).exits(74).prints_nothing().mentions(&["space", "convoke resume"]);
    let run = world.run();
    world.convoke(&["verify", &run]).exits(0);
    world.convoke(&["show", &run]).exits(0);
    disk.remount("size=256m");
    let output = world.convoke(&["resume", &run]).exits(0).json();
    assert_eq!(output["message"], "It stands.");
    world.convoke(&["verify", &run]).exits(0);
}
