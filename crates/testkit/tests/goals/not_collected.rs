//! Results that the collector could not put together: what is seen instead, what is said about it, and what can be resumed.

use crate::goals::kit::*;
use convoke_model::{Assignment, Class, Event, RunStatus, Work};
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

fn plan(tasks: usize) -> Result<Value, Class> {
    Ok(json!({"tasks": (1..=tasks).map(|n| task(&n.to_string(), &[])).collect::<Vec<_>>()}))
}

fn result(id: &str, length: usize) -> Result<Value, Class> {
    Ok(
        json!({"result": format!("from {id}: {}", "x".repeat(length)), "summary": "s", "goal_achieved": true, "reason": "r"}),
    )
}

fn digest(id: &str) -> Result<Value, Class> {
    Ok(json!({"digest": format!("digest of {id}"), "issues": ""}))
}

/// How a goal ends, and what the last question was.
fn last_prompt(plan: &Arc<convoke_plan::Plan>, says: Says) -> (Ended, World, String) {
    let heard: Rc<RefCell<String>> = Rc::default();
    let last = heard.clone();
    let script = move |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        *last.borrow_mut() = call.prompt.clone();
        match says(&assignment.task.to_string(), &call.prompt) {
            Ok(value) => Behaviour::gives(TICK, value),
            Err(class) => Behaviour::fails(TICK, class),
        }
    };
    let mut world = World::new(plan.clone(), json!({}), 50, 1, Box::new(script));
    let ended = world.finish();
    let prompt = heard.borrow().clone();
    (ended, world, prompt)
}

#[test]
fn where_no_digest_of_any_level_can_be_made_heads_of_results_are_seen_and_the_goal_is_partial() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(300),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => Err(Class::Fatal),
            id => result(id, 8_000),
        }
    }
    let (ended, world, prompt) = last_prompt(&goal(", max_tasks: 300"), says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    assert!(launched(&world).iter().any(|id| id.starts_with("g/collect[2.0.1.")), "two levels");
    let heads = prompt.matches(": from g/").count();
    assert!(heads >= 100, "{heads} heads: {prompt}");
    assert!(prompt.len() < 40_000, "{}", prompt.len());
    let issues = answer(&ended)["issues"].as_str().unwrap().to_owned();
    assert!(issues.contains("tasks 1–") && issues.contains("only heads were seen"), "{issues}");
}

#[test]
fn heads_take_no_more_room_than_the_digest_would_have() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(720),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => Err(Class::Fatal),
            id => result(id, 400),
        }
    }
    let (ended, world, prompt) = last_prompt(&goal(", max_tasks: 720"), says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let digests = launched(&world).iter().filter(|id| id.contains("collect")).count();
    assert!(prompt.len() < digests * 8_800, "{} for {digests}", prompt.len());
}

/// Digests that fail so; whether the goal can be resumed once they do not.
fn ends_without_answer(says: Says, better: Says) {
    let plan = goal("");
    let (ended, world) = run(&plan, 9, says);
    let failure = ended.failure.as_ref().expect("it failed");
    assert_eq!(failure.reason.as_deref(), Some("not_answered"), "{failure:?}");
    assert!(!launched(&world).iter().any(|id| id.contains("finalise") || id.starts_with("g/collect[2")));
    let mut second = World::resumed(plan, 9, world.commits.clone(), &world, model(better));
    let ended = second.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(launched(&second).iter().all(|id| id.contains("collect") || id.contains("finalise")));
}

#[test]
fn digests_that_cannot_be_paid_or_must_not_be_made_leave_the_goal_unanswered_until_it_is_resumed() {
    fn well(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(20),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 20_000),
        }
    }
    fn failing(class: Class, id: &str, prompt: &str) -> Result<Value, Class> {
        if id.contains("collect[1.") && id != "g/collect[1.1]" { Err(class) } else { well(id, prompt) }
    }
    ends_without_answer(|id, prompt| failing(Class::Budget, id, prompt), well);
    ends_without_answer(|id, prompt| failing(Class::Security, id, prompt), well);
    resumes_everywhere(&goal(""), 4, |id, prompt| failing(Class::Budget, id, prompt));
}

#[test]
fn a_task_whose_parts_nobody_may_put_together_fails_and_is_done_again_from_there() {
    fn well(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [large("a"), task("b", &[])]})),
            "g/1/decompose[1]" => plan(20),
            "g/1/reconcile[1]" => done("a"),
            "g/classify[1]" => Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []})),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 9_000),
        }
    }
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        if id == "g/1/collect[1.0]" { Err(Class::Budget) } else { well(id, prompt) }
    }
    let plan = goal(", max_children: 30");
    let (ended, world) = run(&plan, 9, says);
    assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
    assert!(!launched(&world).iter().any(|id| id.contains("reconcile")));
    let mut second = World::resumed(plan, 9, world.commits.clone(), &world, model(well));
    let ended = second.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let again: Vec<String> = launched(&second);
    assert_eq!(again, ["g/1/collect[1.0]", "g/1/reconcile[1]", "g/finalise[1]"]);
}

#[test]
fn a_digest_without_words_is_no_digest() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(20),
            "g/finalise[1]" => {
                assert!(prompt.contains("Task 1 (`r1`): from g/1/execute[1]"), "{prompt}");
                final_words("done")
            }
            id if id.contains("collect") => Ok(json!({"digest": "  ", "issues": ""})),
            id => result(id, 20_000),
        }
    }
    let (ended, _) = run(&goal(""), 9, says);
    let issues = answer(&ended)["issues"].as_str().unwrap().to_owned();
    assert!(issues.contains("(it was empty): only heads were seen"), "{issues}");
}

#[test]
fn what_is_said_about_tasks_counts_when_they_are_put_together() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        assert!(prompt.len() < 300_000, "{id}: {}", prompt.len());
        let long = "s".repeat(380);
        match id {
            "g/plan[1]" => plan(600),
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            _ => Ok(json!({"result": "r", "summary": long, "goal_achieved": true, "reason": long})),
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 600"), 50, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(launched(&world).iter().any(|id| id.contains("collect")));
}

#[test]
fn tasks_without_results_are_listed_within_bounds_and_no_digest_is_made_of_them() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        assert!(prompt.len() < 160_000, "{id}: {}", prompt.len());
        let after_first = |n: usize| {
            let mut task = task(&n.to_string(), if n == 1 { &[] } else { &["1"] });
            task["description"] = json!(format!("{n} {}", "d".repeat(390)));
            task
        };
        match id {
            "g/plan[1]" => Ok(json!({"tasks": (1..=720).map(after_first).collect::<Vec<_>>()})),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            "g/finalise[1]" => final_words("nothing was done"),
            "g/1/execute[1]" => Err(Class::Fatal),
            id => panic!("{id} is not asked"),
        }
    }
    let (ended, _) = run(&goal(", max_tasks: 720, policies: {any: [fail]}"), 50, says);
    assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
}

fn by_programs(role: &str) -> Arc<convoke_plan::Plan> {
    let text = format!(
        "
workflow: {{name: w, entry_point: g, runtime: {{provider: scripted}}}}
agents:
  - {{name: g, type: goal, goal: 'write the report', roles: {{{role}: {{provider: {{name: cli, command: agent}}}}}}}}
output: {{answer: '{{{{ g.output | json }}}}'}}
"
    );
    plan_of(&text, &[])
}

#[test]
fn who_cannot_read_on_is_given_digests_of_what_would_be_cut() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => plan(2),
            "g/finalise[1]" => {
                assert!(!prompt.contains("more characters") && prompt.contains("digest of"), "{prompt}");
                final_words("done")
            }
            id if id.contains("collect") => digest(id),
            id => result(id, 100_000),
        }
    }
    let (ended, _) = run(&by_programs("finalise"), 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

#[test]
fn inputs_that_are_cut_for_who_cannot_read_on_are_said() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &[]), task("c", &["a", "b"])]})),
            "g/3/execute[1]" => {
                assert!(prompt.contains("more characters]"), "{}", prompt.len());
                result(id, 10)
            }
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 100_000),
        }
    }
    let (_, world) = run(&by_programs("execute"), 9, says);
    let noted = world.events().find_map(|stamped| match &stamped.event {
        Event::Noted { task, code, message } if code == "inputs_in_part" => {
            Some((task.clone(), message.clone()))
        }
        _ => None,
    });
    let (task, message) = noted.expect("it is said");
    assert_eq!(task.map(|task| task.to_string()).as_deref(), Some("g/3"));
    assert!(message.contains("2 results are cut and cannot be read on, 0 are not shown"), "{message}");
}

#[test]
fn a_task_with_very_many_inputs_is_asked_within_bounds_and_told_how_many_it_does_not_see() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        assert!(prompt.len() < 160_000, "{id}: {}", prompt.len());
        match id {
            "g/plan[1]" => {
                let mut tasks: Vec<Value> = (1..=700).map(|n| task(&n.to_string(), &[])).collect();
                let all: Vec<String> = (1..=700).map(|n| n.to_string()).collect();
                tasks.push(task("all", &all.iter().map(String::as_str).collect::<Vec<_>>()));
                Ok(json!({ "tasks": tasks }))
            }
            "g/701/execute[1]" => {
                assert!(prompt.contains("further results that it builds on"), "{prompt}");
                result(id, 10)
            }
            "g/finalise[1]" => final_words("done"),
            id if id.contains("collect") => digest(id),
            id => result(id, 3_000),
        }
    }
    let (ended, world) = run(&goal(", max_tasks: 701"), 50, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(
        world
            .events()
            .any(|stamped| matches!(&stamped.event, Event::Noted { code, .. } if code == "inputs_in_part"))
    );
}
