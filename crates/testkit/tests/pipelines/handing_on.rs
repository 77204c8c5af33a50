//! What phases hand on: everything, and to models no more than they can read.

use super::kit::*;
use convoke_model::{Assignment, JsonText, Work};
use convoke_plan::Plan;
use convoke_testkit::{World, plan_of};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A run, and what each worker was given.
fn given(plan: &Arc<Plan>, script: Script) -> HashMap<String, Assignment> {
    given_beside(plan, script, json!({}))
}

/// The same where another run has changed the project meanwhile.
fn given_beside(plan: &Arc<Plan>, script: Script, change: Value) -> HashMap<String, Assignment> {
    let (seen, mut does) = (Arc::new(Mutex::new(HashMap::new())), workers(script));
    let keep = seen.clone();
    let all = Box::new(move |assignment: &Assignment| {
        keep.lock().unwrap().insert(assignment.task.to_string(), assignment.clone());
        does(assignment)
    });
    let mut world = World::new(plan.clone(), json!({}), 4, 1, all);
    world.project.patch("another run", &JsonText::of(&change)).unwrap();
    world.finish();
    let seen = seen.lock().unwrap();
    seen.clone()
}

fn kept(assignment: &Assignment) -> usize {
    match &assignment.work {
        Work::Agent(call) => call.kept.len(),
        other => panic!("{other:?}"),
    }
}

fn large() -> Value {
    json!({"text": "0123456789".repeat(10_000), "last": "it"})
}

#[test]
fn a_large_payload_is_shown_in_part_and_can_be_read_on() {
    let nodes = ["x", "y personaId: c, task: 'The end of it is {{ handoff.from[0].payload.last }}.'", "z"];
    let plan = manifest("x", &nodes, &["x y", "y z"]);
    let given = given(&plan, vec![("x/try[1]", success(large())), ("y/try[1]", success(json!({"n": 1})))]);
    let (y, z) = (&given["y/try[1]"], &given["z/try[1]"]);
    let told = prompt(y);
    assert!(told.starts_with("The end of it is it."), "texts of the manifest see all of it");
    assert!(told.len() < 20_000 && told.contains("`read_result` with the name `r1` reads it"), "{told}");
    assert_eq!((kept(y), kept(z)), (1, 0));
    assert_eq!(json_behind(&prompt(z), "status and payload:\n")["from"][0]["payload"], json!({"n": 1}));
}

#[test]
fn every_predecessor_is_told_of_however_many_there_are() {
    let names: Vec<String> = (1..=40).map(|at| format!("p{at}")).collect();
    let nodes: Vec<&str> = ["x", "end"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let edges: Vec<String> =
        names.iter().flat_map(|name| [format!("x {name}"), format!("{name} end")]).collect();
    let plan = manifest("x", &nodes, &edges.iter().map(String::as_str).collect::<Vec<_>>());
    let tries: Vec<&'static str> = names.iter().map(|name| &*format!("{name}/try[1]").leak()).collect();
    let given = given(&plan, tries.into_iter().map(|one| (one, success(large()))).collect());
    let end = &given["end/try[1]"];
    let told = json_behind(&prompt(end), "status and payload:\n");
    assert_eq!((told["from"].as_array().unwrap().len(), kept(end)), (40, 40));
    assert!(prompt(end).len() < 200_000);
}

#[test]
fn a_program_is_given_all_of_it() {
    let plan = plan_of(
        "schemaVersion: '1'
name: small
personas: [{id: c, displayName: C, systemPromptTemplate: You are c.}]
relationships: []
pipeline:
  entryNodeId: x
  nodes: [{id: x, actorId: m, personaId: c}, {id: y, actorId: prog, personaId: c}]
  edges: [{from: x, to: y}]
actors: {prog: {type: script, command: ./work}}
",
        &[],
    );
    let given = given(&plan, vec![("x/try[1]", success(large()))]);
    let stdin: Value = serde_json::from_str(&prompt(&given["y/try[1]"])).unwrap();
    assert_eq!(stdin["handoff"]["from"][0]["payload"], large());
}

#[test]
fn a_prompt_shows_the_tasks_of_its_own_run_and_the_others_can_be_read() {
    let theirs: Vec<Value> =
        (0..2_000).map(|at| json!({"taskId": format!("theirs-{at}"), "status": "pending"})).collect();
    let change = json!({"globalFlags": {"frozen": true}, "taskQueue": {"upsert": theirs}});
    let plan = manifest("x", &["x", "y"], &["x y"]);
    let mine = json!({"taskId": "mine", "status": "review"});
    let says_so = || {
        let patch = json!({"taskQueue": {"upsert": [mine]}, "artifactPointers": {"log": "out/log"}});
        vec![("x/try[1]", says(json!({"status": "success", "project": patch})))]
    };
    let given = given_beside(&plan, says_so(), change);
    let (y, told) = (&given["y/try[1]"], prompt(&given["y/try[1]"]));
    assert!(told.len() < 20_000 && !told.contains("theirs-"), "{} characters", told.len());
    let shown = json_behind(&told, "share:\n");
    assert_eq!(shown["globalFlags"], json!({"frozen": true}));
    assert_eq!(shown["artifactPointers"], json!({"log": "out/log"}));
    assert_eq!(shown["taskQueue"], json!([mine]));
    let rest = shown["otherTasks"].as_str().expect("it is told that there are more");
    assert!(rest.starts_with("2000 tasks") && rest.contains("`read_result` with the name `r1`"), "{rest}");
    assert_eq!(kept(y), 1);
    let alone = given_beside(&plan, says_so(), json!({}));
    let shown = json_behind(&prompt(&alone["y/try[1]"]), "share:\n");
    assert_eq!((&shown["taskQueue"], shown.get("otherTasks")), (&json!([mine]), None));
}

#[test]
fn whatever_a_project_and_a_state_hold_a_prompt_is_bounded() {
    let many = |value: Value| -> Value {
        (0..2_000).map(|at| (format!("name-{at}"), value.clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let own: Vec<Value> =
        (0..2_000).map(|at| json!({"taskId": format!("own-{at}"), "status": "pending"})).collect();
    let patch = json!({"globalFlags": many(json!(true)), "artifactPointers": many(json!("out/file")), "taskQueue": {"upsert": own}});
    let said = json!({
        "status": "success", "payload": large(), "project": patch, "flags": many(json!(true)),
        "metadata": {"large": large(), "small": 1}, "events": [{"type": "code_committed", "payload": large()}],
    });
    let plan = manifest("x", &["x", "y"], &["x y"]);
    let given = given(&plan, vec![("x/try[1]", says(said))]);
    let (y, told) = (&given["y/try[1]"], prompt(&given["y/try[1]"]));
    assert!(told.len() < 100_000, "{} characters", told.len());
    for name in 1..=kept(y) {
        assert!(told.contains(&format!("`read_result` with the name `r{name}`")), "r{name}");
    }
    assert_eq!(kept(y), 7);
}
