//! What workers may announce: events of a known shape, and none that contradicts how they end.

use super::kit::*;
use serde_json::{Value, json};

/// What `x` came to whose first try says this, and which events it announced.
fn came(said: Value) -> (String, Vec<String>) {
    let plan = manifest("x", &["x personaId: a, constraints: {maxRetries: 0}"], &[]);
    let (ended, world) = run(&plan, vec![("x/try[1]", says(said))]);
    let announced = told(&events(&world)).into_iter().filter(|line| line.starts_with("x ")).collect();
    (phases(&ended)["x"].clone(), announced)
}

fn with_event(status: &str, kind: &str, payload: Value) -> Value {
    json!({"status": status, "payload": {}, "events": [{"type": kind, "payload": payload}]})
}

#[test]
fn nobody_announces_what_follows_from_another_status() {
    let own = [
        ("success", "validation_passed"),
        ("validation_fail", "validation_failed"),
        ("failure", "task_blocked"),
    ];
    for (status, _) in own {
        for (follows, kind) in own {
            let (came, announced) = came(with_event(status, kind, json!({})));
            let expected = if follows == status { status } else { "validation_fail" };
            let implied = own.iter().find(|(known, _)| *known == expected).unwrap().1;
            let times = if follows == status { 2 } else { 1 };
            assert_eq!(
                (came.as_str(), announced),
                (expected, vec![format!("x {implied}"); times]),
                "{status} {kind}"
            );
        }
    }
}

#[test]
fn a_part_of_the_work_does_not_say_how_the_whole_ends() {
    let children = json!([{"persona": "b", "task": "1"}]);
    let mut early = with_event("success", "validation_passed", json!({}));
    early["children"] = children.clone();
    assert_eq!(came(early), ("validation_fail".into(), vec!["x validation_failed".into()]));
    let plan = manifest("x", &["x personaId: a, constraints: {maxRetries: 0}"], &[]);
    let hands_out = says(json!({"status": "success", "payload": {}, "children": children}));
    let part = says(with_event("success", "validation_passed", json!({})));
    let (ended, world) = run(&plan, vec![("x/try[1]", hands_out), ("x/child[1.1]", part)]);
    assert_eq!(phases(&ended)["x"], "validation_fail");
    assert!(!told(&events(&world)).contains(&"x validation_passed".to_owned()));
}

#[test]
fn standard_events_have_a_shape() {
    let commit = |payload: Value| came(with_event("success", "code_committed", payload)).0;
    let whole =
        json!({"summary": "s", "details": [1], "errorCode": null, "artifactPointer": "main", "more": 1});
    assert_eq!((commit(whole), commit(json!({}))), ("success".into(), "success".into()));
    for wrong in [json!({"summary": 1}), json!({"errorCode": {}}), json!({"artifactPointer": ["a"]})] {
        assert_eq!(commit(wrong.clone()), "validation_fail", "{wrong}");
    }
}
