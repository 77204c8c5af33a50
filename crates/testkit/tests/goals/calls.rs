//! How much a goal asks and how long its prompts are, also with hundreds of tasks.

use crate::goals::kit::*;
use convoke_model::{Class, RunStatus};
use serde_json::{Value, json};

#[test]
fn an_atomic_task_takes_one_call_besides_the_plan_and_the_answer() {
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
        decided(&world),
        ["plan", "add_tasks", "execute g/1", "execute g/2", "end g/1", "end g/2", "finalise", "end"]
    );
}

#[test]
fn prompts_do_not_grow_with_the_number_of_tasks() {
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
            id if id.contains("collect") => {
                assert!(prompt.len() < 160_000, "{id} has {} characters", prompt.len());
                Ok(json!({"digest": "d", "issues": ""}))
            }
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
fn no_word_of_a_task_makes_the_prompts_of_others_long() {
    const LONG: usize = 30_000;
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        let long = |what: &str| format!("{what} {}", "y".repeat(LONG));
        // 128 000 for the results of 20 tasks, a line for each other thing about them, and what is asked.
        assert!(prompt.len() < 200_000, "{id} has {} characters", prompt.len());
        match id {
            "g/plan[1]" => {
                let mut tasks: Vec<Value> = (0..20).map(|n| task(&n.to_string(), &[])).collect();
                tasks.iter_mut().for_each(|task| task["description"] = json!(long(&task["id"].to_string())));
                tasks.push(impossible("z"));
                tasks[20]["skip_reason"] = json!(long("no network"));
                Ok(json!({ "tasks": tasks }))
            }
            "g/classify[1]" => {
                Ok(json!({"done": true, "goal_achieved": true, "reason": long("r"), "tasks": []}))
            }
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => Ok(json!({"digest": long("d"), "issues": long("i")})),
            "g/1/execute[1]" => {
                Ok(json!({"result": null, "summary": "", "goal_achieved": false, "reason": long("no")}))
            }
            _ => Ok(
                json!({"result": long("r"), "summary": long("s"), "goal_achieved": true, "reason": long("w")}),
            ),
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 50, policies: {any: [repair_parameters, fail]}"), 9, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let digests = launched(&world).iter().filter(|id| id.contains("collect")).count();
    let others = world.launches.len() - digests;
    assert_eq!(others, 24, "a plan, 20 tasks, a second try, whether more is needed, an answer");
}

#[test]
fn of_more_tasks_than_a_prompt_can_list_those_that_are_missing_are_and_all_are_counted() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => {
                let mut tasks: Vec<Value> = (0..1_000).map(|n| task(&n.to_string(), &[])).collect();
                tasks.push(impossible("z"));
                Ok(json!({ "tasks": tasks }))
            }
            "g/classify[1]" => Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []})),
            "g/finalise[1]" => {
                assert!(prompt.len() < 20_000, "{} characters", prompt.len());
                assert!(prompt.contains("Task 1001 (skipped)"), "what is missing is never left out");
                assert!(prompt.contains("1001 tasks in all: 1000 succeeded, 0 failed, 1 skipped"));
                final_words("done")
            }
            id if id.contains("collect") => {
                assert!(!prompt.contains("Task 1001"), "there is no result to make a digest of: {prompt}");
                Ok(json!({"digest": "d", "issues": ""}))
            }
            _ => {
                let result = "x".repeat(1_000);
                Ok(json!({"result": result, "summary": "s", "goal_achieved": true, "reason": "r"}))
            }
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 2000"), 50, says);
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Partial, 1_003 + 16));
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
