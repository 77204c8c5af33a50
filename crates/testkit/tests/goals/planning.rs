//! Plans that are asked for, given and refused.

use crate::kit::*;
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
