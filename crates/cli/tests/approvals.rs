//! Calls of agents' tools that a person must allow, through the whole program: held wherever they are made, answered from other
//! processes, made once, and never made when they are refused, late or changed. The judge is a file outside, `witness`.

mod alike;
mod fronts;
mod holding;
mod kills;
mod stating;

use crate::support::World;
use crate::support::journal::Events;
use serde_json::Value;

/// A workflow whose agents have the risky tools, with all of them unless told otherwise.
fn workflow(steps: &str) -> String {
    format!(
        "
workflow:
  name: w
  entry_point: first
  runtime:
    provider: {{name: scripted, file: replies.yaml}}
    mcp_servers: {{box: {{command: python3, args: [server.py]}}}}
{steps}
"
    )
}

/// One agent that wants something deleted.
const ONE: &str = "agents: [{name: first, prompt: Clean up.}]\noutput: {said: '{{ first.output.result }}'}";

/// It calls this tool, then says what came of it.
fn calling(step: &str, tool: &str, what: &str) -> String {
    format!(
        "  {step}:\n    - {{tool_calls: [{{name: box__{tool}, arguments: {{what: {what}}}}}]}}\n    - it is over\n"
    )
}

fn world(steps: &str, replies: &str) -> World {
    let world = World::with_workflow(&workflow(steps));
    world.write("replies.yaml", format!("replies:\n{replies}"));
    world.write("server.py", include_str!("approvals/server.py"));
    world
}

/// One agent, one call.
fn one() -> World {
    world(ONE, &calling("first", "delete_all", "a"))
}

/// The calls that were made.
fn made(world: &World) -> Vec<String> {
    match world.work().join("witness").exists() {
        true => world.read("witness").lines().map(str::to_owned).collect(),
        false => Vec::new(),
    }
}

/// The questions that wait, as programs see them.
fn waiting(world: &World, run: &str) -> Vec<Value> {
    world.convoke(&["answer", run, "--format", "json"]).exits(0).json().as_array().expect("a list").clone()
}

/// Every answer in the journal.
fn answers(world: &World, run: &str) -> Vec<Value> {
    let events = Events::of(world, run).0;
    events.iter().filter_map(|event| event["event"].get("gate_answered")).cloned().collect()
}

/// What the model was told of its calls.
fn told(world: &World, run: &str, task: &str) -> String {
    world.convoke(&["show", run, task, "--full"]).exits(0).stdout
}
