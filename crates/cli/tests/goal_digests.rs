//! A goal with more results than one question can take, as people run it.

use crate::support;

use serde_json::{Value, json};
use support::World;
use support::goals::{answer, done, scripted, task};

const TASKS: usize = 20;

/// A result of nine thousand characters that no other task has.
fn long(number: usize) -> String {
    format!("<result {number}> {}", "x".repeat(9_000))
}

fn replies(digests: &Value) -> Value {
    let tasks: Vec<Value> = (1..=TASKS).map(|n| task(&n.to_string(), &format!("do {n}"), &[])).collect();
    let results: Vec<Value> = (1..=TASKS).map(|n| json!({ "json": done(&long(n)) })).collect();
    json!({
        "goal/plan": { "json": { "tasks": tasks } },
        "goal/execute": results,
        "goal/collect": digests,
        "goal/finalise": { "json": answer("It is done.") },
    })
}

fn prompt_of(world: &World, task: &str) -> String {
    let shown = world.convoke(&["show", &world.run(), task, "--format", "json"]).exits(0).json();
    shown["asked"]["prompt"].as_str().unwrap_or_else(|| panic!("no prompt: {shown}")).to_owned()
}

#[test]
fn results_that_one_question_cannot_take_become_digests_and_the_answer_knows_every_task() {
    let digests = json!([
        { "json": { "digest": "first digest", "issues": "" } },
        { "json": { "digest": "second digest", "issues": "two contradict" } },
    ]);
    let world = scripted(&replies(&digests), "");
    let output = world.convoke(&["goal", "do all of it"]).exits(0).json();
    assert_eq!((&output["status"], &output["issues"]), (&json!("succeeded"), &json!("")));
    assert_eq!(
        output["usage"]["calls"],
        json!(1 + TASKS + 2 + 1),
        "a plan, the tasks, two digests, an answer"
    );
    let made = ["goal/collect[1.0]", "goal/collect[1.1]"].map(|digest| prompt_of(&world, digest));
    for number in 1..=TASKS {
        let seen = made.iter().filter(|prompt| prompt.contains(&long(number))).count();
        assert_eq!(seen, 1, "result {number} is in one group, whole");
    }
    let answered = prompt_of(&world, "goal/finalise[1]");
    assert!(answered.len() < 10_000, "{answered}");
    for part in ["first digest", "second digest", "two contradict", "20 tasks in all: 20 succeeded"] {
        assert!(answered.contains(part), "{part}: {answered}");
    }
    let (first, second) = ("### Task 1–13: what 13 tasks", "### Task 14–20: what 7 tasks");
    assert!(answered.contains(first) && answered.contains(second), "{answered}");
}

#[test]
fn a_digest_that_nobody_makes_is_told_with_the_answer() {
    let world = scripted(&replies(&json!([{ "fail": "fatal", "message": "no" }])), "");
    let output = world.convoke(&["goal", "do all of it"]).exits(1).json();
    assert_eq!(output["status"], "partial");
    let issues = output["issues"].as_str().expect("a text");
    for tasks in ["the tasks 1–13 could not be put together", "the tasks 14–20 could not be put together"]
    {
        assert!(issues.contains(tasks), "{issues}");
    }
    let answered = prompt_of(&world, "goal/finalise[1]");
    assert_eq!(answered.matches("<result ").count(), TASKS, "{answered}");
    assert!(answered.contains("Task 20 (`r20`): <result 20>"), "{answered}");
}
