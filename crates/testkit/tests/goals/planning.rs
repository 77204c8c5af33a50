//! Plans that are asked for, given and refused.

use crate::goals::kit::*;
use convoke_model::{Class, RunStatus};
use serde_json::{Value, json};

#[test]
fn only_the_plan_can_be_asked_for_or_given() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])], "complete": true})),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", plan_only: true"), 9, says);
    assert_eq!((ended.status, launched(&world)), (RunStatus::Succeeded, vec!["g/plan[1]".to_owned()]));
    assert_eq!(answer(&ended)["tasks"][1]["inputs"], json!(["a"]));
    let (ended, world) =
        run(&goal(", plan: [{id: x, description: first}, {description: second, inputs: [x]}]"), 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched(&world), ["g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"]);
}

#[test]
fn a_plan_that_cannot_be_used_is_refused_once_with_the_reason() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &["b"]), task("b", &["a"])]})),
            "g/plan[2]" => {
                assert!(prompt.contains("in a circle"), "{prompt}");
                Ok(json!({"tasks": [task("a", &[])]}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("a"),
        }
    }
    fn never(id: &str, _: &str) -> Result<Value, Class> {
        assert!(id.starts_with("g/plan"), "{id}");
        Ok(json!({"tasks": []}))
    }
    assert_eq!(run(&goal(""), 4, says).0.status, RunStatus::Succeeded);
    let (ended, world) = run(&goal(""), 4, never);
    assert_eq!((ended.status, launched(&world).len()), (RunStatus::Failed, 2));
    assert_eq!(ended.failure.unwrap().reason.as_deref(), Some("plan_refused"));
}

#[test]
fn the_parts_of_a_task_see_what_it_builds_on_and_can_wait_for_nothing_else() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        let sees = |what: &str| assert!(prompt.contains(what), "{id} does not see {what}: {prompt}");
        match id {
            "g/plan[1]" => {
                let mut part = large("b");
                part["inputs"] = json!(["a"]);
                Ok(json!({"tasks": [task("a", &[]), part, task("c", &[])]}))
            }
            "g/1/execute[1]" => done("SECRET-TEXT"),
            "g/2/decompose[1]" => {
                sees("<SECRET-TEXT>");
                let mut second = large("y");
                (second["inputs"], second["estimated_tokens"]) = (json!(["x", "1"]), json!(500_000));
                Ok(json!({"tasks": [task("x", &[]), second]}))
            }
            "g/2/2/decompose[1]" => Ok(json!({"tasks": [task("v", &["2/1"]), task("w", &[])]})),
            "g/3/execute[1]" => {
                assert!(!prompt.contains("SECRET-TEXT"), "it builds on nothing: {prompt}");
                done("c")
            }
            "g/finalise[1]" => final_words("done"),
            id => {
                sees("<SECRET-TEXT>");
                assert_eq!(prompt.matches("<SECRET-TEXT>").count(), 1, "once: {prompt}");
                done(id)
            }
        }
    }
    let (ended, world) = run(&goal(""), 4, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let asked = launched(&world);
    for id in ["g/2/1/execute[1]", "g/2/2/1/execute[1]", "g/2/2/reconcile[1]", "g/2/reconcile[1]"] {
        assert!(asked.iter().any(|asked| asked == id), "{asked:?}");
    }
    assert!(
        !asked.iter().any(|id| id.ends_with("decompose[2]")),
        "what is built on can be declared: {asked:?}"
    );
}

#[test]
fn the_most_urgent_task_starts_first_whenever_it_became_possible() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        let ranked = |id: &str, inputs: &[&str], priority: i64| {
            let mut task = task(id, inputs);
            task["priority"] = json!(priority);
            task
        };
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [
                ranked("a", &[], 0), ranked("b", &[], 5), ranked("d", &[], 5), ranked("c", &["a"], 0),
            ]})),
            "g/finalise[1]" => final_words("done"),
            id => done(id),
        }
    }
    let (_, world) = run(&goal(""), 1, says);
    let starts = &launched(&world)[1..5];
    assert_eq!(starts, ["g/1/execute[1]", "g/4/execute[1]", "g/2/execute[1]", "g/3/execute[1]"]);
}

/// What our prompts say depends on how deep a task stands, and on how deep it may be split.
#[test]
fn our_prompts_know_how_deep_a_task_stands() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        let says = |words: &str, expected: bool| {
            assert_eq!(prompt.contains(words), expected, "{id}: `{words}`: {prompt}");
        };
        let huge = |id: &str| {
            let mut task = large(id);
            task["estimated_tokens"] = json!(500_000);
            task
        };
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [huge("a"), task("b", &[])]})),
            "g/1/decompose[1]" => {
                says("These are the last ones", false);
                Ok(json!({"tasks": [huge("x"), task("y", &[])]}))
            }
            "g/1/1/decompose[1]" => {
                says("These are the last ones", true);
                Ok(json!({"tasks": [task("v", &[]), task("w", &[])]}))
            }
            "g/2/execute[1]" => {
                says("in one technical sentence", false);
                done("b")
            }
            "g/1/2/execute[1]" | "g/1/1/1/execute[1]" => {
                says("in one technical sentence", true);
                done(id)
            }
            "g/finalise[1]" => final_words("done"),
            id => done(id),
        }
    }
    let (ended, world) = run(&goal(", max_depth: 2"), 4, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    for asked in ["g/1/1/decompose[1]", "g/1/1/1/execute[1]"] {
        assert!(launched(&world).iter().any(|id| id == asked), "{asked}");
    }
}

/// Of tasks that are equally urgent the one that stands higher starts first, then the one that was made first.
#[test]
fn of_equally_urgent_tasks_depth_and_creation_decide_whenever_they_became_possible() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                Ok(json!({"tasks": [large("a"), task("b", &[]), task("c", &["b"]), task("d", &["b"])]}))
            }
            "g/1/decompose[1]" => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
            "g/finalise[1]" => final_words("done"),
            id => done(id),
        }
    }
    let (_, world) = run(&goal(""), 1, says);
    let starts: Vec<String> = launched(&world).into_iter().filter(|id| id.ends_with("execute[1]")).collect();
    let expected =
        ["g/2/execute[1]", "g/3/execute[1]", "g/4/execute[1]", "g/1/1/execute[1]", "g/1/2/execute[1]"];
    assert_eq!(starts, expected);
}
