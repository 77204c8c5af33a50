//! Goals that were reached in part or not at all, and are resumed to have the rest done.

use crate::goals::kit::*;
use convoke_model::{Class, RunStatus};
use convoke_plan::Plan;
use convoke_testkit::{World, plan_of};
use serde_json::{Value, json};
use std::sync::Arc;

/// The first run, and what the second launches; the second succeeds.
pub fn resumed(plan: &Arc<Plan>, first: Says, second: Says, status: RunStatus) -> Vec<String> {
    let (ended, before) = run(plan, 4, first);
    assert_eq!(ended.status, status, "{ended:?}");
    let mut again = World::resumed(plan.clone(), 4, before.commits.clone(), &before, model(second));
    let ended = again.finish();
    assert_eq!((ended.status, again.running()), (RunStatus::Succeeded, 0), "{ended:?}");
    assert!(!ended.output.unwrap().to_string().contains("skipped"));
    launched(&again)
}

fn nothing_more() -> Result<Value, Class> {
    Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []}))
}

pub fn half(id: &str, _: &str) -> Result<Value, Class> {
    match id.split_once('/').expect("a role").1 {
        "plan[1]" => {
            Ok(json!({"tasks": [task("a", &[]), impossible("b"), task("c", &["b"]), task("d", &["a"])]}))
        }
        "classify[1]" => nothing_more(),
        "finalise[1]" => final_words("this is what there is"),
        _ => done("it"),
    }
}

fn none(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({"tasks": [impossible("a"), task("b", &["a"])]})),
        id => half(id, prompt),
    }
}

#[test]
fn what_was_skipped_is_tried_with_what_needs_it_and_the_answer_is_given_again() {
    let rest = ["g/2/execute[1]", "g/3/execute[1]", "g/finalise[1]"];
    assert_eq!(resumed(&goal(""), half, half, RunStatus::Partial), rest);
    let all = ["g/1/execute[1]", "g/2/execute[1]", "g/finalise[1]"];
    assert_eq!(resumed(&goal(""), none, none, RunStatus::SkippedAll), all);
}

#[test]
fn what_was_accepted_as_failed_is_tried_with_everything_that_was_made_without_it() {
    fn says(id: &str, second: Result<Value, Class>) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [large("a"), task("b", &["a"]), task("c", &[])]})),
            "g/1/decompose[1]" => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
            "g/1/2/execute[1]" => second,
            id => half(id, ""),
        }
    }
    fn lacking(id: &str, _: &str) -> Result<Value, Class> {
        says(id, Err(Class::Fatal))
    }
    fn whole(id: &str, _: &str) -> Result<Value, Class> {
        says(id, done("y"))
    }
    let rest = ["g/1/2/execute[1]", "g/1/reconcile[1]", "g/2/execute[1]", "g/finalise[1]"];
    assert_eq!(resumed(&goal(""), lacking, whole, RunStatus::Partial), rest);
}

#[test]
fn what_was_replaced_is_done_again_only_where_something_still_needs_it() {
    fn says(id: &str, needed: bool, broken: bool) -> Result<Value, Class> {
        let more = json!({"id": "d", "description": "do it otherwise", "inputs": [], "tools": [],
            "skip_probability": 0, "replaces": ["2"]});
        match id {
            "g/plan[1]" if needed => {
                Ok(json!({"tasks": [impossible("a"), task("b", &[]), task("c", &["b"])]}))
            }
            "g/plan[1]" => Ok(json!({"tasks": [impossible("a"), task("b", &[]), task("c", &[])]})),
            "g/2/execute[1]" if broken => Err(Class::Fatal),
            "g/classify[1]" => {
                Ok(json!({"done": false, "goal_achieved": false, "reason": "r", "tasks": [more]}))
            }
            "g/classify[2]" => nothing_more(),
            id => half(id, ""),
        }
    }
    fn alone(id: &str, _: &str) -> Result<Value, Class> {
        says(id, false, true)
    }
    fn alone_well(id: &str, _: &str) -> Result<Value, Class> {
        says(id, false, false)
    }
    fn needed(id: &str, _: &str) -> Result<Value, Class> {
        says(id, true, true)
    }
    fn needed_well(id: &str, _: &str) -> Result<Value, Class> {
        says(id, true, false)
    }
    let plan = goal(", policies: {any: [fail]}");
    let expected = ["g/1/execute[1]", "g/classify[2]", "g/finalise[1]"];
    assert_eq!(resumed(&plan, alone, alone_well, RunStatus::Partial), expected);
    let expected = ["g/1/execute[1]", "g/2/execute[1]", "g/3/execute[1]", "g/classify[2]", "g/finalise[1]"];
    assert_eq!(resumed(&plan, needed, needed_well, RunStatus::Partial), expected);
}

pub fn steps(entry: &str, text: &str) -> Arc<Plan> {
    plan_of(
        &format!("workflow: {{name: w, entry_point: {entry}, runtime: {{provider: scripted}}}}\n{text}"),
        &[],
    )
}

#[test]
fn what_follows_a_goal_follows_again() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        if id == "after" { Ok(json!({"text": "so"})) } else { half(id, prompt) }
    }
    let plan = steps(
        "g",
        "
agents:
  - {name: g, type: goal, goal: x, routes: [{to: after}]}
  - {name: after, prompt: '{{ g.output.message }}', output: {text: {type: string}}}
output: {answer: '{{ g.output | json }}', after: '{{ after.output.text }}'}
",
    );
    let rest = ["g/2/execute[1]", "g/3/execute[1]", "g/finalise[1]", "after"];
    assert_eq!(resumed(&plan, says, says, RunStatus::Partial), rest);
}

#[test]
fn of_many_goals_only_those_go_on_that_were_not_reached() {
    fn says(id: &str, broken: bool) -> Result<Value, Class> {
        match id {
            "g[1]/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g[2]/1/execute[1]" if broken => Err(Class::Fatal),
            "g[2]/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            id => half(id, ""),
        }
    }
    fn broken(id: &str, _: &str) -> Result<Value, Class> {
        says(id, true)
    }
    fn whole(id: &str, _: &str) -> Result<Value, Class> {
        says(id, false)
    }
    let plan = steps(
        "first",
        "
agents: [{name: first, type: set, values: {list: '[1, 2, 3]'}, routes: [{to: g}]}]
for_each:
  - name: g
    type: for_each
    source: first.output.list
    as: number
    failure_mode: continue_on_error
    agent: {name: each, type: goal, goal: 'x {{ number }}'}
output: {answer: '{{ g.outputs | json }}'}
",
    );
    let mut launched = resumed(&plan, broken, whole, RunStatus::Partial);
    launched.sort();
    let rest = [
        "g[0]/2/execute[1]",
        "g[0]/3/execute[1]",
        "g[0]/finalise[1]",
        "g[2]/1/execute[1]",
        "g[2]/finalise[1]",
    ];
    assert_eq!(launched, rest);
}

#[test]
fn a_goal_goes_on_inside_a_sub_workflow_and_behind_a_route_for_errors() {
    fn says(id: &str, broken: bool) -> Result<Value, Class> {
        match id.trim_start_matches("sub/") {
            "before" | "after" | "instead" => Ok(json!({"text": "so"})),
            "h/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "h/1/execute[1]" if broken => Err(Class::Fatal),
            id => half(id, ""),
        }
    }
    fn broken(id: &str, _: &str) -> Result<Value, Class> {
        says(id, true)
    }
    fn whole(id: &str, _: &str) -> Result<Value, Class> {
        says(id, false)
    }
    let child = "
workflow: {name: child, entry_point: before}
agents:
  - {name: before, prompt: x, output: {text: {type: string}}, routes: [{to: g}]}
  - {name: g, type: goal, goal: x}
output: {said: '{{ g.output.message }}'}
";
    let text = "
workflow: {name: w, entry_point: sub, runtime: {provider: scripted}}
agents:
  - {name: sub, type: workflow, workflow: child.yaml, routes: [{to: after}]}
  - {name: after, prompt: '{{ sub.output.said }}', output: {text: {type: string}}, routes: [{to: h}]}
  - {name: h, type: goal, goal: x, on_error: [{to: instead}]}
  - {name: instead, prompt: x, output: {text: {type: string}}}
output: {answer: '{{ sub.output.said }}'}
";
    let plan = plan_of(text, &[("child.yaml", child)]);
    let rest = [
        "sub/g/2/execute[1]",
        "sub/g/3/execute[1]",
        "sub/g/finalise[1]",
        "after",
        "h/plan[1]",
        "h/1/execute[1]",
        "h/finalise[1]",
    ];
    assert_eq!(resumed(&plan, broken, whole, RunStatus::Partial), rest);
}

#[test]
fn a_goal_that_a_loop_reached_in_the_end_was_reached() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g#2/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            id => half(id, prompt),
        }
    }
    let plan = goal(", routes: [{to: g, when: \"output.status != 'succeeded'\"}, {to: $end}]");
    let (ended, world) = run(&plan, 4, says);
    assert!(launched(&world).contains(&"g#2/finalise[1]".to_owned()));
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}

#[test]
fn what_became_of_a_goal_in_an_attempt_that_was_made_again_does_not_count() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "sub/g/plan[1]" | "sub/g#2/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "sub/g/1/execute[1]" => Err(Class::Transient),
            id if id.ends_with("finalise[1]") => final_words("done"),
            id => half(id.strip_prefix("sub/").unwrap_or(id), prompt),
        }
    }
    let text = "
workflow: {name: w, entry_point: sub, runtime: {provider: scripted}}
agents:
  - {name: sub, type: workflow, workflow: ./sub.yaml, retry: {max_attempts: 2, delay_seconds: 0}}
output: {answer: '{{ sub.output | json }}'}
";
    let sub = "
workflow: {name: sub, entry_point: g, runtime: {provider: scripted}}
agents:
  - {name: g, type: goal, goal: x, policies: {any: [fail]}, retry: {max_attempts: 1}, max_rounds: 1}
output: {answer: '{{ g.output | json }}'}
";
    let (ended, world) = run(&plan_of(text, &[("sub.yaml", sub)]), 4, says);
    assert!(
        launched(&world).iter().any(|task| task.starts_with("sub/g#2/1/execute")),
        "{:?}",
        launched(&world)
    );
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
}
