//! A world with a manifest whose agents answer from a file, and a look at the run.

use crate::support::{Said, World};
use serde_json::Value;

/// A world with a manifest whose agents answer from a file.
pub fn scripted(manifest: &str, replies: &str) -> World {
    let world =
        World::with_workflow(&format!("provider: {{name: scripted, file: replies.yaml}}\n{manifest}"));
    world.write("replies.yaml", replies);
    world
}

pub fn run(world: &World) -> Said {
    world.convoke(&["run", "w.yaml", "--silent"])
}

pub fn shown(world: &World) -> Value {
    world.convoke(&["show", &world.runs()[0], "--format", "json"]).exits(0).json()
}

pub fn task<'a>(shown: &'a Value, name: &str) -> &'a Value {
    let tasks = shown["tasks"].as_array().expect("tasks");
    tasks.iter().find(|task| task["task"] == name).unwrap_or_else(|| panic!("no task {name} in {tasks:#?}"))
}

pub fn attempts(shown: &Value, name: &str) -> usize {
    task(shown, name)["attempts"].as_array().expect("attempts").len()
}

/// What an agent was asked.
pub fn prompt(world: &World, task: &str) -> String {
    let said = world.convoke(&["show", &world.runs()[0], task, "--format", "json"]).exits(0).json();
    said["asked"]["prompt"].as_str().unwrap_or_else(|| panic!("no prompt in {said:#}")).to_owned()
}
