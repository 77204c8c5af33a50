//! Goals side by side, each of which waits for people on its way: places are kept, and wherever the run is killed the
//! same comes of it.

use crate::goals::kit::*;
use convoke_model::{Answer, Class, Event, RunStatus, TaskId};
use convoke_plan::Plan;
use convoke_testkit::{Ended, World, plan_of};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

fn for_each(most: u32, more: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, entry_point: first, runtime: {{provider: scripted}}}}
agents: [{{name: first, type: set, values: {{list: '[1, 2, 3]'}}, routes: [{{to: g}}]}}]
for_each:
  - name: g
    type: for_each
    source: first.output.list
    as: number
    max_concurrent: {most}
    failure_mode: continue_on_error
    agent: {{name: each, type: goal, goal: 'x {{{{ number }}}}'{more}}}
output: {{answer: '{{{{ g.outputs | json }}}}'}}
"
    );
    plan_of(&text, &[])
}

/// One task after the other, of which the second needs a person's word.
fn says(id: &str, _: &str) -> Result<Value, Class> {
    match id.split_once('/').expect("a role").1 {
        "plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])]})),
        "2/execute[1]" => Err(Class::Permission),
        "classify[1]" => Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []})),
        "finalise[1]" => final_words("done"),
        _ => done("it"),
    }
}

const ESCALATE: &str = ", policies: {any: [escalate, fail]}";

fn whole(plan: &Arc<Plan>, answer: &Answer) -> (Ended, World) {
    let mut world = World::new(plan.clone(), json!({}), 9, 1, model(says));
    (finish(&mut world, answer), world)
}

/// How many of the goals were open at once, at most.
fn most_open(world: &World) -> usize {
    let is_goal = |task: &TaskId| task.depth() == 0 && task.0.contains('[');
    let (mut open, mut most): (HashSet<TaskId>, usize) = (HashSet::new(), 0);
    for stamped in world.events() {
        match &stamped.event {
            Event::TaskStarted { task, .. } | Event::TaskWoken { task } if is_goal(task) => {
                open.insert(task.clone());
            }
            Event::GateOpened { task, .. }
            | Event::TaskSucceeded { task, .. }
            | Event::TaskFailed { task, .. } => {
                open.remove(task);
            }
            _ => {}
        }
        most = most.max(open.len());
    }
    most
}

#[test]
fn a_goal_that_waited_for_a_person_waits_for_its_place_too() {
    let plan = for_each(1, ", approve: true");
    let approve = Answer::Plan { plan: "- description: do it\n".into() };
    let mut world = World::new(plan, json!({}), 9, 1, model(says));
    // All of them have asked before the first is answered.
    assert_eq!(world.finish().status, RunStatus::Parked);
    let ended = finish(&mut world, &approve);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!((world.peak, world.launches.len()), (1, 9), "one after the other");
}

/// Kills the run after every commit: the same follows, and nothing that was done is done again.
fn killed_everywhere(plan: &Arc<Plan>, answer: &Answer) {
    let (expected, whole) = whole(plan, answer);
    for cut in 1..whole.commits.len() {
        let left = whole.commits[..cut].to_vec();
        let done: HashSet<TaskId> = left
            .iter()
            .flatten()
            .filter_map(|stamped| match &stamped.event {
                Event::AttemptFinished { task, .. } => Some(task.clone()),
                _ => None,
            })
            .collect();
        let mut again = World::resumed(plan.clone(), 9, left, &whole, model(says));
        let ended = finish(&mut again, answer);
        assert_eq!(ended.status, expected.status, "cut after {cut}");
        // The reason of a run that failed names the failure that came first, and what was cut off may fail in another order.
        if expected.status != RunStatus::Failed {
            assert_eq!(ended.output, expected.output, "cut after {cut}");
        }
        assert_eq!(again.running(), 0, "cut after {cut}");
        let twice = again.launches.iter().find(|(task, _)| done.contains(task));
        assert_eq!(twice, None, "cut after {cut}: done twice");
    }
}

#[test]
fn goals_of_a_for_each_are_the_same_wherever_they_were_killed() {
    for most in [1, 2, 3] {
        for answer in [Answer::Retry, Answer::Fail] {
            let plan = for_each(most, ESCALATE);
            let (ended, world) = whole(&plan, &answer);
            let expected = if answer == Answer::Retry { RunStatus::Succeeded } else { RunStatus::Failed };
            assert_eq!(ended.status, expected, "{ended:?}");
            assert!(most_open(&world) <= most as usize, "{} are open", most_open(&world));
            killed_everywhere(&plan, &answer);
        }
        let approve = Answer::Plan { plan: "- description: do it\n".into() };
        killed_everywhere(&for_each(most, ", approve: true"), &approve);
    }
}

/// Stops the run after every commit, answered or not, and resumes it.
fn stopped_everywhere(plan: &Arc<Plan>, answer: &Answer) {
    let (expected, all) = whole(plan, answer);
    for commits in 3..all.commits.len() {
        let mut first = World::new(plan.clone(), json!({}), 9, 1, model(says));
        if commits % 3 > 0 {
            first.answers.insert("*".into(), answer.clone());
        }
        if first.run(commits).is_none() {
            first.stop(commits % 2 == 0);
        }
        let mut second = World::resumed(plan.clone(), 9, first.commits.clone(), &first, model(says));
        let ended = finish(&mut second, answer);
        let what = format!("stopped after {commits}:\n{}", log(&second));
        assert_eq!((ended.status, &ended.output), (expected.status, &expected.output), "{what}");
        assert_eq!(second.running(), 0, "{what}");
    }
}

#[test]
fn stopped_goals_of_a_for_each_ask_again_and_go_on() {
    let approve = Answer::Plan { plan: "- description: do it\n".into() };
    for most in [1, 2] {
        stopped_everywhere(&for_each(most, ESCALATE), &Answer::Retry);
        stopped_everywhere(&for_each(most, ", approve: true"), &approve);
    }
}
