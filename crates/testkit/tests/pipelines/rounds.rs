//! Edges that lead back: phases run again in rounds, as often as the edge allows.

use super::kit::*;
use convoke_model::RunStatus;
use convoke_plan::Plan;
use convoke_testkit::{Ended, World};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

const QA: &str = "qa personaId: c, constraints: {maxRetries: 0}";

/// QA sends work back to the builder, three rounds at most.
fn checked() -> Arc<Plan> {
    let edges = ["plan build", "build qa", "qa build on: validation_fail, maxRounds: 3", "qa release"];
    manifest("plan", &["plan", "build", QA, "release"], &edges)
}

fn launched(world: &World) -> Vec<String> {
    world.launches.iter().map(|(task, _)| task.to_string()).collect()
}

fn output(ended: &Ended) -> &Value {
    ended.output.as_ref().expect("a report")
}

#[test]
fn work_is_sent_back_until_it_is_accepted() {
    let script: Script = vec![("qa/try[1]", refused("one test fails"))];
    let (ended, world) = run(&checked(), script.clone());
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:#?}");
    let order =
        ["plan/try[1]", "build/try[1]", "qa/try[1]", "build#2/try[1]", "qa#2/try[1]", "release/try[1]"];
    assert_eq!(launched(&world), order);
    let phases = &output(&ended)["phases"];
    assert_eq!(phases.as_object().unwrap().keys().collect::<Vec<_>>(), ["plan", "build", "qa", "release"]);
    assert_eq!(
        (&phases["qa"]["status"], &phases["qa"]["rounds"][0]["status"]),
        (&json!("success"), &json!("validation_fail"))
    );
    assert_eq!(phases["plan"].get("rounds"), None);
    let path = json!(["plan", "build", "qa", "build#2", "qa#2", "release"]);
    assert_eq!(output(&ended)["critical_path"], path);
    goes_on_everywhere(&checked(), &script, &world, 4);
}

#[test]
fn what_is_accepted_at_once_runs_once() {
    let (ended, world) = run(&checked(), vec![]);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 4), "{ended:#?}");
    assert_eq!(output(&ended)["phases"]["qa"].get("rounds"), None);
}

#[test]
fn after_the_last_round_the_edge_leads_back_no_more() {
    let script: Script =
        vec![("qa/try[1]", refused("a")), ("qa#2/try[1]", refused("b")), ("qa#3/try[1]", refused("c"))];
    let (ended, world) = run(&checked(), script.clone());
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 7), "{ended:#?}");
    let failure = ended.failure.clone().expect("a failure").message;
    assert!(failure.contains(": c") && !failure.contains("more)"), "the last round alone counts: {failure}");
    let phases = &output(&ended)["phases"];
    assert_eq!(
        (&phases["qa"]["status"], &phases["release"]["status"]),
        (&json!("validation_fail"), &json!("skipped"))
    );
    goes_on_everywhere(&checked(), &script, &world, 4);
    // Resumed, the last round has another chance, and no round before it.
    let mut again = World::resumed(checked(), 4, world.commits.clone(), &world, workers(script));
    assert_eq!(again.finish().status, RunStatus::Succeeded);
    assert_eq!(launched(&again), ["qa#3/try[2]", "release/try[1]"]);
}

/// What each worker was told, by its task.
fn prompts(plan: &Arc<Plan>, script: Script) -> HashMap<String, String> {
    let told: Rc<RefCell<HashMap<String, String>>> = Rc::default();
    let (seen, mut workers) = (told.clone(), workers(script));
    let watched = move |assignment: &convoke_model::Assignment| {
        seen.borrow_mut().insert(assignment.task.to_string(), prompt(assignment));
        workers(assignment)
    };
    World::new(plan.clone(), json!({}), 4, 1, Box::new(watched)).finish();
    told.take()
}

#[test]
fn a_round_is_told_what_the_one_before_it_came_to() {
    let told = prompts(&checked(), vec![("qa/try[1]", refused("one test fails"))]);
    let words = "each with its status and payload:\n";
    let build = json_behind(&told["build#2/try[1]"], words);
    let from = |handoff: &Value, node: &str| -> Vec<Value> {
        let all = handoff["from"].as_array().unwrap().iter();
        all.filter(|one| one["node"] == node).cloned().collect()
    };
    assert_eq!(from(&build, "plan")[0]["payload"], json!({ "by": "plan/try[1]" }));
    assert_eq!(from(&build, "build")[0]["payload"], json!({ "by": "build/try[1]" }));
    let qa = &from(&build, "qa")[0];
    assert_eq!(
        (&qa["status"], &qa["round"], &qa["payload"]["refused"]),
        (&json!("validation_fail"), &json!(1), &json!("one test fails"))
    );
    assert!(qa["reason"].as_str().unwrap().contains("one test fails"), "{qa}");
    assert_eq!(build["trigger"]["from"], json!(["qa"]));
    // What stands behind the loop is told of its last round alone.
    let release = from(&json_behind(&told["release/try[1]"], words), "qa");
    assert_eq!((release.len(), &release[0]["round"]), (1, &json!(2)));
}

#[test]
fn texts_see_the_last_round_of_a_phase() {
    let edges = ["build qa", "qa build on: validation_fail, maxRounds: 2", "qa release"];
    let seen = |id: &str| {
        format!(
            "{id} personaId: c, constraints: {{maxRetries: 0}}, task: 'see {{{{ build.output.payload.by }}}}'"
        )
    };
    let plan = manifest("build", &["build", &seen("qa"), &seen("release")], &edges);
    let told = prompts(&plan, vec![("qa/try[1]", refused("no"))]);
    let sees = |task: &str, what: &str| assert!(told[task].contains(what), "{}", told[task]);
    sees("qa/try[1]", "see build/try[1]");
    sees("qa#2/try[1]", "see build#2/try[1]");
    sees("release/try[1]", "see build#2/try[1]");
}

#[test]
fn what_leads_out_is_judged_by_the_last_round() {
    let edges = [
        "build qa",
        "qa build on: validation_fail, maxRounds: 2",
        "qa care on: validation_fail",
        "qa release",
    ];
    let plan = manifest("build", &["build", QA, "care", "release"], &edges);
    let (ended, _) = run(&plan, vec![("qa/try[1]", refused("a"))]);
    assert_eq!((phases(&ended)["care"].as_str(), phases(&ended)["release"].as_str()), ("skipped", "success"));
    let (ended, _) = run(&plan, vec![("qa/try[1]", refused("a")), ("qa#2/try[1]", refused("b"))]);
    assert_eq!((phases(&ended)["care"].as_str(), phases(&ended)["release"].as_str()), ("success", "skipped"));
}

#[test]
fn edges_that_share_a_phase_share_its_rounds() {
    let review = "review personaId: c, constraints: {maxRetries: 0}";
    let edges = [
        "plan build",
        "build qa",
        "qa review",
        "qa build on: validation_fail, maxRounds: 3",
        "review plan on: validation_fail, maxRounds: 2",
        "review release",
    ];
    let plan = manifest("plan", &["plan", "build", QA, review, "release"], &edges);
    let script: Script =
        vec![("review/try[1]", refused("wrong plan")), ("qa#2/try[1]", refused("a test fails"))];
    let (ended, world) = run(&plan, script.clone());
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:#?}");
    let order = [
        "plan/try[1]",
        "build/try[1]",
        "qa/try[1]",
        "review/try[1]",
        "plan#2/try[1]",
        "build#2/try[1]",
        "qa#2/try[1]",
        "build#3/try[1]",
        "qa#3/try[1]",
        "review#3/try[1]",
        "release/try[1]",
    ];
    assert_eq!(launched(&world), order);
    goes_on_everywhere(&plan, &script, &world, 4);
}

#[test]
fn a_phase_may_lead_back_to_itself_and_its_failure_in_a_further_round_counts() {
    let plan = manifest("x", &["x", "y"], &["x x event: code_committed, maxRounds: 4", "x y"]);
    let more = || says(json!({ "status": "success", "events": [{ "type": "code_committed" }] }));
    let (ended, world) = run(&plan, vec![("x/try[1]", more()), ("x#2/try[1]", more())]);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 4), "{ended:#?}");
    let (ended, _) = run(&plan, vec![("x/try[1]", more()), ("x#2/try[1]", failed("broken"))]);
    assert_eq!((ended.status, phases(&ended)["y"].as_str()), (RunStatus::Failed, "skipped"), "{ended:#?}");
}

#[test]
fn a_worker_may_tell_that_a_task_is_blocked_and_end_well_where_the_manifest_says_so() {
    let said = json!({ "status": "success", "events": [{ "type": "task_blocked", "payload": { "summary": "no key" } }] });
    let script = || vec![("x/try[1]", says(said.clone()))];
    let plan = |more| with("x", &["x", "care", "y"], &["x care event: task_blocked", "x y"], more);
    let lenient = plan("events: [{type: task_blocked, anyStatus: true}]\n");
    let (ended, world) = run(&lenient, script());
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:#?}");
    let ran = |phase: &str| phases(&ended)[phase].clone();
    assert_eq!([ran("x"), ran("care"), ran("y")], ["success"; 3]);
    assert_eq!(world.launches.len(), 3, "one try is enough");
    goes_on_everywhere(&lenient, &script(), &world, 4);
    // Without that word it is a failed validation, as it was.
    let (ended, world) = run(&plan(""), script());
    assert_eq!((phases(&ended)["care"].as_str(), world.launches.len()), ("skipped", 3));
    assert_eq!(launched(&world)[1], "x/try[2]");
}
