//! Approvals in every way to write down work, and over HTTP.

use super::{answers, calling, made, waiting, world};
use crate::serving::Served;
use crate::support::World;
use crate::support::goals::{answer, done, task};
use crate::support::process::until;
use serde_json::json;

const SERVER: &str = "mcp_servers: {box: {command: python3, args: [server.py]}}";

fn box_of(file: &str, replies: &str) -> World {
    let world = World::with_workflow(file);
    world.write("replies.yaml", replies);
    world.write("server.py", include_str!("server.py"));
    world
}

/// A goal whose planner names the risky tool for its one task.
fn goal(keys: &str) -> World {
    let mut clean = task("a", "clean up", &[]);
    clean["tools"] = json!(["box__delete_all"]);
    let replies = json!({ "replies": {
        "g/plan": { "json": { "tasks": [clean] } },
        "g/execute": [
            { "tool_calls": [{ "name": "box__delete_all", "arguments": { "what": "a" } }] }, { "json": done("clean") },
        ],
        "g/finalise": { "json": answer("It is clean.") },
    }});
    let file = format!(
        "workflow: {{name: w, entry_point: g, runtime: {{provider: {{name: scripted, file: replies.yaml}}, {SERVER}}}}}
agents: [{{name: g, type: goal, goal: Clean up.{keys}}}]
output: {{said: '{{{{ g.output.message }}}}'}}
"
    );
    box_of(&file, &replies.to_string())
}

#[test]
fn a_plan_of_a_model_consents_to_no_tool() {
    let world = goal("");
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    assert!(made(&world).is_empty());
    let asked = waiting(&world, &run);
    let gate = asked[0]["gate"].as_str().unwrap();
    world.convoke(&["answer", &run, gate, "approve", "--resume"]).exits(0);
    assert_eq!(made(&world).len(), 1);
    let listed = goal(", tools: [box__delete_all]");
    listed.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(made(&listed).len(), 1, "the file lists it by name");
    let of_role = goal(", tools: [box__delete_all], roles: {execute: {approve: [delete_all]}}");
    of_role.convoke(&["run", "w.yaml"]).exits(5);
    assert!(made(&of_role).is_empty());
}

#[test]
fn an_actor_says_what_is_asked_about_and_it_stands_in_the_contract() {
    let file = format!(
        "schemaVersion: '1'
project: false
provider: {{name: scripted, file: replies.yaml}}
{SERVER}
personas: [{{id: coder, displayName: Coder, systemPromptTemplate: You write code.}}]
pipeline:
  entryNodeId: code
  nodes: [{{id: code, actorId: careful, personaId: coder}}]
actors: {{careful: {{approve: {{level: all, within: 2h}}}}}}
"
    );
    let replies = "replies:
  code/try:
    - {tool_calls: [{name: box__look, arguments: {what: a}}]}
    - {json: {status: success}}
";
    let world = box_of(&file, replies);
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    assert!(made(&world).is_empty());
    let asked = waiting(&world, &run);
    let (gate, task) = (asked[0]["gate"].as_str().unwrap(), asked[0]["task"].as_str().unwrap());
    let shown = world.convoke(&["show", &run, task]).exits(0).stdout;
    assert!(shown.contains("approvals: all, within 7200 s"), "{shown}");
    world.convoke(&["answer", &run, gate, "approve", "--resume"]).exits(0);
    assert_eq!(made(&world).len(), 1);
}

#[test]
fn alike_calls_are_one_group_of_the_inbox_and_answered_in_one_request() {
    let steps = "
agents: [{name: first, type: set, values: {items: '[\"a\", \"b\"]'}, routes: [{to: each}]}]
for_each:
  - {name: each, type: for_each, source: first.output.items, as: item, agent: {name: item, prompt: 'Delete {{ item }}.'}}
output: {done: 'yes'}";
    let world =
        world(steps, &(calling("each[0]", "delete_all", "a") + &calling("each[1]", "delete_all", "b")));
    world.convoke(&["run", "w.yaml", "--detach"]).exits(0);
    let run = world.run();
    let served = Served::over(&world);
    let questions = || served.get("/inbox").is(200).json()["questions"].as_array().unwrap().clone();
    until("both ask", || questions().len() == 2);
    let inbox = served.get("/inbox").json();
    assert_eq!(inbox["groups"][0]["count"], 2, "{inbox}");
    let first = &inbox["questions"][0];
    assert_eq!((&first["kind"], &first["options"][0]["value"]), (&json!("approval"), &json!("approve")));
    assert!(first["text"].as_str().unwrap().contains("box__delete_all {\"what\":"), "{first}");
    assert!(first["until"].is_u64());

    let [one, other] = &questions()[..] else { panic!("two questions") };
    let said = |question: &serde_json::Value, shown: &serde_json::Value| json!({"run": run, "question": question["id"], "shown": shown, "answer": "approve"});
    // What was shown of one call allows no other.
    let swapped = served
        .post("/answers", json!({"answers": [said(one, &other["shown"]), said(other, &one["shown"])]}))
        .is(200);
    assert!(
        swapped.json()["results"].as_array().unwrap().iter().all(|result| result["ok"] == false),
        "{swapped:?}"
    );
    let both = served
        .post("/answers", json!({"answers": [said(one, &one["shown"]), said(other, &other["shown"])]}))
        .is(200);
    assert!(both.json()["results"].as_array().unwrap().iter().all(|result| result["ok"] == true), "{both:?}");
    until("the run has ended", || world.status() == "succeeded");
    let mut calls = made(&world);
    calls.sort();
    assert_eq!(calls, ["delete_all {\"what\": \"a\"}", "delete_all {\"what\": \"b\"}"]);
    assert!(answers(&world, &run).iter().all(|answer| answer["from"]["origin"] == "server"));
}
