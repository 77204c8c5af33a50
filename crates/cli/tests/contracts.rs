//! Personas that do what their contract does not admit, as people see it: nothing is done, and what happened is told.

use crate::support;

use serde_json::{Value, json};
use support::World;

/// Two tools, of which the persona may use one; its model calls the other, and would succeed the second time it is tried.
fn tempted(mode: &str) -> World {
    let world = World::with_workflow(&format!(
        "schemaVersion: '1'
project: false
violationMode: {mode}
provider: {{name: scripted, file: replies.yaml}}
mcp_servers:
  box:
    type: scripts
    scripts:
      look: {{command: echo, args: [seen], description: looks}}
      drop: {{command: touch, args: [dropped], description: drops}}
personas:
  - id: coder
    displayName: Coder
    systemPromptTemplate: You write code.
    toolClearance: {{banlist: [Drop]}}
pipeline:
  entryNodeId: code
  nodes:
    - {{id: code, actorId: m, personaId: coder, constraints: {{maxRetries: 1}}}}
    - {{id: after, actorId: m, personaId: coder}}
  edges:
    - {{from: code, to: after, on: always}}
"
    ));
    let replies = "replies:
  code/try:
    - {tool_calls: [{name: box__look}, {name: box__drop}]}
    - {json: {status: success, payload: {n: 2}}}
  after/try: {json: {status: success}}
";
    world.write("replies.yaml", replies);
    world
}

const SAID: &str = "persona `coder` called the tool `box__drop`, which it may not use";

fn violation() -> Value {
    json!({
        "phase": "code", "try": 1, "task": "code/try[1]", "persona": "coder", "reason": format!("step `code/try`: {SAID}"),
    })
}

#[test]
fn a_banned_tool_ends_the_run_and_show_says_who_called_what() {
    let world = tempted("hard_abort");
    let said = world.convoke(&["run", "w.yaml"]).exits(1);
    assert!(said.stderr.contains(SAID), "{}", said.stderr);
    assert!(!world.work().join("dropped").exists(), "it was not called");
    let shown = world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).json();
    assert_eq!(shown["output"]["violations"], json!([violation()]), "{shown:#}");
    assert_eq!(shown["output"]["phases"]["after"]["status"], "skipped");
    let shown = world.convoke(&["show", &world.run()]).exits(0).stdout;
    assert!(shown.contains(SAID) && shown.contains("security"), "{shown}");
}

#[test]
fn the_tools_that_were_settled_stand_in_the_journal_before_the_first_call_and_in_show() {
    let world = tempted("validation_fail");
    world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
    let events = world.convoke(&["events", &world.run(), "--format", "json"]).exits(0).stdout;
    let at = |kind: &str| {
        let found = events.lines().position(|line| line.contains(kind) && line.contains("code/try[2]"));
        found.unwrap_or_else(|| panic!("no {kind} in\n{events}"))
    };
    assert!(at("contract_resolved") < at("attempt_started") && at("attempt_started") < at("tools_settled"));
    assert!(at("tools_settled") < at("attempt_finished"));
    let shown = world.convoke(&["show", &world.run(), "code/try[2]", "--format", "json"]).exits(0).json();
    let contract = &shown["contracts"][0]["contract"];
    assert_eq!(contract["allowed_tools"], json!(["box__look"]), "{shown:#}");
    assert_eq!((&contract["tools_settled"], &contract["banned_tools"]), (&json!(true), &json!(["Drop"])));
    let shown = world.convoke(&["show", &world.run(), "code/try[2]"]).exits(0).stdout;
    assert!(shown.contains("contract of attempt 1:") && shown.contains("tools: box__look"), "{shown}");
}

#[test]
fn where_it_counts_as_a_failed_validation_the_next_try_knows_it_and_the_output_tells_it() {
    let world = tempted("validation_fail");
    let result = world.convoke(&["run", "w.yaml", "--silent"]).exits(0).json();
    assert_eq!((&result["status"], &result["phases"]["code"]["tries"]), (&json!("success"), &json!(2)));
    assert_eq!(result["violations"], json!([violation()]));
    let second = world.convoke(&["show", &world.run(), "code/try[2]", "--format", "json"]).exits(0).json();
    assert!(second["asked"]["prompt"].as_str().unwrap().contains(SAID), "{second:#}");
    assert!(!world.work().join("dropped").exists());
    let shown = world.convoke(&["show", &world.run()]).exits(0).stdout;
    assert!(shown.contains(SAID), "{shown}");
}
