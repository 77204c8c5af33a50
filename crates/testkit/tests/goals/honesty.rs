//! A goal is never better than its tasks.

use crate::goals::kit::*;
use convoke_model::{Class, RunStatus};
use serde_json::{Value, json};

#[test]
fn all_skipped_some_skipped_and_one_failed() {
    fn all(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [impossible("a"), task("b", &["a"])]})),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "it cannot be done", "tasks": []})),
            _ => final_words("nothing could be done"),
        }
    }
    fn some(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [impossible("a"), task("b", &[])]})),
            "g/2/execute[1]" => done("b"),
            id => all(id, prompt),
        }
    }
    fn one(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/1/execute[1]" => undone(),
            id => some(id, prompt).map(|said| {
                if id == "g/plan[1]" { json!({"tasks": [task("a", &[]), task("b", &[])]}) } else { said }
            }),
        }
    }
    let plan = goal(", policies: {any: [fail]}");
    let expected =
        [(all as Says, RunStatus::SkippedAll), (some, RunStatus::Partial), (one, RunStatus::Failed)];
    for (says, status) in expected {
        let (ended, _) = run(&plan, 9, says);
        assert_eq!(ended.status, status, "{ended:?}");
        assert_eq!(answer(&ended)["status"], json!(status.word()));
        assert!(!answer(&ended)["message"].as_str().unwrap().is_empty(), "somebody answers all the same");
        resumes_everywhere(&plan, 9, says);
    }
}

#[test]
fn a_goal_that_was_not_achieved_never_reports_success() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "everything is wonderful", "tasks": []})),
            "g/finalise[1]" => final_words("Everything is wonderful!"),
            _ => undone(),
        }
    }
    let (ended, _) = run(&goal(", policies: {any: [fail]}"), 9, says);
    let failure = ended.failure.clone().expect("it failed");
    assert_eq!((ended.status, failure.reason.as_deref()), (RunStatus::Failed, Some("goal_not_achieved")));
    assert!(failure.message.contains("no such file"), "{failure}");
    assert_eq!(answer(&ended)["status"], json!("failed"));
    assert_eq!(answer(&ended)["tasks"][0]["status"], json!("failed"));
}

/// Plans half of the goal, and then says this about the rest.
fn half(id: &str, more: Result<Value, Class>) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])], "complete": false})),
        "g/finalise[1]" => final_words("the first half"),
        _ if id.starts_with("g/classify") => more,
        _ => done("it"),
    }
}

#[test]
fn a_goal_of_which_more_was_needed_than_was_done_was_not_achieved() {
    fn nothing(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": false, "reason": "the second half is missing", "tasks": []})))
    }
    fn silent(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Err(Class::Fatal))
    }
    fn useless(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": false, "reason": "more", "tasks": [task("b", &["zzz"])]})))
    }
    fn enough(id: &str, _: &str) -> Result<Value, Class> {
        half(id, Ok(json!({"done": true, "reason": "it will do", "tasks": []})))
    }
    fn one_more(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/classify[2]" => enough(id, prompt),
            _ => half(id, Ok(json!({"done": false, "reason": "more", "tasks": [task("b", &[])]}))),
        }
    }
    let unmet: [(&str, Says); 4] =
        [("", nothing), ("", silent), ("", useless), (", max_rounds: 1", one_more)];
    for (bounds, says) in unmet {
        let (ended, _) = run(&goal(bounds), 9, says);
        assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
        let failure = ended.failure.clone().expect("why");
        assert_eq!(failure.reason.as_deref(), Some("goal_not_achieved"));
        assert_eq!(answer(&ended)["status"], "failed");
    }
    for says in [enough as Says, one_more] {
        assert_eq!(run(&goal(""), 9, says).0.status, RunStatus::Succeeded);
    }
}

#[test]
fn the_results_stand_in_for_the_words_of_a_finaliser_that_fails() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/finalise[1]" => Err(Class::Refused),
            _ => done("a"),
        }
    }
    let (ended, _) = run(&goal(""), 4, says);
    assert_eq!(ended.status, RunStatus::Partial);
    assert_eq!(ended.failure.as_ref().unwrap().reason.as_deref(), Some("not_answered"));
    let answer = answer(&ended);
    assert_eq!((&answer["status"], &answer["tasks"][0]["status"]), (&json!("partial"), &json!("succeeded")));
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("## 1 do a\n\n<a>"), "{message}");
}

#[test]
fn what_was_left_out_of_a_result_that_nobody_uses_is_not_missed() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [large("a")]})),
            "g/1/decompose[1]" => Ok(json!({"tasks": [large("b"), task("c", &[])]})),
            "g/1/1/decompose[1]" => Ok(json!({"tasks": [task("d", &[]), task("e", &[]), impossible("f")]})),
            "g/1/reconcile[1]" => Err(Class::Fatal),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let plan = goal(", policies: {fatal: [spawn_recovery, fail]}");
    let (ended, _) = run(&plan, 4, says);
    assert_eq!((ended.status, &answer(&ended)["status"]), (RunStatus::Succeeded, &json!("succeeded")));
    let tasks = answer(&ended)["tasks"].clone();
    let ids: Vec<&str> = tasks.as_array().unwrap().iter().filter_map(|task| task["id"].as_str()).collect();
    assert_eq!(ids, ["1", "1/1", "1/1/1", "1/1/2", "1/1/3", "1/2", "1/3"], "each with what stands below it");
}

#[test]
fn parts_that_could_not_be_reconciled_stand_one_after_the_other() {
    fn broken(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/1/reconcile[1]" => Err(Class::Fatal),
            "g/2/execute[1]" => {
                let parts = ["<g/1/1/execute[1]>", "<g/1/2/execute[1]>"];
                assert!(parts.iter().all(|part| prompt.contains(part)), "{prompt}");
                done(id)
            }
            _ => says(id, prompt),
        }
    }
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [large("a"), task("b", &["a"])]})),
            "g/1/decompose[1]" => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
            "g/finalise[1]" => final_words("done"),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            _ => done(id),
        }
    }
    let plan = goal(", policies: {fatal: [fail]}");
    let (ended, _) = run(&plan, 4, broken);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let answer = answer(&ended);
    assert_eq!((&answer["status"], &answer["tasks"][0]["status"]), (&json!("partial"), &json!("succeeded")));
    assert!(answer["issues"].as_str().unwrap().contains("parts of task 1 were not put together"), "{answer}");
    resumes_everywhere(&plan, 4, broken);
    let again = crate::goals::in_part::resumed(&plan, broken, says, RunStatus::Partial);
    assert_eq!(again, ["g/1/reconcile[1]", "g/2/execute[1]", "g/finalise[1]"]);
}
