//! An answer that comes to something else than its status says: what it says besides is judged by what it came to.

use super::kit::*;
use convoke_model::RunStatus;
use serde_json::json;

#[test]
fn a_program_that_claims_success_and_breaks_off_has_failed_at_once() {
    let actors = "actors: {model: {type: script, command: work, idempotent: true}}\n";
    let plan = with("x", &["x personaId: a", "y"], &["x y event: code_committed, on: failure"], actors);
    let said = [
        json!({"exit_code": 3, "status": "success", "events": [{"type": "validation_passed"}, {"type": "code_committed"}]}),
        json!({"exit_code": 3, "status": "success", "events": [{"type": "code_committed"}], "children": [{"persona": "b", "task": "t"}]}),
    ];
    for said in said {
        let (ended, world) = run(&plan, vec![("x/try[1]", says(said.clone()))]);
        assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 2), "{said}: {ended:?}");
        assert_eq!(phases(&ended)["x"], "failure");
        assert_eq!(told(&events(&world)).iter().filter(|line| line.starts_with("x ")).count(), 2);
    }
}

#[test]
fn what_counts_as_not_accepted_does_not_block() {
    let plan = with(
        "x",
        &["x", "care", "y"],
        &["x care event: task_blocked", "x y"],
        "violationMode: validation_fail\n",
    );
    let violates = json!({"status": "failure", "failure_code": "security", "reason": "asked for a key",
        "events": [{"type": "task_blocked"}, {"type": "code_committed"}]});
    let (ended, world) = run(&plan, vec![("x/try[1]", says(violates))]);
    assert_eq!(
        (ended.status, phases(&ended)["care"].as_str()),
        (RunStatus::Succeeded, "skipped"),
        "{ended:?}"
    );
    let announced = ["x validation_failed", "x code_committed", "x validation_passed"];
    let lines = told(&events(&world));
    let said: Vec<&String> = lines
        .iter()
        .filter(|line| announced.contains(&line.as_str()) || line.ends_with("task_blocked"))
        .collect();
    assert_eq!(said, announced);
    assert_eq!(ended.output.expect("a report")["violations"][0]["reason"], "asked for a key");
}

#[test]
fn only_who_failed_has_violated_anything() {
    let plan = manifest("x", &["x"], &[]);
    let refuses =
        json!({"status": "validation_fail", "failure_code": "security", "reason": "a key is in the text"});
    let (ended, _) = run(&plan, vec![("x/try[1]", says(refuses))]);
    assert_eq!(ended.status, RunStatus::Succeeded);
    assert_eq!(ended.output.expect("a report").get("violations"), None);
}
