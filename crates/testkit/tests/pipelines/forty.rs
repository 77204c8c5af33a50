//! Forty phases of six personas, as a golden record.

use super::kit::*;
use convoke_model::RunStatus;
use convoke_plan::Plan;
use convoke_testkit::{World, plan_of, record, unordered};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

fn forty() -> Arc<Plan> {
    plan_of(include_str!("forty.yaml"), &[])
}

/// What each worker says. The same file answers the real program (`cli/tests/kill_pipeline.rs`).
fn script() -> Script {
    let replies: HashMap<String, Value> =
        serde_json::from_str(include_str!("forty.replies.json")).expect("replies are JSON");
    replies.into_iter().map(|(task, reply)| (&*task.leak(), says(reply["json"].clone()))).collect()
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
    let found = record(&events(&world)).join("\n") + "\n";
    let golden = golden("forty.golden", &found);
    for (number, (expected, found)) in golden.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", number + 1);
    }
    assert_eq!(golden.lines().count(), found.lines().count());
}

#[test]
fn forty_phases_give_the_golden_result() {
    let ended = world(&forty(), 64).finish();
    let found =
        serde_json::to_string_pretty(&unordered(ended.output.expect("a result"))).expect("JSON") + "\n";
    assert_eq!(found, golden("forty.result.json", &found));
}

/// A file beside this one; with `CONVOKE_BLESS` it becomes what was found.
fn golden(name: &str, found: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pipelines").join(name);
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, found).expect("the golden file can be written");
    }
    std::fs::read_to_string(&path).expect("the golden file is there")
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

/// The four tests run side by side. With `CONVOKE_CUTS=all` each cuts off after every fourth event, so together after each;
/// else after every sixteenth.
fn cut_off_from(first: usize) {
    let plan = forty();
    let mut whole = world(&plan, 64);
    whole.finish();
    let places = (first..events(&whole).len()).step_by(if std::env::var_os("CONVOKE_CUTS").is_some() {
        4
    } else {
        16
    });
    goes_on_at(&plan, &script(), &whole, 64, places);
}

#[test]
fn forty_phases_cut_off_from_the_first_event_on_give_the_same_record() {
    cut_off_from(1);
}

#[test]
fn forty_phases_cut_off_from_the_second_event_on_give_the_same_record() {
    cut_off_from(2);
}

#[test]
fn forty_phases_cut_off_from_the_third_event_on_give_the_same_record() {
    cut_off_from(3);
}

#[test]
fn forty_phases_cut_off_from_the_fourth_event_on_give_the_same_record() {
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
