//! Goals that ended early and go on.

use crate::goals::kit::*;
use convoke_model::{Answer, Class, Event, RunStatus};
use convoke_testkit::World;
use serde_json::{Value, json};
use std::collections::HashSet;

#[test]
fn a_timeout_stops_everything_below_and_nothing_goes_on_behind_it() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"]), task("c", &["b"])]})),
            _ => done("it"),
        }
    }
    let (ended, world) = run(&goal(", timeout: 0.12"), 4, says);
    assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
    assert_eq!((world.running(), ended.failure.unwrap().class), (0, Class::Timeout));
    let open: Vec<_> = launched(&world);
    assert!(!open.iter().any(|task| task.contains("finalise")), "{open:?}");
}

#[test]
fn a_goal_that_failed_goes_on_where_it_failed() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &[]), task("c", &["b"])]})),
            "g/2/execute[1]" => Err(Class::Fatal),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            "g/finalise[1]" => final_words("something is missing"),
            _ => done("it"),
        }
    }
    fn better(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/2/execute[1]" => done("b"),
            "g/finalise[1]" => final_words("all is there"),
            id => says(id, prompt),
        }
    }
    let plan = goal("");
    let (failed, first) = run(&plan, 4, says);
    assert_eq!(failed.status, RunStatus::Failed, "{failed:?}");
    let mut second = World::resumed(plan, 4, first.commits.clone(), &first, model(better));
    let ended = second.finish();
    assert_eq!(
        (ended.status, &answer(&ended)["message"]),
        (RunStatus::Succeeded, &json!("all is there")),
        "{ended:?}"
    );
    assert_eq!(launched(&second), ["g/2/execute[1]", "g/3/execute[1]", "g/finalise[1]"]);
}

/// One task is done by two children; what becomes of the second, and of putting them together, differs.
fn parts(id: &str, second: Result<Value, Class>, whole: Result<Value, Class>) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({"tasks": [large("a"), task("b", &["a"])]})),
        "g/1/decompose[1]" => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
        "g/1/2/execute[1]" | "g/1/2/execute[2]" => second,
        "g/1/reconcile[1]" | "g/1/reconcile[2]" => whole,
        "g/classify[1]" => Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []})),
        "g/finalise[1]" => final_words("done"),
        _ => done("it"),
    }
}

#[test]
fn of_a_task_with_children_what_succeeded_stays_and_everything_after_it_is_done_again() {
    fn neither(id: &str, _: &str) -> Result<Value, Class> {
        parts(id, Err(Class::Fatal), undone())
    }
    fn together(id: &str, _: &str) -> Result<Value, Class> {
        parts(id, done("y"), undone())
    }
    fn well(id: &str, _: &str) -> Result<Value, Class> {
        parts(id, done("y"), done("a"))
    }
    let again = ["g/1/reconcile[1]", "g/2/execute[1]", "g/finalise[1]"];
    let with_child = [&["g/1/2/execute[1]"][..], &again].concat();
    for (policy, says, expected) in [
        ("[fail]", neither as Says, &with_child[..]),
        ("[fail]", together, &again),
        ("[repair_parameters, fail]", neither, &with_child),
        ("[repair_parameters, fail]", together, &again),
    ] {
        let plan = goal(&format!(", policies: {{any: {policy}}}"));
        let (failed, first) = run(&plan, 4, says);
        assert_eq!(failed.status, RunStatus::Failed, "{failed:?}");
        let mut second = World::resumed(plan, 4, first.commits.clone(), &first, model(well));
        let ended = second.finish();
        assert_eq!((ended.status, second.running()), (RunStatus::Succeeded, 0), "{policy} {ended:?}");
        assert_eq!(launched(&second), expected, "{policy}");
    }
}

#[test]
fn a_plan_that_a_person_refused_is_shown_again_and_not_made_again() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/finalise[1]" => final_words("done"),
            _ => done("it"),
        }
    }
    let plan = goal(", approve: true");
    let mut refused = World::new(plan.clone(), json!({}), 4, 1, model(says));
    refused.answers.insert("g".into(), Answer::Fail);
    assert_eq!(refused.finish().status, RunStatus::Failed);
    let mut again = World::resumed(plan.clone(), 4, refused.commits.clone(), &refused, model(says));
    assert_eq!((again.finish().status, again.launches.len()), (RunStatus::Parked, 0));
    let mut approved = World::resumed(plan, 4, refused.commits.clone(), &refused, model(says));
    approved.answers.insert("g".into(), Answer::Plan { plan: "- description: do it\n".into() });
    assert_eq!(approved.finish().status, RunStatus::Succeeded);
    assert_eq!(launched(&approved), ["g/1/execute[1]", "g/finalise[1]"]);
}

#[test]
fn a_goal_that_was_stopped_goes_on_without_doing_anything_twice() {
    let plan = goal(DECOMPOSE);
    let (whole, _) = run(&plan, 2, report);
    for commits in 3..14 {
        let mut first = World::new(plan.clone(), json!({}), 2, 1, model(report));
        if first.run(commits).is_some() {
            break;
        }
        first.stop(true);
        let done: HashSet<String> = first
            .events()
            .filter_map(|stamped| match &stamped.event {
                Event::AttemptFinished { task, .. } => Some(task.to_string()),
                _ => None,
            })
            .collect();
        let mut second = World::resumed(plan.clone(), 2, first.commits.clone(), &first, model(report));
        let ended = second.finish();
        assert_eq!((ended.status, &ended.output), (whole.status, &whole.output), "stopped after {commits}");
        let twice: Vec<_> = launched(&second).into_iter().filter(|task| done.contains(task)).collect();
        assert!(twice.is_empty(), "stopped after {commits}: {twice:?}");
    }
}
