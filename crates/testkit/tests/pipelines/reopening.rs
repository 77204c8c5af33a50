//! A pipeline that did not succeed, resumed.

use super::kit::*;
use convoke_model::{Event, HookPoint, RunStatus};
use convoke_plan::Plan;
use convoke_testkit::{Ended, World};
use serde_json::json;
use std::sync::Arc;

fn resume(plan: &Arc<Plan>, world: &World, script: Script) -> (Ended, Vec<String>) {
    let mut again = World::resumed(plan.clone(), 4, world.commits.clone(), world, workers(script));
    let ended = again.finish();
    (ended, again.launches.iter().map(|(task, _)| task.to_string()).collect())
}

#[test]
fn a_failed_phase_gets_new_tries_behind_those_it_had() {
    let plan = manifest("x", &["x", "y", "z"], &["x y", "y z"]);
    let refuses: Script =
        vec![("y/try[1]", refused("1")), ("y/try[2]", refused("2")), ("y/try[3]", refused("3"))];
    let (ended, world) = run(&plan, refuses);
    assert_eq!(ended.status, RunStatus::Failed);
    let (ended, launched) = resume(&plan, &world, vec![("y/try[4]", refused("4"))]);
    assert_eq!(launched, ["y/try[4]", "y/try[5]", "z/try[1]"]);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(ended.output.expect("a report")["phases"]["y"]["tries"], 5);
}

#[test]
fn new_tries_are_bounded_as_the_first_were() {
    let plan = manifest("x", &["x"], &[]);
    let refuses: Script = vec![
        ("x/try[1]", refused("1")),
        ("x/try[2]", refused("2")),
        ("x/try[3]", refused("3")),
        ("x/try[4]", refused("4")),
        ("x/try[5]", refused("5")),
        ("x/try[6]", refused("6")),
    ];
    let (_, world) = run(&plan, refuses.clone());
    assert_eq!(world.launches.len(), 3);
    let (ended, launched) = resume(&plan, &world, refuses);
    assert_eq!((ended.status, launched.len()), (RunStatus::Failed, 3));
}

/// Runs until a task is launched, and stops the run then.
fn stopped_in(plan: &Arc<Plan>, task: &str, script: Script) -> World {
    let mut world = World::new(plan.clone(), json!({}), 4, 1, workers(script));
    while !world.launches.iter().any(|(launched, _)| &*launched.0 == task) {
        let commits = world.commits.len() + 1;
        assert!(world.run(commits).is_none(), "it ended before that");
    }
    assert_eq!(world.stop(true).status, RunStatus::Cancelled);
    world
}

#[test]
fn a_try_that_is_only_continued_counts_against_the_limit() {
    let plan = manifest("e", &["e", "x"], &["e x"]);
    let all: Vec<String> = (1..=9).map(|number| format!("x/try[{number}]")).collect();
    let refuses: Script = all.iter().map(|task| (&*task.clone().leak(), refused("no"))).collect();
    for number in 1..=3 {
        let world = stopped_in(&plan, &format!("x/try[{number}]"), refuses.clone());
        let (ended, launched) = resume(&plan, &world, refuses.clone());
        assert_eq!(launched, all[number - 1..3], "stopped in try {number}");
        assert!(ended.failure.expect("refused").message.contains("not accepted in 3 tries"));
    }
}

#[test]
fn a_failure_after_a_stop_is_final_as_it_would_have_been_before() {
    let plan = manifest("e", &["e", "x", "y"], &["e x", "x y"]);
    let fails: Script = vec![("x/try[1]", failed("no"))];
    let world = stopped_in(&plan, "x/try[1]", fails.clone());
    let (ended, launched) = resume(&plan, &world, fails);
    assert_eq!((ended.status, launched), (RunStatus::Failed, vec!["x/try[1]".to_owned()]));
}

#[test]
fn a_phase_that_ran_before_it_was_decided_anew_stays_in_the_result() {
    let plan = manifest("x", &["x", "care", "good"], &["x care on: failure", "x good"]);
    let (ended, world) = run(&plan, vec![("x/try[1]", failed("no"))]);
    assert_eq!((ended.status, phases(&ended)["care"].as_str()), (RunStatus::Failed, "success"));
    let mut again = World::resumed(
        plan.clone(),
        4,
        world.commits.clone(),
        &world,
        workers(vec![("x/try[2]", failed("no"))]),
    );
    let told = |ended: &Ended| ended.output.clone().expect("a report")["phases"]["care"].clone();
    let ended = again.finish();
    assert_eq!(told(&ended)["superseded"], json!([{"status": "success", "tries": 1}]));
    assert_eq!(told(&ended)["tries"], 1);
    let (ended, _) = resume(&plan, &again, vec![]);
    let both = json!([{"status": "success", "tries": 1}, {"status": "success", "tries": 1}]);
    assert_eq!((told(&ended)["status"].as_str(), &told(&ended)["superseded"]), (Some("skipped"), &both));
    assert_eq!(ended.status, RunStatus::Succeeded);
}

#[test]
fn what_came_after_a_failed_phase_is_decided_anew_and_nothing_else_is() {
    let edges = ["x y", "y good", "y bad on: failure", "x other", "other later on: failure"];
    let plan = manifest("x", &["x", "y", "good", "bad", "other", "later"], &edges);
    let (ended, world) = run(&plan, vec![("y/try[1]", failed("no"))]);
    assert_eq!((ended.status, phases(&ended)["bad"].as_str()), (RunStatus::Failed, "success"));
    let (ended, launched) = resume(&plan, &world, vec![]);
    assert_eq!(launched, ["y/try[2]", "good/try[1]"]);
    let phases = phases(&ended);
    assert_eq!((ended.status, phases["bad"].as_str()), (RunStatus::Succeeded, "skipped"));
    assert_eq!(phases["later"], "skipped");
}

#[test]
fn a_pipeline_that_was_stopped_goes_on_where_it_stood() {
    let plan = manifest("x", &["x", "y", "z"], &["x y", "y z"]);
    let world = stopped_in(&plan, "y/try[1]", vec![]);
    let (ended, launched) = resume(&plan, &world, vec![]);
    assert_eq!(
        (ended.status, launched),
        (RunStatus::Succeeded, vec!["y/try[1]".to_owned(), "z/try[1]".to_owned()])
    );
}

#[test]
fn a_pipeline_that_hard_failures_ended_goes_on() {
    let plan = with("x", &["x", "y", "z"], &["x y on: always", "y z"], "hardFailures: 1\n");
    let denied = json!({"status": "failure", "payload": {}, "failure_code": "permission"});
    let (ended, world) = run(&plan, vec![("x/try[1]", says(denied))]);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 1));
    let (ended, launched) = resume(&plan, &world, vec![]);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched, ["x/try[2]", "y/try[1]", "z/try[1]"]);
}

#[test]
fn hooks_at_the_end_are_run_again_and_see_what_went_wrong() {
    let hooks = "hooks: {on_error: 'lost: {{ error.message }}', on_complete: {command: bell}}\n";
    let plan = with("x", &["x"], &[], hooks);
    let (_, world) = run(&plan, vec![("x/try[1]", failed("no key"))]);
    let told = world.events().find_map(|stamped| match &stamped.event {
        Event::HookRendered { hook: HookPoint::OnError, text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(told.as_deref(), Some("lost: pipeline `small` did not succeed: phase `x`: no key"));
    let mut again = World::resumed(plan, 4, world.commits.clone(), &world, workers(vec![]));
    assert_eq!(again.finish().status, RunStatus::Succeeded);
    assert_eq!(again.launches.len(), 2, "{:?}", again.launches);
}

#[test]
fn a_pipeline_that_succeeded_is_not_opened_again() {
    let plan = manifest("x", &["x"], &[]);
    let (_, world) = run(&plan, vec![]);
    let replayed =
        convoke_engine::replay(&plan, world.commits.concat(), &convoke_engine::Changes::None, &|_| None);
    assert!(replayed.is_err());
}

#[test]
fn a_failed_member_of_a_sequential_block_is_tried_again_and_those_behind_it_keep_what_they_did() {
    let block = "personaId: c, topology: {kind: sequential, blockId: s}";
    let nodes = ["e", &format!("a {block}"), &format!("b {block}")];
    let plan = manifest("e", &nodes, &["e a", "e b"]);
    let (ended, world) = run(&plan, vec![("a/try[1]", failed("no"))]);
    assert_eq!((ended.status, phases(&ended)["b"].as_str()), (RunStatus::Failed, "success"));
    let (ended, launched) = resume(&plan, &world, vec![]);
    assert_eq!(launched, ["a/try[2]"]);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

#[test]
fn whoever_ended_a_pipeline_is_open_again_even_if_its_failure_led_on() {
    let edges = ["e x", "x care on: failure", "e l1", "l1 l2", "l2 l3", "l3 l4"];
    for (code, more) in [("permission", "hardFailures: 1\n"), ("security", "violationMode: hard_abort\n")] {
        let plan = with("e", &["e", "x", "care", "l1", "l2", "l3", "l4"], &edges, more);
        let ends = json!({"status": "failure", "payload": {}, "failure_code": code});
        let script: Script =
            vec![("x/try[1]", refused("1")), ("x/try[2]", refused("2")), ("x/try[3]", says(ends))];
        let (ended, world) = run(&plan, script);
        assert_eq!(ended.status, RunStatus::Failed);
        let (ended, launched) = resume(&plan, &world, vec![]);
        assert_eq!(ended.status, RunStatus::Succeeded, "{code}: {launched:?} {ended:?}");
        assert!(launched.contains(&"x/try[4]".to_owned()), "{code}: {launched:?}");
    }
}

fn patches(flag: &str) -> Does {
    says(json!({"status": "success", "payload": {}, "project": {"globalFlags": {flag: true}}}))
}

#[test]
fn a_change_in_flight_when_a_run_is_stopped_is_made_once() {
    let plan = manifest("x", &["x", "y"], &["x y"]);
    let script: Script = vec![("x/try[1]", patches("x")), ("y/try[1]", patches("y"))];
    let mut world = World::new(plan.clone(), json!({}), 4, 1, workers(script.clone()));
    // The change is made, and the run does not know of it yet.
    while world.project.state().revision == 0 {
        let commits = world.commits.len() + 1;
        assert!(world.run(commits).is_none(), "it ended before that");
    }
    assert!(!told(&events(&world)).contains(&"x changed the project".to_owned()));
    assert_eq!(world.stop(true).status, RunStatus::Cancelled);
    let mut again = World::resumed(plan, 4, world.commits.clone(), &world, workers(script));
    assert_eq!((again.finish().status, again.project.state().revision), (RunStatus::Succeeded, 2));
}

#[test]
fn a_phase_that_begins_anew_makes_its_change_anew() {
    let plan = manifest("x", &["x", "care"], &["x care on: failure"]);
    let script: Script =
        vec![("x/try[1]", failed("no")), ("x/try[2]", failed("no")), ("care/try[1]", patches("care"))];
    let (_, world) = run(&plan, script.clone());
    assert_eq!(world.project.state().revision, 1);
    let mut again = World::resumed(plan.clone(), 4, world.commits.clone(), &world, workers(script.clone()));
    again.finish();
    assert_eq!(again.project.state().revision, 2);
    // However often the second one is cut off, it is the same change.
    for at in world.commits.len() + 1..again.commits.len() {
        let left = again.commits[..at].to_vec();
        let mut cut = World::resumed(plan.clone(), 4, left, &again, workers(script.clone()));
        cut.finish();
        assert_eq!(cut.project.state().revision, 2, "cut after {at}");
    }
}
