//! The end says honestly what came of it, and what was cut off or left out can be taken up again.

use crate::goals::statuses;
use crate::support::goals::{answer, done, scripted, skipped, task};
use crate::support::model::Model;
use crate::support::process::until;
use crate::support::{Said, World};
use serde_json::{Value, json};

/// A goal with these tasks, and how it ended.
fn ended(tasks: &[Value], execute: &Value) -> (World, Said) {
    let mut replies = json!({
        "goal/plan": { "json": { "tasks": tasks } },
        "goal/classify": { "json": { "done": true, "reason": "nothing more helps", "tasks": [] } },
        "goal/finalise": { "json": answer("This is what there is.") },
    });
    if !execute.is_null() {
        replies["goal/execute"] = json!({ "json": execute });
    }
    let world = scripted(&replies, "[goal]\npolicies.any = [\"fail\"]\n");
    let said = world.convoke(&["goal", "do what you can"]);
    (world, said)
}

#[test]
fn the_end_says_honestly_what_came_of_it() {
    let (world, said) = ended(&[skipped("a", "no network"), skipped("b", "no key")], &Value::Null);
    assert_eq!(said.exits(1).json()["status"], "skipped_all");
    assert_eq!(world.status(), "skipped_all");
    let (world, said) = ended(&[task("a", "possible", &[]), skipped("b", "no key")], &done("1"));
    let output = said.exits(1).json();
    assert_eq!((&output["status"], &output["tasks"][1]["reason"]), (&json!("partial"), &json!("no key")));
    assert_eq!(world.status(), "partial");
    let lost = json!({ "result": "", "summary": "", "goal_achieved": false, "reason": "the file is gone" });
    let (world, said) = ended(&[task("a", "possible", &[])], &lost);
    said.exits(1).mentions(&["the goal was not achieved", "the file is gone"]);
    assert_eq!(world.status(), "failed");
}

#[test]
fn a_partial_goal_may_count_as_a_success() {
    let world = scripted(
        &json!({
            "goal/plan": { "json": { "tasks": [task("a", "possible", &[]), skipped("b", "no key")] } },
            "goal/execute": { "json": done("1") },
            "goal/classify": { "json": { "done": true, "reason": "enough", "tasks": [] } },
            "goal/finalise": { "json": answer("Half of it.") },
        }),
        "",
    );
    let said = world.convoke(&["goal", "x", "--allow-partial", "--format", "text"]).exits(0);
    assert!(
        said.stdout.starts_with("Half of it.\n") && said.stdout.contains("impossible b (skipped): no key"),
        "{said}"
    );
}

#[test]
fn a_goal_that_was_reached_in_part_is_resumed_to_have_the_rest_done() {
    for (tasks, status) in [
        (vec![task("a", "possible", &[]), skipped("b", "no key")], "partial"),
        (vec![skipped("a", "no key"), task("b", "more", &["a"])], "skipped_all"),
    ] {
        let (world, said) = ended(&tasks, &done("1"));
        said.exits(1).mentions(&[&format!("convoke resume {}", world.run())]);
        assert_eq!(world.status(), status);
        let output = world.convoke(&["resume", &world.run()]).exits(0).json();
        assert_eq!(statuses(&output), ["succeeded", "succeeded"]);
        assert_eq!((&output["status"], world.status().as_str()), (&json!("succeeded"), "succeeded"));
    }
}

/// A workflow with goals, each of which comes to what its words say.
fn goals_in(steps: &str) -> World {
    let world = World::with_workflow(&format!(
        "workflow:
  name: w
  entry_point: first
  runtime: {{provider: {{name: scripted, file: replies.yaml}}}}
{steps}
  - {{name: after, type: set, value: done}}
output: {{said: it went on}}
"
    ));
    let gone = json!({ "result": "", "summary": "", "goal_achieved": false, "reason": "it is gone" });
    let replies = json!({
        "first/plan": { "json": { "tasks": [task("a", "look", &[])] } },
        "first/execute": { "json": gone },
        "each/plan": { "json": { "tasks": [task("a", "look", &[])] } },
        "each/execute": [{ "json": gone }, { "json": done("1") }, { "json": done("2") }],
        "each/finalise": { "json": answer("Found.") },
        "bad/plan": { "json": { "tasks": [task("a", "look", &[])] } },
        "bad/execute": { "json": gone },
        "good/plan": { "json": { "tasks": [task("a", "look", &[])] } },
        "good/execute": { "json": done("1") },
        "good/finalise": { "json": answer("Found.") },
        "skips/plan": { "json": { "tasks": [skipped("a", "no key")] } },
        "skips/classify": { "json": { "done": true, "goal_achieved": false, "reason": "no key", "tasks": [] } },
        "skips/finalise": { "json": answer("Nothing was done.") },
    });
    world.write("replies.yaml", json!({ "replies": replies }).to_string());
    world
}

#[test]
fn a_run_with_a_goal_that_was_not_reached_is_no_success() {
    let goal = "type: goal, goal: find it, policies: {any: [fail]}";
    let caught = goals_in(&format!("agents:\n  - {{name: first, {goal}, on_error: [{{to: after}}]}}"));
    caught.convoke(&["run", "w.yaml"]).exits(1);
    assert_eq!(caught.status(), "partial");
    caught.convoke(&["run", "w.yaml", "--allow-partial"]).exits(1);
    let skipped = goals_in(
        "agents:\n  - {name: first, type: set, value: x, routes: [{to: skips}]}\n  - {name: skips, type: goal, goal: find it, routes: [{to: after}]}",
    );
    for flags in [&["run", "w.yaml"][..], &["run", "w.yaml", "--allow-partial"]] {
        skipped.convoke(flags).exits(1);
        assert_eq!(
            skipped.convoke(&["show", &skipped.runs()[0], "--format", "json"]).json()["status"],
            "skipped_all"
        );
    }
}

/// One goal that was reached, or left everything out, does not excuse another that failed.
#[test]
fn no_other_goal_excuses_one_that_was_not_reached() {
    let goal = "type: goal, goal: find it, policies: {any: [fail]}";
    let failed_and_skipped = format!(
        "agents:
  - {{name: first, {goal}, on_error: [{{to: skips}}]}}
  - {{name: skips, type: goal, goal: find it, routes: [{{to: after}}]}}"
    );
    let side_by_side = format!(
        "parallel:
  - {{name: both, agents: [bad, good], failure_mode: continue_on_error, routes: [{{to: after}}]}}
agents:
  - {{name: first, type: set, value: x, routes: [{{to: both}}]}}
  - {{name: bad, {goal}}}
  - {{name: good, {goal}}}"
    );
    let of_a_list = format!(
        "  input: {{list: {{type: array, default: [1, 2]}}}}
for_each:
  - name: all
    type: for_each
    source: workflow.input.list
    as: one
    max_concurrent: 1
    failure_mode: continue_on_error
    agent: {{name: each, {goal}}}
    routes: [{{to: after}}]
agents:
  - {{name: first, type: set, value: x, routes: [{{to: all}}]}}"
    );
    for (steps, why) in [
        (&failed_and_skipped, "`first`: the goal was not achieved: task 1: "),
        (&side_by_side, "step `both/bad` failed (see above)"),
        (&of_a_list, "the goal was not achieved: task 1 (see above)"),
    ] {
        let world = goals_in(steps);
        world.convoke(&["run", "w.yaml", "--allow-partial"]).exits(1).mentions(&[why, "it is gone"]);
        assert_eq!(world.status(), "partial", "{why}");
    }
}

/// `reason` beside `status` says why the status is not better; the answer stays in `message`.
#[test]
fn the_reason_of_a_goal_that_did_not_succeed_is_not_the_answers_word() {
    let reason = |tasks: &[Value], execute: &Value| {
        let (_, said) = ended(tasks, execute);
        let output = said.exits(1).json();
        assert_eq!(output["message"], "This is what there is.");
        output["reason"].as_str().unwrap_or_default().to_owned()
    };
    let gone = json!({ "result": "", "summary": "", "goal_achieved": false, "reason": "the file is gone" });
    let failed = reason(&[task("a", "possible", &[])], &gone);
    assert_eq!(failed, "the goal was not achieved: task 1: its aim was not reached: the file is gone");
    let all = reason(&[skipped("a", "no network"), skipped("b", "no key")], &Value::Null);
    assert_eq!(all, "every task was skipped: task 1 is skipped: no network");
    let some = reason(&[task("a", "possible", &[]), skipped("b", "no key")], &done("1"));
    assert_eq!(some, "task 2 is skipped: no key");
}

/// A report of many pages is an answer; and where there is none, what was done is not lost with it.
#[test]
fn a_long_answer_is_given_and_without_one_the_tasks_are() {
    let replies = |message: &str| {
        json!({
            "goal/plan": { "json": { "tasks": [task("a", "look", &[])] } },
            "goal/execute": { "json": done("1") },
            "goal/finalise": { "json": answer(message) },
        })
    };
    let report = "Five pages. ".repeat(4_000).trim().to_owned();
    let output = scripted(&replies(&report), "").convoke(&["goal", "x"]).exits(0).json();
    assert_eq!(output["message"], report.as_str());
    let said = scripted(&replies(&report.repeat(3)), "").convoke(&["goal", "x"]).exits(1);
    let output = said.mentions(&["there is no answer"]).json();
    assert_eq!((&output["status"], statuses(&output)), (&json!("partial"), vec!["succeeded"]));
    let words = |key: &str| output[key].as_str().unwrap_or_default().to_owned();
    assert!(words("message").starts_with("No answer could be put together. The results"), "{output}");
    assert!(words("reason").starts_with("the tasks were done, but there is no answer"), "{output}");
}

#[test]
fn a_goal_that_was_killed_goes_on_and_gives_the_same_answer() {
    let model = Model::answering(|request| {
        let text = request["messages"].to_string();
        let reply = match () {
            () if text.contains("Make a plan") => json!({ "tasks": (1..=4).map(|n| {
                task(&n.to_string(), &format!("piece {n}"), if n == 4 { &["1", "2", "3"] } else { &[] })
            }).collect::<Vec<_>>() }),
            () if text.contains("Answer the person") => answer("Four pieces."),
            () => done("a piece"),
        };
        json!({ "say": reply.to_string(), "delay_ms": 200 })
    });
    let world = World::new();
    let provider =
        format!("[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("{provider}model = \"m\"\n"));
    let mut process = world.start(&["goal", "four pieces"]);
    until("tasks are done", || model.asked().len() >= 3);
    process.kill();
    let output = world.convoke(&["resume", &world.run()]).exits(0).json();
    assert_eq!((&output["message"], statuses(&output)), (&json!("Four pieces."), vec!["succeeded"; 4]));
    let plans = model.asked().iter().filter(|asked| asked.text.contains("Make a plan")).count();
    assert_eq!(plans, 1, "what was planned is not planned again");
}

#[test]
fn an_answer_that_nobody_gave_does_not_contradict_itself() {
    let world = World::new();
    let plan = "- {id: a, description: possible}\n- {id: b, description: not, skip_probability: 95, skip_reason: no key}\n";
    world.write("plan.yaml", plan);
    let output =
        world.convoke(&["goal", "do what you can", "-p", "scripted", "--plan", "plan.yaml"]).exits(1).json();
    assert_eq!((&output["status"], statuses(&output)), (&json!("partial"), vec!["succeeded", "skipped"]));
    assert_eq!(output["usage"]["calls"], 3, "one task, one look at what is missing, the answer");
}
