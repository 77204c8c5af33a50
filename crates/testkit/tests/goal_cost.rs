//! What deciding about a goal costs grows with what happens to it, not with how many tasks it has.
//!
//! Counted, not timed: how many tasks were looked at, over all decisions and prompts.

use convoke_model::{Assignment, RunStatus, Work};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::time::Duration;

/// The inputs of a task by its number.
type Shape = fn(usize) -> Vec<usize>;

fn task(number: usize, inputs: &[usize]) -> Value {
    let inputs: Vec<String> = inputs.iter().map(usize::to_string).collect();
    json!({"id": number.to_string(), "description": format!("do {number}"), "inputs": inputs, "tools": [], "skip_probability": 0})
}

fn says(id: &str, tasks: usize, shape: Shape, fails: bool) -> Value {
    match id {
        "g/plan[1]" => json!({"tasks": (1..=tasks).map(|n| task(n, &shape(n))).collect::<Vec<_>>()}),
        "g/classify[1]" => json!({"done": true, "reason": "nothing helps", "tasks": []}),
        "g/finalise[1]" => {
            json!({"message": "done", "next_steps": "", "issues": "", "reason": "all is there"})
        }
        id if id.starts_with("g/collect") => json!({"digest": "d", "issues": ""}),
        "g/1/execute[1]" if fails => {
            json!({"result": null, "summary": "", "goal_achieved": false, "reason": "no"})
        }
        _ => json!({"result": "r", "summary": "s", "goal_achieved": true, "reason": "seen"}),
    }
}

/// How many tasks were looked at until a goal of so many had ended.
fn cost(tasks: usize, shape: Shape, fails: bool) -> u64 {
    let text = "
workflow: {name: w, entry_point: g, runtime: {provider: scripted}, limits: {max_tasks: 100000, max_iterations: 1000}}
agents:
  - {name: g, type: goal, goal: 'write the report', max_tasks: 10000, policies: {any: [fail]}}
output: {answer: '{{ g.output.status }}'}
";
    let script = move |assignment: &Assignment| {
        let Work::Agent(_) = &assignment.work else { panic!("only models are asked here") };
        Behaviour::gives(Duration::from_millis(10), says(&assignment.task.to_string(), tasks, shape, fails))
    };
    let mut world = World::new(plan_of(text, &[]), json!({}), 50, 1, Box::new(script));
    let expected = if fails { RunStatus::Failed } else { RunStatus::Succeeded };
    assert_eq!(world.finish().status, expected);
    world.looked_at()
}

fn grows_with_its_tasks(shape: Shape, fails: bool) {
    grows_from(150, shape, fails);
}

fn grows_from(tasks: usize, shape: Shape, fails: bool) {
    let (some, twice) = (cost(tasks, shape, fails), cost(2 * tasks, shape, fails));
    assert!(twice < some * 26 / 10, "{some} looks for {tasks} tasks, {twice} for twice as many");
}

#[test]
fn of_tasks_whose_results_become_digests() {
    grows_from(700, |_| Vec::new(), false);
}

#[test]
fn of_tasks_that_do_not_depend_on_one_another() {
    grows_with_its_tasks(|_| Vec::new(), false);
}

#[test]
fn of_tasks_in_a_row() {
    grows_with_its_tasks(|number| (1..number).skip(number.saturating_sub(2)).collect(), false);
}

#[test]
fn of_tasks_that_are_skipped_one_after_the_other() {
    grows_with_its_tasks(|number| (1..number).skip(number.saturating_sub(2)).collect(), true);
}

#[test]
fn of_many_tasks_that_one_needs() {
    grows_with_its_tasks(|number| if number == 1 { Vec::new() } else { vec![1] }, false);
}
