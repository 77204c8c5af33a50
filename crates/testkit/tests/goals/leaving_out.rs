//! A task that failed and is then left out: the recovery role says why, and the goal's result gives that reason.

use crate::goals::kit::*;
use convoke_model::{Cause, CauseKind, Class, Event, RunStatus};
use convoke_testkit::World;
use serde_json::{Value, json};

const SKIP: &str = ", policies: {any: [skip, fail]}";

fn judged(strategy: &str, reasoning: &str) -> Result<Value, Class> {
    Ok(json!({
        "strategy": strategy, "reasoning": reasoning, "confidence": "high", "success_probability": 0, "next_steps": "",
    }))
}

/// The first of these tasks fails, and this is said about it.
fn failing(id: &str, tasks: &[Value], judgement: Result<Value, Class>) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({ "tasks": tasks })),
        "g/1/execute[1]" => Err(Class::Fatal),
        id if id.starts_with("g/1/recover") => judgement,
        id if id.contains("classify") => {
            Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []}))
        }
        id if id.contains("finalise") => final_words("what there is"),
        _ => done("it"),
    }
}

fn skips(world: &World) -> Vec<Cause> {
    let cause = |event: &Event| match event {
        Event::TaskSkipped { cause, .. } => Some(cause.clone()),
        _ => None,
    };
    world.events().filter_map(|stamped| cause(&stamped.event)).collect()
}

#[test]
fn a_skip_is_judged_and_its_reason_is_shown() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        if id.contains("recover") {
            assert!(prompt.contains("`strategy` is one of: skip, fail."), "{prompt}");
        }
        failing(id, &[task("a", &[]), task("b", &[])], judged("skip", "the service was shut down in May"))
    }
    let (ended, world) = run(&goal(SKIP), 4, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let left_out = answer(&ended)["tasks"][0].clone();
    let reason = left_out["reason"].as_str().unwrap();
    assert!(reason.contains("simulated fatal") && reason.contains("shut down in May"), "{reason}");
    assert_eq!((&left_out["status"], skips(&world)[0].kind), (&json!("skipped"), CauseKind::GivenUp));
    resumes_everywhere(&goal(SKIP), 4, says);
}

#[test]
fn a_goal_of_which_nothing_but_a_failure_came_has_failed() {
    fn alone(id: &str, _: &str) -> Result<Value, Class> {
        failing(id, &[task("a", &[]), task("b", &["a"])], judged("skip", "it is gone"))
    }
    fn below(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/1/decompose[1]" => Ok(json!({"tasks": [task("x", &[]), impossible("y")]})),
            "g/1/1/execute[1]" => Err(Class::Fatal),
            "g/1/1/recover[1]" => judged("skip", "it is gone"),
            id => failing(id, &[large("a")], Err(Class::Fatal)),
        }
    }
    for says in [alone as Says, below] {
        let (ended, _) = run(&goal(SKIP), 4, says);
        let failure = ended.failure.clone().expect("it failed");
        assert_eq!((ended.status, failure.reason.as_deref()), (RunStatus::Failed, Some("goal_not_achieved")));
        assert!(failure.message.contains("task 1"), "{failure}");
        assert_eq!(answer(&ended)["status"], json!("failed"));
        resumes_everywhere(&goal(SKIP), 4, says);
    }
}

#[test]
fn without_a_reason_nothing_is_left_out() {
    fn silent(id: &str, _: &str) -> Result<Value, Class> {
        failing(id, &[task("a", &[]), task("b", &[])], judged("skip", ""))
    }
    fn empty(id: &str, _: &str) -> Result<Value, Class> {
        failing(id, &[task("a", &[]), task("b", &[])], judged("skip", "n/a"))
    }
    fn nobody(id: &str, _: &str) -> Result<Value, Class> {
        failing(id, &[task("a", &[]), task("b", &[])], Err(Class::Fatal))
    }
    fn against(id: &str, _: &str) -> Result<Value, Class> {
        failing(id, &[task("a", &[]), task("b", &[])], judged("fail", "it is needed"))
    }
    for (says, judgements) in [(silent as Says, 2), (empty, 2), (nobody, 1), (against, 1)] {
        let (ended, world) = run(&goal(SKIP), 4, says);
        assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
        assert!(skips(&world).is_empty());
        let asked = launched(&world).into_iter().filter(|task| task.contains("recover")).count();
        assert_eq!(asked, judgements);
    }
}

#[test]
fn what_was_left_out_is_done_when_the_goal_is_resumed() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        failing(id, &[task("a", &[]), task("b", &["a"]), task("c", &[])], judged("skip", "it is gone"))
    }
    fn well(id: &str, _: &str) -> Result<Value, Class> {
        if id == "g/1/execute[1]" { done("a") } else { says(id, "") }
    }
    let plan = goal(SKIP);
    let (ended, first) = run(&plan, 4, says);
    assert_eq!(ended.status, RunStatus::Partial, "{ended:?}");
    let mut second = World::resumed(plan, 4, first.commits.clone(), &first, model(well));
    assert_eq!(second.finish().status, RunStatus::Succeeded);
    assert_eq!(launched(&second), ["g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"]);
}
