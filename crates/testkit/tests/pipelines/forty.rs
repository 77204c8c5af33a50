//! Forty phases of six personas, as a golden record.

use super::kit::*;
use convoke_model::RunStatus;
use convoke_plan::Plan;
use convoke_testkit::{World, plan_of};
use serde_json::json;
use std::sync::Arc;

fn forty() -> Arc<Plan> {
    plan_of(include_str!("forty.yaml"), &[])
}

fn script() -> Script {
    let handed = |personas: &[(&str, &str)]| {
        let children: Vec<_> =
            personas.iter().map(|(persona, task)| json!({ "persona": persona, "task": task })).collect();
        says(json!({ "status": "success", "payload": {}, "children": children }))
    };
    let commits = |n: u32| {
        says(json!({
            "status": "success", "payload": { "part": n }, "events": [{ "type": "code_committed", "payload": { "summary": format!("part {n}") } }],
        }))
    };
    let mut script: Script = vec![
        (
            "intake/try[1]",
            says(json!({
                "status": "success", "payload": { "goal": "ship" }, "flags": { "ready": true },
                "events": [{ "type": "requirements_defined" }],
            })),
        ),
        ("plan/try[1]", handed(&[("architect", "outline the server"), ("architect", "outline the client")])),
        (
            "plan/aggregate[1]",
            says(json!({
                "status": "success", "payload": { "parts": 8 }, "events": [{ "type": "tasks_planned", "payload": { "summary": "8 parts" } }],
                "project": { "taskQueue": { "upsert": [{ "taskId": "ship", "status": "in_progress" }] } },
            })),
        ),
        (
            "design_db/try[1]",
            says(json!({ "status": "success", "payload": { "tables": 7 }, "metadata": { "load": 5 } })),
        ),
        ("build_3/try[1]", handed(&[("tester", "try the build")])),
        ("build_3/child[1.1]", handed(&[("reviewer", "read the build")])),
        ("build_3/aggregate[1]", commits(3)),
        ("build_4/try[1]", refused("does not compile")),
        ("build_4/try[2]", refused("a test fails")),
        ("build_4/try[3]", commits(4)),
        (
            "test_5/try[1]",
            says(json!({
                "status": "failure", "payload": { "test": "network" }, "reason": "network: 403 forbidden", "failure_code": "timeout",
            })),
        ),
        (
            "load_test/try[1]",
            says(json!({
                "status": "success", "payload": {}, "events": [{ "type": "load_measured", "payload": { "requests": 900 } }],
            })),
        ),
        (
            "integrate/try[1]",
            says(
                json!({ "status": "success", "payload": {}, "events": [{ "type": "merge_conflict_detected" }] }),
            ),
        ),
        (
            "resolve/try[1]",
            says(
                json!({ "status": "success", "payload": {}, "events": [{ "type": "merge_conflict_resolved" }] }),
            ),
        ),
        (
            "release/try[1]",
            says(json!({
                "status": "success", "payload": { "version": "1.0" },
                "project": { "globalFlags": { "released": true }, "taskQueue": { "upsert": [{ "taskId": "ship", "status": "completed" }] } },
            })),
        ),
    ];
    let built = [("build_1/try[1]", 1), ("build_2/try[1]", 2), ("build_5/try[1]", 5), ("build_6/try[1]", 6)];
    script.extend(built.map(|(task, n)| (task, commits(n))));
    script.extend([("build_7/try[1]", commits(7)), ("build_8/try[1]", commits(8))]);
    script
}

fn world(plan: &Arc<Plan>, limit: u32) -> World {
    let mut world = World::new(plan.clone(), json!({}), limit, 7, workers(script()));
    world.files.insert("schema.sql".into());
    world
}

#[test]
fn forty_phases_give_the_golden_record() {
    let plan = forty();
    let mut world = world(&plan, 64);
    let ended = world.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:#?}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pipelines/forty.golden");
    let found = record(&events(&world)).join("\n") + "\n";
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(path, &found).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(path).expect("the golden file is there");
    for (number, (expected, found)) in golden.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert_eq!(golden.lines().count(), found.lines().count());
}

#[test]
fn forty_phases_come_to_what_the_manifest_says() {
    let plan = forty();
    let mut world = world(&plan, 64);
    let ended = world.finish();
    let phases = phases(&ended);
    assert_eq!(phases.len(), 40);
    for (phase, status) in &phases {
        let expected = match phase.as_str() {
            "test_5" => "failure",
            "manual" | "legacy_check" => "skipped",
            _ => "success",
        };
        assert_eq!(status, expected, "{phase}");
    }
    let output = ended.output.expect("a report");
    let path = ["intake", "plan", "design_api", "design_review", "build_1", "test_1", "integrate"];
    assert_eq!(output["critical_path"].as_array().unwrap()[..7], path.map(|id| json!(id)));
    assert_eq!(output["phases"]["build_4"]["tries"], 3);
    let project: serde_json::Value = world.project.state().context.value();
    assert_eq!(project["globalFlags"], json!({ "released": true }));
    assert_eq!(project["taskQueue"], json!([{ "taskId": "ship", "status": "completed" }]));
    assert_eq!(world.project.state().revision, 2);
}

/// Every fourth event from this one on, so that the four tests run side by side.
fn cut_off_from(first: usize) {
    let plan = forty();
    let mut whole = world(&plan, 64);
    whole.finish();
    let places = (first..events(&whole).len()).step_by(4);
    goes_on_at(&plan, &script(), &whole, 64, places);
}

#[test]
fn forty_phases_cut_off_after_events_1_5_9_and_on_give_the_same_record() {
    cut_off_from(1);
}

#[test]
fn forty_phases_cut_off_after_events_2_6_10_and_on_give_the_same_record() {
    cut_off_from(2);
}

#[test]
fn forty_phases_cut_off_after_events_3_7_11_and_on_give_the_same_record() {
    cut_off_from(3);
}

#[test]
fn forty_phases_cut_off_after_events_4_8_12_and_on_give_the_same_record() {
    cut_off_from(4);
}

#[test]
fn forty_phases_end_with_one_permit() {
    let plan = forty();
    let mut world = world(&plan, 1);
    let ended = world.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:#?}");
    assert_eq!(world.peak, 1);
    assert_eq!(phases(&ended).values().filter(|status| *status == "success").count(), 37);
}
