//! What the original engine gives: levels, judged criteria, retries, shapes.

use crate::manifests::kit::{attempts, run, scripted, shown};
use serde_json::json;

#[test]
fn pe_1_a_result_reports_levels_critical_path_and_ratio() {
    let world = scripted(
        "agents:\n  - {id: a, task: t}\n  - {id: b, task: t, depends_on: [a]}\n  - {id: c, task: t, depends_on: [b]}\n  - {id: d, task: t}\n  - {id: e, task: t}\n",
        "default: [done]\n",
    );
    let result = run(&world).exits(0).json();
    assert_eq!(result["waves"], json!([["a", "d", "e"], ["b"], ["c"]]));
    assert_eq!((&result["critical_path_length"], &result["parallelism_ratio"]), (&json!(3), &json!(1.67)));
    let shown = shown(&world);
    assert_eq!(shown["levels"], json!([["a", "d", "e"], ["b"], ["c"]]));
    assert_eq!(shown["critical_path"], json!(["a", "b", "c"]));
    assert_eq!((&shown["critical_path_length"], &shown["parallelism_ratio"]), (&json!(3), &json!(1.67)));
    assert_eq!(shown["verification"], json!({}));
}

#[test]
fn pe_4_criteria_are_judged_before_consumers_and_retries_counted() {
    let world = scripted(
        "verify: criteria\nagents:\n  - {id: a, task: t, success_criteria: good}\n  - {id: b, task: t, success_criteria: good, depends_on: [a], max_retries: 2}\n  - {id: c, task: t, success_criteria: good, depends_on: [b]}\n",
        "replies:\n  a: from a\n  b: [{fail: transient, message: once}, from b]\n  c: [bad, better]\n  a/verifier: {passed: true, issues: []}\n  b/verifier: {passed: true, issues: []}\n  c/verifier: [{passed: false, issues: [too bad]}, {passed: true, issues: []}]\n",
    );
    let result = run(&world).exits(0).json();
    assert!(result["answer"].as_str().unwrap().ends_with("## c\n\nbetter"), "{result}");
    let shown = shown(&world);
    assert_eq!(shown["verification"], json!({"checked": 3, "passed": 3, "failed": 0, "redispatched": 1}));
    assert_eq!((attempts(&shown, "b"), shown["critical_path_length"].as_u64()), (2, Some(3)));
    assert_eq!(shown["levels"].as_array().unwrap().len(), 3);
}

#[test]
fn pe_5_criteria_without_verify_are_not_judged() {
    let world = scripted("agents:\n  - {id: a, task: t, success_criteria: good}\n", "replies: {a: fine}\n");
    assert_eq!(run(&world).exits(0).json()["answer"], "fine");
    assert_eq!(shown(&world)["verification"], json!({}));
}

#[test]
fn pe_6_to_9_retries_are_as_many_as_stated() {
    let with = |retries: u32, replies: &str| {
        let manifest = format!("agents:\n  - {{id: a, task: t, max_retries: {retries}}}\n");
        scripted(&manifest, &format!("replies:\n  a: {replies}\n"))
    };
    let once = with(1, "[{fail: transient, message: nope}, done]");
    assert_eq!(run(&once).exits(0).json()["answer"], "done");
    assert_eq!(attempts(&shown(&once), "a"), 2);
    let always = with(1, "{fail: transient, message: nope}");
    always.convoke(&["run", "w.yaml"]).exits(1).mentions(&["nope"]);
    assert_eq!(attempts(&shown(&always), "a"), 2);
    let never = with(0, "{fail: transient, message: kaput}");
    never.convoke(&["run", "w.yaml"]).exits(1).mentions(&["kaput"]);
    assert_eq!(attempts(&shown(&never), "a"), 1, "0 means none, not the default");
    let clean = with(3, "done");
    run(&clean).exits(0);
    assert_eq!(attempts(&shown(&clean), "a"), 1);
}

#[test]
fn pe_10_answers_are_held_against_their_shape() {
    let fits = |schema: &str, answer: &str| {
        let manifest = format!(
            "agents:\n  - {{id: a, task: t, output_schema: {schema}, retry: {{max_attempts: 1, max_parse_recovery_attempts: 0}}}}\n"
        );
        run(&scripted(&manifest, &format!("replies:\n  a:\n    - say: {}\n", json!(answer)))).code == Some(0)
    };
    let requires_a = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}"#;
    assert!(fits(requires_a, r#"{"a": 1}"#));
    assert!(!fits(requires_a, r#"{"b": 1}"#));
    assert!(!fits("'a,b'", "just prose"));
    assert!(fits("a", "```json\n{\"a\": 1}\n```"));
    // Valid for a schema that requires nothing; the original wanted `type` and `properties` in the answer.
    assert!(fits(r#"{"type": "object", "properties": {"a": {"type": "integer"}}}"#, r#"{"b": 1}"#));
    assert!(!fits(requires_a, "[1, 2]"));
}
