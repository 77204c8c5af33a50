//! Goals as people run them: a sentence, a plan that is looked at first, words on the way, tools that were approved, and
//! an end that says honestly what came of it.

use crate::support;
mod approval;
mod endings;
mod guidance;
mod tools;

use convoke_model::Role;
use serde_json::{Value, json};
use support::World;
use support::goals::{answer, done, scripted, task, two_tasks};

fn shown(world: &World) -> Value {
    world.convoke(&["show", &world.runs()[0], "--format", "json"]).exits(0).json()
}

fn prompt_of(world: &World, task: &str) -> String {
    let shown = world.convoke(&["show", &world.runs()[0], task, "--format", "json"]).exits(0).json();
    shown["asked"]["prompt"].as_str().unwrap_or_else(|| panic!("no prompt: {shown}")).to_owned()
}

fn statuses(output: &Value) -> Vec<&str> {
    output["tasks"].as_array().expect("tasks").iter().filter_map(|task| task["status"].as_str()).collect()
}

fn events(world: &World) -> String {
    match world.runs().first() {
        Some(run) => world.convoke(&["events", run, "--format", "json"]).stdout,
        None => String::new(),
    }
}

#[test]
fn a_goal_can_be_tried_without_a_model_and_without_replies() {
    let world = World::new();
    let said = world.convoke(&["goal", "What is twice the number of words?", "-p", "scripted"]).exits(0);
    let output = said.json();
    assert_eq!((&output["status"], statuses(&output)), (&json!("succeeded"), vec!["succeeded"; 3]));
    assert_eq!(output["usage"]["calls"], json!(5), "one call for each task, the plan and the answer");
    world.convoke(&["goal", "Only look", "-p", "scripted", "--plan-only"]).exits(0);
}

#[test]
fn a_sentence_becomes_tasks_and_an_answer_with_one_call_each() {
    let world = scripted(&two_tasks(), "");
    let said = world.convoke(&["goal", "What is twice the number of words?"]).exits(0);
    let output = said.json();
    assert_eq!((&output["message"], &output["status"]), (&json!("It is 42."), &json!("succeeded")));
    assert_eq!(statuses(&output), ["succeeded", "succeeded"]);
    let shown = shown(&world);
    assert_eq!(shown["usage"]["calls"], 4, "plan, two tasks, answer");
    let tasks: Vec<_> =
        shown["goals"][0]["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).collect();
    assert_eq!(tasks, ["goal/1", "goal/2"]);
    assert!(shown["goals"][0]["decisions"].as_array().unwrap().iter().all(|one| one["reason"] != ""));
    let prompt = prompt_of(&world, "goal/2/execute[1]");
    assert!(prompt.contains("double it") && prompt.contains("21"), "{prompt}");
    let text = world.convoke(&["show", &world.run()]).exits(0).stdout;
    assert!(text.contains("tasks of goal:") && text.contains("goal/1 count the words (succeeded)"), "{text}");
    assert!(text.contains("decisions of goal:"), "{text}");
}

#[test]
fn the_results_of_tasks_are_in_the_output_when_they_are_asked_for() {
    let world = scripted(&two_tasks(), "");
    let results = |flags: &[&str]| -> Vec<Value> {
        let output =
            world.convoke(&[&["goal", "What is twice the number of words?"], flags].concat()).exits(0).json();
        output["tasks"].as_array().expect("tasks").iter().map(|task| task["result"].clone()).collect()
    };
    assert_eq!(results(&["--results"]), [json!("21"), json!("42")]);
    assert_eq!(results(&[]), [Value::Null, Value::Null]);
}

#[test]
fn a_task_without_a_priority_comes_between_the_urgent_and_the_rest() {
    let with = |id: &str, priority: Option<u32>| {
        let mut one = task(id, &format!("do {id}"), &[]);
        one["priority"] = json!(priority);
        if priority.is_none() {
            one.as_object_mut().expect("a task").remove("priority");
        }
        one
    };
    let tasks = [with("late", Some(8)), with("middle", None), with("first", Some(2))];
    let replies = json!({
        "goal/plan": { "json": { "tasks": tasks } },
        "goal/execute": { "json": done("1") },
        "goal/finalise": { "json": answer("Done.") },
    });
    let world = scripted(&replies, "");
    world.convoke(&["goal", "do it", "--max-concurrency", "1"]).exits(0);
    let started: Vec<String> = events(&world)
        .lines()
        .filter(|line| line.contains("attempt_started") && line.contains("execute"))
        .map(|line| line.split("\"goal/").nth(1).expect("a task of the goal")[..1].to_owned())
        .collect();
    assert_eq!(started, ["3", "2", "1"]);
}

#[test]
fn a_task_that_is_split_into_itself_is_sent_back() {
    let mut large = task("a", "count all the words", &[]);
    large["estimated_tokens"] = json!(500_000);
    let itself = json!({ "tasks": [task("x", "Count all the words", &[]), task("y", "say so", &["x"])] });
    let parts = json!({ "tasks": [task("x", "count the verbs", &[]), task("y", "count the rest", &[])] });
    let replies = json!({
        "goal/plan": { "json": { "tasks": [large] } },
        "goal/decompose": [{ "json": itself }, { "json": parts }],
        "goal/execute": { "json": done("21") },
        "goal/reconcile": { "json": done("42") },
        "goal/finalise": { "json": answer("It is 42.") },
    });
    let world = scripted(&replies, "");
    world.convoke(&["goal", "count"]).exits(0);
    let shown = shown(&world);
    let again = prompt_of(&world, "goal/1/decompose[2]");
    assert!(again.contains("is task `1` itself"), "{again}");
    let decisions = shown["goals"][0]["decisions"].to_string();
    assert!(decisions.contains("count the verbs") || decisions.contains("goal/1"), "{decisions}");
}

#[test]
fn what_is_printed_runs_by_itself() {
    let settings = "[goal]\nmax_tasks = 7\nbackoff = \"2s\"\nspawn.seconds = 90\nretry.max_attempts = 2\n";
    let world = scripted(&two_tasks(), settings);
    let args =
        ["goal", "count {{ these }} for $5", "--context", "be brief", "--max-depth", "2", "--budget", "3"];
    let made = world.convoke(&[&args[..], &["--print-workflow"]].concat()).exits(0).stdout;
    let configured = ["max_tasks: 7", "backoff: \"2s\"", "seconds: 90", "max_attempts: 2"];
    for line in [&configured[..], &["max_depth: 2", "budget_usd: 3", "context: be brief"]].concat() {
        assert!(made.contains(line), "{line} in\n{made}");
    }
    world.write("w.yaml", &made);
    world.convoke(&["check", "w.yaml"]).exits(0);
    assert_eq!(world.convoke(&["run", "w.yaml"]).exits(0).json()["message"], "It is 42.");
    assert!(prompt_of(&world, "goal/plan[1]").contains("count {{ these }} for $5"));
}

#[test]
fn prompts_of_the_project_are_used_instead_of_ours() {
    let world = scripted(&two_tasks(), "");
    std::fs::create_dir_all(world.work().join(".convoke/prompts/goal")).unwrap();
    world.write(".convoke/prompts/goal/plan.md", "Plan {{ goal }} in my way. {{ tools | length }} tools.");
    world.convoke(&["goal", "count"]).exits(0);
    assert_eq!(prompt_of(&world, "goal/plan[1]").trim(), "Plan count in my way. 0 tools.");
    world.write(".convoke/prompts/goal/plan.md", "Plan {{ gaol }}.");
    world.convoke(&["goal", "count"]).exits(3).mentions(&["gaol"]);
}

/// Every role, in either folder; the project's stands over the user's.
#[test]
fn the_prompt_of_any_role_can_be_replaced_in_the_project_or_by_the_user() {
    let world = scripted(&two_tasks(), "");
    let folders = [
        world.work().with_file_name("home").join(".config/convoke/prompts/goal"),
        world.work().join(".convoke/prompts/goal"),
    ];
    for (folder, whose) in folders.iter().zip(["the user", "the project"]) {
        std::fs::create_dir_all(folder).unwrap();
        for role in Role::ALL {
            let words = format!("As {whose} wants {} done.", role.word());
            std::fs::write(folder.join(format!("{}.md", role.word())), words).unwrap();
        }
        let made = world.convoke(&["goal", "count", "--print-workflow"]).exits(0).stdout;
        for role in Role::ALL {
            let words = format!("As {whose} wants {} done.", role.word());
            assert!(made.contains(&words), "{words}\n{made}");
        }
    }
    world.convoke(&["goal", "count"]).exits(0);
    assert_eq!(prompt_of(&world, "goal/plan[1]").trim(), "As the project wants plan done.");
}

#[test]
fn a_goal_is_a_step_like_any_other() {
    let replies = json!({ "replies": {
        "work/plan": { "json": { "tasks": [task("a", "count", &[])] } },
        "work/execute": { "json": done("3") },
        "work/finalise": { "json": answer("Three.") },
    } });
    let world = World::with_workflow(
        "workflow:
  name: w
  entry_point: start
  runtime: {provider: {name: scripted, file: replies.yaml}}
agents:
  - {name: start, type: set, value: bees, routes: [{to: work}]}
  - {name: work, type: goal, goal: 'count {{ start.output }}', max_depth: 1}
output: {answer: '{{ work.output.message }}', status: '{{ work.output.status }}'}
",
    );
    world.write("replies.yaml", replies.to_string());
    let output = world.convoke(&["run", "w.yaml"]).exits(0).json();
    assert_eq!(output, json!({ "answer": "Three.", "status": "succeeded" }));
    assert!(prompt_of(&world, "work/plan[1]").contains("count bees"));
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_spent() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "  "]).exits(2).mentions(&["the goal is empty"]);
    world.convoke(&["goal", "x", "--yes", "--approve-plan"]).exits(2);
    world.convoke(&["goal", "x", "--budget", "much"]).exits(2);
    world.convoke(&["goal", "x", "--plan", "nowhere.yaml"]).exits(2).mentions(&["nowhere.yaml"]);
    world.write("w.yaml", "workflow: {name: w, entry_point: g}\nagents: [{name: g, type: goal, policies: {timeuot: [retry]}}]\n");
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&["no `goal`", "did you mean `timeout`"]);
    assert!(world.runs().is_empty());
}
