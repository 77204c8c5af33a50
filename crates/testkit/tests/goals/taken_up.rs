//! What else is taken up when a run with goals goes on, and within which limits.

use crate::goals::in_part::{half, resumed, steps};
use crate::goals::kit::*;
use convoke_model::{Assignment, AttemptEnd, Class, JsonText, RunStatus, Usage};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World};
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn a_failed_run_takes_up_the_goals_that_were_reached_in_part() {
    fn says(id: &str, broken: bool) -> Result<Value, Class> {
        match id {
            "after" if broken => Err(Class::Fatal),
            "after" => Ok(json!({"text": "so"})),
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
        "g",
        "
agents:
  - {name: g, type: goal, goal: x, routes: [{to: after}]}
  - {name: after, prompt: '{{ g.output.message }}', output: {text: {type: string}}, retry: {max_attempts: 1}}
output: {answer: '{{ g.output | json }}', after: '{{ after.output.text }}'}
",
    );
    let rest = ["g/2/execute[1]", "g/3/execute[1]", "g/finalise[1]", "after"];
    assert_eq!(resumed(&plan, broken, whole, RunStatus::Failed), rest);
}

#[test]
fn a_stopped_run_leaves_the_goals_alone_that_had_ended() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        if id == "after" { Ok(json!({"text": "so"})) } else { half(id, prompt) }
    }
    let plan = steps(
        "g",
        "
agents:
  - {name: g, type: goal, goal: x, routes: [{to: after}]}
  - {name: after, prompt: '{{ g.output.message }}', output: {text: {type: string}}}
output: {after: '{{ after.output.text }}'}
",
    );
    let mut first = World::new(plan.clone(), json!({}), 4, 1, model(says));
    while !launched(&first).contains(&"after".to_owned()) {
        assert!(first.run(first.commits.len() + 1).is_none(), "it was to be stopped in its middle");
    }
    first.stop(true);
    let mut second = World::resumed(plan, 4, first.commits.clone(), &first, model(says));
    assert_eq!(second.finish().status, RunStatus::Partial);
    assert_eq!(launched(&second), ["after"]);
}

/// Three goals of which at most one goes on at a time, and none is reached at first.
fn one_by_one() -> Arc<Plan> {
    steps(
        "first",
        "
agents: [{name: first, type: set, values: {list: '[1, 2, 3]'}, routes: [{to: g}]}]
for_each:
  - name: g
    type: for_each
    source: first.output.list
    as: number
    max_concurrent: 1
    failure_mode: continue_on_error
    agent: {name: each, type: goal, goal: 'x {{ number }}', policies: {any: [fail]}, max_rounds: 1}
output: {answer: '{{ g.outputs | json }}'}
",
    )
}

/// The goals that were at work, in order: each stands once unless they took turns.
fn turns(world: &World) -> Vec<String> {
    let mut turns: Vec<String> =
        launched(world).iter().map(|id| id.split('/').next().unwrap().to_owned()).collect();
    turns.dedup();
    turns
}

#[test]
fn goals_that_go_on_keep_to_the_limit_of_their_group() {
    fn says(id: &str, broken: bool) -> Result<Value, Class> {
        match id.split_once('/').expect("a role").1 {
            "plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])]})),
            "2/execute[1]" if broken => Err(Class::Fatal),
            "finalise[1]" => final_words("so"),
            _ => done("it"),
        }
    }
    fn broken(id: &str, _: &str) -> Result<Value, Class> {
        says(id, true)
    }
    fn whole(id: &str, _: &str) -> Result<Value, Class> {
        says(id, false)
    }
    let plan = one_by_one();
    let (ended, first) = run(&plan, 4, broken);
    assert_eq!(
        (ended.status, turns(&first)),
        (RunStatus::Failed, vec!["g[0]".into(), "g[1]".into(), "g[2]".into()])
    );
    let mut second = World::resumed(plan.clone(), 4, first.commits.clone(), &first, model(whole));
    let expected = second.finish();
    assert_eq!((expected.status, second.peak), (RunStatus::Succeeded, 1));
    assert_eq!(turns(&second), ["g[0]", "g[1]", "g[2]"]);
    assert_eq!(second.launches.len(), 6, "the second task and the answer of each: {:?}", launched(&second));
    // Killed anywhere on the way, it goes on the same.
    for cut in first.commits.len() + 1..second.commits.len() {
        let mut third =
            World::resumed(plan.clone(), 4, second.commits[..cut].to_vec(), &second, model(whole));
        let ended = third.finish();
        assert_eq!(
            (ended.status, &ended.output, third.peak),
            (expected.status, &expected.output, 1),
            "cut after {cut}"
        );
    }
}

#[test]
fn what_was_used_before_a_goal_was_resumed_counts_as_used() {
    let script = |works: bool| {
        move |assignment: &Assignment| {
            let said = match &*assignment.task.0 {
                "g/1/execute[1]" if !works => undone(),
                id => half(id, ""),
            };
            let said = match &*assignment.task.0 {
                "g/plan[1]" => json!({"tasks": [task("a", &[])]}),
                _ => said.unwrap(),
            };
            let usage = Usage { calls: 1, input_tokens: 10, ..Usage::default() };
            let end = AttemptEnd::Finished { output: JsonText::of(&said), usage };
            Behaviour { takes: TICK, end }
        }
    };
    let plan = goal(", policies: {any: [fail]}, max_rounds: 1");
    let mut first = World::new(plan.clone(), json!({}), 4, 1, Box::new(script(false)));
    assert_eq!(first.finish().status, RunStatus::Failed);
    let mut second = World::resumed(plan, 4, first.commits.clone(), &first, Box::new(script(true)));
    let ended = second.finish();
    let calls = first.launches.len() + second.launches.len();
    assert_eq!((ended.status, calls), (RunStatus::Succeeded, 5), "{ended:?}");
    assert_eq!(answer(&ended)["usage"]["calls"], json!(5));
}
