//! What tests of goals share: what planners, workers and finalisers say, and a world in which they say it.

use super::World;
use serde_json::{Value, json};
use std::io::Write;

/// A task as a planner writes it.
pub fn task(id: &str, description: &str, inputs: &[&str]) -> Value {
    json!({ "id": id, "description": description, "inputs": inputs, "skip_probability": 0 })
}

/// A task that its planner holds for impossible.
pub fn skipped(id: &str, reason: &str) -> Value {
    json!({
        "id": id, "description": format!("impossible {id}"), "inputs": [], "tools": [],
        "skip_probability": 95, "skip_reason": reason,
    })
}

/// The answer of a task.
pub fn done(result: &str) -> Value {
    json!({ "result": result, "summary": format!("it is {result}"), "goal_achieved": true, "reason": "done" })
}

/// The answer of the finaliser.
pub fn answer(message: &str) -> Value {
    json!({ "message": message, "next_steps": "", "issues": "", "reason": "all tasks were done" })
}

/// A world whose models answer from this file, by role.
pub fn scripted(replies: &Value, settings: &str) -> World {
    let world = World::new();
    world.write("replies.yaml", json!({ "replies": replies }).to_string());
    world.write(
        "convoke.toml",
        format!("[provider]\nname = \"scripted\"\nfile = \"replies.yaml\"\n\n{settings}"),
    );
    world
}

/// Two tasks, the second of which needs the first.
pub fn two_tasks() -> Value {
    json!({
        "goal/plan": { "json": { "tasks": [task("a", "count the words", &[]), task("b", "double it", &["a"])] } },
        "goal/execute": [{ "json": done("21") }, { "json": done("42") }],
        "goal/finalise": { "json": answer("It is 42.") },
    })
}

/// A task that waits in a script until the test lets it go on, and one that follows.
pub fn with_a_barrier() -> World {
    let mut wait = task("a", "wait for it", &[]);
    wait["tools"] = json!(["scripts__wait"]);
    let replies = json!({
        "goal/plan": { "json": { "tasks": [wait, task("b", "go on", &["a"])] } },
        "goal/execute": [
            { "tool_calls": [{ "name": "scripts__wait" }] }, { "json": done("open") }, { "json": done("gone") },
        ],
        "goal/finalise": { "json": answer("It went on.") },
    });
    let settings = "[goal.scripts.wait]\ncommand = \"cat\"\nargs = [\"barrier\"]\ndescription = \"waits\"\n";
    let world = scripted(&replies, settings);
    let made = std::process::Command::new("mkfifo").arg(world.work().join("barrier")).status();
    assert!(made.expect("mkfifo is there").success());
    world
}

/// Lets the task go on; waits until it is there.
pub fn lift_the_barrier(world: &World) {
    let mut barrier =
        std::fs::OpenOptions::new().write(true).open(world.work().join("barrier")).expect("a pipe");
    barrier.write_all(b"open\n").expect("somebody reads");
}
