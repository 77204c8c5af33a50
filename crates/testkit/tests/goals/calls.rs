//! How much a goal asks and how long its prompts are, also with hundreds of tasks.

use crate::kit::*;
use convoke_model::{Class, RunStatus};
use serde_json::{Value, json};

#[test]
fn defect_8_an_atomic_task_takes_one_call_besides_the_plan_and_the_answer() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &[])]})),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (_, world) = run(&goal(""), 9, says);
    assert_eq!(launched(&world), ["g/plan[1]", "g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"]);
    assert_eq!(
        routed(&world),
        ["plan", "add_tasks", "execute g/1", "execute g/2", "end g/1", "end g/2", "finalise", "end"]
    );
}

#[test]
fn defect_7_prompts_do_not_grow_with_the_number_of_tasks() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                let chain =
                    |n: usize| task(&n.to_string(), &[(n - 1).to_string().as_str()][usize::from(n == 0)..]);
                let tasks: Vec<Value> =
                    (0..40).map(|n| if n == 0 { task("0", &[]) } else { chain(n) }).collect();
                Ok(json!({ "tasks": tasks }))
            }
            "g/finalise[1]" => final_words("done"),
            _ => {
                assert!(prompt.len() < 30_000, "{id} has {} characters", prompt.len());
                let result = "x".repeat(20_000);
                Ok(json!({"result": result, "summary": "long", "goal_achieved": true, "reason": "r"}))
            }
        }
    }
    let (ended, _) = run(&goal(", max_tasks: 50"), 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

#[test]
fn hundreds_of_tasks_are_no_burden() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                Ok(json!({"tasks": (0..400).map(|n| task(&n.to_string(), &[])).collect::<Vec<_>>()}))
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 400"), 50, says);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 402));
}
