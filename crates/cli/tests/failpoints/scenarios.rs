//! The reference workflows: groups, items, a loop and a gate; a goal; a pipeline of personas; merges; tools.

use super::driver::Driver;
use crate::support::World;
use crate::support::front_ends::{self, ACT, FrontEnd, SERVERS, model};
use crate::support::model::Model;
use serde_json::{Value, json};

/// Something that is played to its end, with and without deaths.
pub struct Scenario {
    pub name: &'static str,
    pub world: Box<dyn Fn() -> World>,
    /// Plays it, whatever dies, and gives what came of it.
    pub play: Box<dyn Fn(&mut Driver) -> Value>,
    /// The keys of effects that models call for.
    pub calls: Vec<String>,
    /// Of the places that it reaches, those that are tried: names that begin so, or all.
    pub only: &'static [&'static str],
}

/// The reference workflows.
pub fn reference() -> Vec<fn() -> Scenario> {
    vec![workflow, goal, pipeline, merge, programs, tools, super::worktrees::worktrees]
}

/// Runs a front-end against a model of its own.
fn of(front_end: FrontEnd, arrange: fn(&World)) -> Scenario {
    let model = model();
    let (name, args, calls) = (front_end.name, front_end.args, front_end.calls.clone());
    let world = Box::new(move || {
        let world = front_ends::world(&front_end, &model);
        arrange(&world);
        world
    });
    Scenario {
        name,
        world,
        play: Box::new(move |driver| essence(driver.drive_to_its_end(args).json())),
        calls,
        only: &[],
    }
}

/// What does not differ from run to run.
fn essence(mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        // Programs whose worker has died are given up, and the outputs are merged by levels.
        for key in ["strategy", "usage", "report"] {
            fields.remove(key);
        }
    }
    result
}

fn nothing(_: &World) {}

/// A group, items, a loop that goes round twice, large outputs, and a gate.
fn workflow() -> Scenario {
    let file = r#"
workflow: {name: w, entry_point: first, limits: {max_iterations: 60}}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: both}]}
  - {name: one, type: script, command: sh, args: [act.sh, one]}
  - {name: two, type: script, command: sh, args: [act.sh, two]}
  - {name: list, type: set, values: {items: '["e0","e1","e2"]', large: "{{ 'lorem ipsum ' * 900 }}"}, routes: [{to: each}]}
  - name: round
    type: script
    command: sh
    args: [act.sh, round]
    routes: [{to: ask, when: context.iteration > 6}, {to: round}]
  - {name: ask, type: human_gate, prompt: Go?, options: [{label: Go, value: go, route: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
parallel: [{name: both, agents: [one, two], routes: [{to: list}]}]
for_each:
  - name: each
    type: for_each
    source: list.output.items
    as: item
    max_concurrent: 2
    agent: {name: item, type: script, command: sh, args: [act.sh, '{{ item }}']}
    routes: [{to: round}]
output: {went: '{{ ask.output.selected }}', large: '{{ list.output.large | length }}', last: '{{ last.output.ok }}'}
"#;
    of(
        FrontEnd {
            name: "workflow",
            file: file.into(),
            args: &["run", "w.yaml"],
            steps: vec![],
            calls: vec![],
        },
        nothing,
    )
}

fn goal() -> Scenario {
    let mut front_end = front_ends::goal();
    front_end.file.push_str("output: {answer: '{{ g.output.message }}'}\n");
    of(front_end, nothing)
}

/// Two phases that call tools, change what the project shares, announce an event and look for a file.
fn pipeline() -> Scenario {
    let calls = front_ends::names("p", 4);
    let file = format!(
        "schemaVersion: '1'\nproject: shared.json\n{SERVERS}\npersonas:\n  - {{id: coder, displayName: Coder, systemPromptTemplate: You code.}}\n\
         pipeline:\n  entryNodeId: one\n  nodes:\n    - {{id: one, actorId: m, personaId: coder, task: '{}'}}\n    \
         - {{id: two, actorId: m, personaId: coder, task: '{}'}}\n  edges:\n    - {{from: one, to: two, event: tasks_planned, when: {{type: file_exists, path: act.sh}}}}\n",
        front_ends::prompt(&calls[..2]),
        front_ends::prompt(&calls[2..])
    );
    let model = Model::answering(|request| {
        let mut reply = front_ends::reply(request);
        if let Some(said) = reply["say"].as_str().filter(|said| said.contains("success")) {
            let mut said: Value = serde_json::from_str(said).expect("JSON");
            said["events"] = json!([{"type": "tasks_planned", "payload": {"summary": "planned"}}]);
            said["project"] = json!({"globalFlags": {"built": true}});
            said["flags"] = json!({"ready": true});
            reply["say"] = json!(said.to_string());
        }
        reply
    });
    let front_end =
        FrontEnd { name: "pipeline", file, args: &["run", "w.yaml"], steps: vec![], calls: calls.clone() };
    let world = Box::new(move || front_ends::world(&front_end, &model));
    let play = |driver: &mut Driver| {
        let result = driver.drive_to_its_end(&["run", "w.yaml"]).json();
        let shared: Value = serde_json::from_str(&driver.world.read("shared.json")).unwrap_or_default();
        // The change is made once, and what the store remembers of the run is forgotten at its end.
        json!([
            result["phases"]["two"]["payload"],
            result["status"],
            shared["globalFlags"],
            shared["convoke"]
        ])
    };
    Scenario { name: "pipeline", world, play: Box::new(play), calls, only: &[] }
}

fn merge() -> Scenario {
    of(front_ends::manifest("flat", "merge"), nothing)
}

/// A merge by programs: they ask models, are put aside meanwhile, and go on.
fn programs() -> Scenario {
    of(front_ends::manifest("rlm", "programs"), nothing)
}

/// A server of tools that speaks MCP on its standard streams, tool steps, and an agent that calls and reads a long result back.
fn tools() -> Scenario {
    let calls = front_ends::names("c", 3);
    let file = format!(
        "workflow: {{name: w, entry_point: all, runtime: {{mcp_servers: {{box: {{command: sh, args: [server.sh]}}}}}}}}\nagents:\n  \
         - {{name: t0, type: tool, server: box, tool: act, arguments: {{key: t0}}}}\n  \
         - {{name: t1, type: tool, server: box, tool: act, arguments: {{key: t1}}}}\n  \
         - {{name: agent, prompt: '{}'}}\n\
         parallel: [{{name: all, agents: [t0, t1, agent]}}]\noutput: {{said: '{{{{ all.outputs.agent.result }}}}'}}\n",
        front_ends::prompt(&calls)
    );
    let front_end = FrontEnd { name: "tools", file, args: &["run", "w.yaml"], steps: vec![], calls };
    of(front_end, |world| world.write("server.sh", SERVER))
}

/// A server that speaks MCP.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"box","version":"1"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"act","description":"acts","inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}]}' ;;
  *'"method":"tools/call"'*)
    printf '%s\n' "$line" | sed 's/.*"key":"\([^"]*\)".*/\1/' >>witness
    result='{"content":[{"type":"text","text":"done"}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A script that may not be repeated and an answer of a model: small enough that recovery can be killed everywhere too.
pub fn small() -> Scenario {
    let file = "
workflow: {name: w, entry_point: first, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: second}]}
  - {name: second, prompt: p}
output: {said: '{{ second.output.result }}'}
";
    let world = move || {
        let world = with_script(file);
        world.write("replies.yaml", "default: done\n");
        world
    };
    let play = |driver: &mut Driver| driver.drive_to_its_end(&["run", "w.yaml"]).json();
    Scenario { name: "small", world: Box::new(world), play: Box::new(play), calls: vec![], only: &[] }
}

/// The script that has an effect, for scenarios of their own.
pub fn with_script(file: &str) -> World {
    let world = World::with_workflow(file);
    world.write("act.sh", ACT);
    world
}
