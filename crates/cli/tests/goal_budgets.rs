//! A goal that has spent what it may: it is told what to raise, by the name under which it was written, and goes on.

use crate::support;

use serde_json::json;
use support::World;
use support::goals::{answer, done, scripted, task, two_tasks};

/// How many calls were made, in all.
fn calls(world: &World) -> usize {
    let events = world.convoke(&["events", &world.runs()[0], "--format", "json"]).exits(0);
    events.stdout.lines().filter(|line| line.contains("\"attempt_started\"")).count()
}

#[test]
fn a_goal_whose_flag_is_spent_goes_on_with_another() {
    let world = scripted(&two_tasks(), "");
    let said = world.convoke(&["goal", "count {{ these }} for ${HOME}", "--budget", "900t"]).exits(4);
    let run = world.run();
    let hint = format!("convoke resume {run} --budget");
    let said = said.mentions(&["of its 900 tokens (--budget)", &hint]);
    assert!(!said.stderr.contains("limits.budget"), "{said}");
    world.convoke(&["resume", &run]).exits(4);
    world.convoke(&["resume", &run, "--budget", "90000t"]).exits(0);
    assert_eq!(calls(&world), 4, "nothing was asked twice");
    assert_eq!(world.run(), run);
}

#[test]
fn a_goal_that_its_budget_ended_gives_what_is_there() {
    let world = scripted(&two_tasks(), "");
    let said = world.convoke(&["goal", "count", "--budget", "900t"]).exits(4);
    assert!(!said.stderr.contains("missing in the output"), "{said}");
    let output = said.json();
    assert_eq!((&output["status"], output["tasks"].as_array().map(Vec::len)), (&json!("failed"), Some(2)));
    assert!(output["reason"].as_str().unwrap_or_default().contains("(--budget)"), "{output}");
    let output = world.convoke(&["resume", &world.run(), "--budget", "90000t"]).exits(0).json();
    assert_eq!((&output["status"], &output["message"]), (&json!("succeeded"), &json!("It is 42.")));
}

#[test]
fn a_budget_of_the_configuration_is_named_and_raised_there() {
    let world = scripted(&two_tasks(), "[goal]\nbudget_tokens = 900\n");
    let said = world.convoke(&["goal", "count"]).exits(4);
    let run = world.run();
    let hint = format!("convoke resume {run} --accept-changes");
    said.mentions(&["of its 900 tokens (goal.budget_tokens)", "raise goal.budget_tokens", &hint]);
    world.write("convoke.toml", world.read("convoke.toml").replace("900", "90000"));
    world.convoke(&["resume", &run, "--accept-changes"]).exits(0);
    assert_eq!(calls(&world), 4, "nothing was asked twice");
}

#[test]
fn what_a_flag_said_stands_over_the_configuration_when_it_is_resumed() {
    let world = scripted(&two_tasks(), "[goal]\nbudget_tokens = 90000\n");
    world.convoke(&["goal", "count", "--budget", "900t"]).exits(4).mentions(&["(--budget)"]);
    let run = world.run();
    world.convoke(&["resume", &run, "--accept-changes"]).exits(4);
    world.convoke(&["resume", &run, "--budget", "80000t"]).exits(0);
}

#[test]
fn bounds_of_a_goal_are_raised_when_it_is_resumed() {
    let replies = json!({
        "goal/plan": [{ "json": { "tasks": [task("a", "one", &[]), task("b", "two", &[])] } }],
        "goal/execute": { "json": done("1") },
        "goal/finalise": { "json": answer("Both.") },
    });
    let world = scripted(&replies, "");
    world.convoke(&["goal", "count", "--max-tasks", "1"]).exits(1);
    let run = world.run();
    world.convoke(&["resume", &run, "--max-tasks", "2"]).exits(0);
}

#[test]
fn what_a_file_says_is_changed_in_the_file() {
    let world = scripted(&two_tasks(), "");
    let made = world.convoke(&["goal", "count", "--budget", "900t", "--print-workflow"]).exits(0);
    world.write("w.yaml", &made.stdout);
    let said = world.convoke(&["run", "w.yaml"]).exits(4);
    let run = world.run();
    let hint = format!("convoke resume {run} --accept-changes");
    said.mentions(&["(limits.budget_tokens)", "raise limits.budget_tokens", &hint]);
    let said = world.convoke(&["resume", &run, "--budget", "90000t"]).exits(2);
    said.mentions(&["--budget", "`w.yaml`", "--accept-changes"]);
    world.write("w.yaml", made.stdout.replace("900", "90000"));
    world.convoke(&["resume", &run, "--accept-changes"]).exits(0);
}
