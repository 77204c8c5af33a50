//! The least that a pipeline promises: what one run has at once, order of events, depth, permits, rights, verdict. How many
//! runs are at once is shown with real processes where capacity is; manifests are judged where they are read.

use super::kit::*;
use convoke_model::{Event, RunStatus};
use convoke_testkit::World;
use serde_json::json;

#[test]
fn with_a_cap_of_one_the_second_waits_until_the_first_has_ended() {
    let plan = manifest("x", &["x", "y", "z"], &["x y", "x z"]);
    let (ended, world) = run_at(&plan, vec![], 1);
    assert_eq!((ended.status, world.peak, world.running()), (RunStatus::Succeeded, 1, 0));
    let told = told(&events(&world));
    let at = |line: &str| told.iter().position(|told| told == line).expect(line);
    assert!(at("y validation_passed") < at("z/try[1] attempted"));
    let waits = |event: &Event| matches!(event, Event::Blocked { task, .. } if &*task.0 == "z/try[1]");
    assert!(world.events().any(|stamped| waits(&stamped.event)));
}

#[test]
fn who_waits_when_a_run_is_stopped_is_not_begun() {
    let plan = manifest("x", &["x", "y", "z"], &["x y", "x z"]);
    let mut world = World::new(plan, json!({}), 1, 1, workers(vec![]));
    while !world.launches.iter().any(|(task, _)| &*task.0 == "y/try[1]") {
        let commits = world.commits.len() + 1;
        assert!(world.run(commits).is_none(), "it ended before that");
    }
    assert_eq!((world.stop(true).status, world.running()), (RunStatus::Cancelled, 0));
    let told = told(&events(&world));
    assert!(told.contains(&"z/try[1] skipped".to_owned()) && told.contains(&"y/try[1] cancelled".to_owned()));
    assert_eq!(world.launches.len(), 2);
}

#[test]
fn a_flag_that_is_neither_true_nor_false_is_refused_when_it_is_read_back() {
    let stored = |flag: serde_json::Value| json!({"state_changed": {"task": "x", "flags": {"ready": flag}}});
    assert!(serde_json::from_value::<Event>(stored(json!(true))).is_ok());
    assert!(serde_json::from_value::<Event>(stored(json!("true"))).is_err());
    assert!(serde_json::from_value::<Event>(stored(json!(1))).is_err());
}

#[test]
fn work_at_a_depth_beyond_the_limit_is_refused_and_the_limit_is_named() {
    let more = "topologyConstraints: {maxDepth: 1, maxRetries: 0}\n";
    let plan = with("x", &["x personaId: a"], &[], more);
    let hands = |persona: &str| {
        says(json!({"status": "success", "payload": {}, "children": [{"persona": persona, "task": "t"}]}))
    };
    let script = vec![("x/try[1]", hands("b")), ("x/child[1.1]", hands("c"))];
    let (ended, world) = run(&plan, script);
    assert_eq!(ended.status, RunStatus::Failed);
    let message = ended.failure.expect("a reason").message;
    assert!(message.contains("children at depth 2: the limit is 1 (maxDepth)"), "{message}");
    assert!(!world.launches.iter().any(|(task, _)| task.0.contains("1.1.1")));
}

#[test]
fn a_run_of_two_phases_is_told_in_this_order() {
    let plan = manifest("write", &["write", "copy"], &["write copy"]);
    let said = json!({"status": "success", "payload": {}, "events": [{"type": "tasks_planned"}]});
    let (_, world) = run(&plan, vec![("write/try[1]", says(said))]);
    let expected = [
        "started",
        "write/try[1] attempted",
        "write validation_passed",
        "write tasks_planned",
        "copy start",
        "copy/try[1] attempted",
        "copy validation_passed",
        "finished succeeded",
    ];
    assert_eq!(told(&events(&world)), expected);
}

#[test]
fn a_tool_in_both_lists_is_banned() {
    let plan = with("x", &["x"], &[], "mcp_servers: {fs: {command: fs}}\n");
    let (_, world) = run(&plan, vec![]);
    let contract = world.events().find_map(|stamped| match &stamped.event {
        Event::ContractResolved { contract, .. } => Some(contract.clone()),
        _ => None,
    });
    let contract = contract.expect("before the attempt");
    assert_eq!(contract.allowed_tools, Some(vec!["read".to_owned()]));
    assert_eq!(contract.banned_tools, ["WRITE"]);
}

#[test]
fn work_is_handed_out_and_put_together_with_one_permit() {
    let plan = manifest("x", &["x personaId: a", "y"], &["x y"]);
    let children: Vec<_> = (1..=3).map(|n| json!({"persona": "b", "task": n})).collect();
    let script = vec![
        ("x/try[1]", says(json!({"status": "success", "payload": {}, "children": children}))),
        (
            "x/child[1.2]",
            says(
                json!({"status": "success", "payload": {}, "children": [{"persona": "c", "task": "deeper"}]}),
            ),
        ),
        ("x/aggregate[1]", success(json!({"all": 3}))),
    ];
    let (ended, world) = run_at(&plan, script.clone(), 1);
    assert_eq!((ended.status, world.peak), (RunStatus::Succeeded, 1));
    let launched: Vec<_> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    let expected = [
        "x/try[1]",
        "x/child[1.1]",
        "x/child[1.2]",
        "x/child[1.3]",
        "x/child[1.2.1]",
        "x/aggregate[1.2]",
        "x/aggregate[1]",
        "y/try[1]",
    ];
    assert_eq!(launched, expected);
    assert_eq!(ended.output.expect("a report")["phases"]["x"]["payload"], json!({"all": 3}));
    let (_, wide) = run_at(&plan, script.clone(), 8);
    goes_on_everywhere(&plan, &script, &wide, 8);
}

#[test]
fn a_failed_leaf_is_no_success_on_the_critical_path_or_off_it() {
    let plan = manifest("x", &["x", "y", "z", "beside"], &["x y", "y z", "x beside"]);
    for (leaf, task) in [("beside", "beside/try[1]"), ("z", "z/try[1]")] {
        let (ended, _) = run(&plan, vec![(task, failed("no"))]);
        assert_eq!(ended.status, RunStatus::Failed, "{leaf}");
        let output = ended.output.expect("a report all the same");
        assert_eq!(
            (&output["status"], &output["critical_path"]),
            (&json!("failure"), &json!(["x", "y", "z"]))
        );
        let failure = ended.failure.expect("a reason");
        assert!(failure.message.contains(&format!("phase `{leaf}`: no")), "{failure}");
        assert_eq!(failure.reason.as_deref(), Some("pipeline_failed"));
    }
}

#[test]
fn a_failure_that_was_taken_care_of_counts_where_it_is_on_the_critical_path() {
    let beside = ["x y", "y z", "z end", "x bad", "bad fix on: failure"];
    let plan = manifest("x", &["x", "y", "z", "end", "bad", "fix"], &beside);
    assert_eq!(run(&plan, vec![("bad/try[1]", failed("no"))]).0.status, RunStatus::Succeeded);
    let plan = manifest("x", &["x", "bad", "fix"], &["x bad", "bad fix on: failure"]);
    let (ended, _) = run(&plan, vec![("bad/try[1]", failed("no"))]);
    assert_eq!((ended.status, phases(&ended)["fix"].as_str()), (RunStatus::Failed, "success"));
}

#[test]
fn a_failed_phase_with_an_edge_that_was_not_taken_is_a_leaf_though_its_successor_ran() {
    let edges = ["x bad", "x good", "bad all on: success", "good all", "good g2", "g2 g3"];
    let plan = manifest("x", &["x", "bad", "good", "all", "g2", "g3"], &edges);
    let (ended, _) = run(&plan, vec![("bad/try[1]", failed("no"))]);
    assert_eq!((ended.status, phases(&ended)["all"].as_str()), (RunStatus::Failed, "success"));
}
