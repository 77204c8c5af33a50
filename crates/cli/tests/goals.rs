//! Goals as people run them: a sentence, a plan that is looked at first, words on the way, tools that were approved, and
//! an end that says honestly what came of it.

mod support;

use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::goals::{answer, done, lift_the_barrier, scripted, skipped, task, two_tasks, with_a_barrier};
use support::model::Model;
use support::process::until;
use support::{Said, World};

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
fn a_plan_that_was_made_before_is_carried_out_without_a_planner() {
    let mut replies = two_tasks();
    replies.as_object_mut().unwrap().remove("goal/plan");
    let world = scripted(&replies, "");
    world.write(
        "plan.yaml",
        "tasks:\n- {id: x, description: count}\n- {id: y, description: double, inputs: [x]}\n",
    );
    let output = world.convoke(&["goal", "count", "--plan", "plan.yaml"]).exits(0).json();
    assert_eq!(output["tasks"][1]["description"], "double");
}

#[test]
fn a_person_approves_the_plan_before_anything_is_done() {
    let world = scripted(&two_tasks(), "");
    let parked = world.convoke(&["goal", "count", "--approve-plan"]).exits(5).prints_nothing();
    let run = world.run();
    let parked = parked
        .mentions(&["description: count the words", &format!("convoke answer {run} goal approve --resume")]);
    assert!(parked.stderr.contains("@FILE"), "{parked}");
    assert_eq!(shown(&world)["usage"]["calls"], 1);
    let output = world.convoke(&["answer", &run, "goal", "approve", "--resume"]).exits(0).json();
    assert_eq!(output["message"], "It is 42.");
}

#[test]
fn a_plan_that_a_person_changed_is_the_one_that_runs() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    world.write("mine.yaml", "tasks:\n- {id: x, description: count the letters}\n");
    let output = world.convoke(&["answer", &run, "goal", "@mine.yaml", "--resume"]).exits(0).json();
    assert_eq!(output["tasks"][0]["description"], "count the letters");
    assert_eq!(statuses(&output), ["succeeded"]);
    world.convoke(&["answer", &run, "goal", "@no-such-file", "--resume"]).exits(2);
}

#[test]
fn a_plan_that_is_refused_ends_the_goal() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let said = world.convoke(&["answer", &world.run(), "goal", "fail", "--resume"]);
    assert_eq!(said.code, Some(1), "{said}");
    assert_ne!(world.status(), "succeeded");
    assert_eq!(shown(&world)["usage"]["calls"], 1);
}

fn events(world: &World) -> String {
    match world.runs().first() {
        Some(run) => world.convoke(&["events", run, "--format", "json"]).stdout,
        None => String::new(),
    }
}

#[test]
fn words_to_a_live_goal_reach_whoever_is_asked_next() {
    let world = with_a_barrier();
    let process = world.start(&["goal", "go on"]);
    until("the first task is done", || events(&world).contains("goal/1/execute[1]"));
    let run = world.run();
    world.convoke(&["guide", &run, "use", "metric units"]).exits(0).mentions(&["said to run"]);
    until("it is written down", || events(&world).contains("use metric units"));
    lift_the_barrier(&world);
    process.wait().exits(0);
    assert!(!prompt_of(&world, "goal/1/execute[1]").contains("metric"));
    assert!(prompt_of(&world, "goal/2/execute[1]").contains("use metric units"));
    assert_eq!(shown(&world)["goals"][0]["guidance"][0]["text"], "use metric units");
    world.convoke(&["guide", &run, "too late"]).exits(2).mentions(&["has ended"]);
}

#[test]
fn lines_that_are_typed_meanwhile_are_guidance() {
    let world = with_a_barrier();
    let typed = world.work().join("typed");
    let made = std::process::Command::new("mkfifo").arg(&typed).status();
    assert!(made.expect("mkfifo is there").success());
    // Both ends, so that opening it waits for nobody.
    let mut keyboard = std::fs::OpenOptions::new().read(true).write(true).open(&typed).expect("a pipe");
    let mut command = world.command(&["goal", "go on", "--interactive"]);
    command.stdin(keyboard.try_clone().expect("a second handle"));
    let process = support::process::Process::start(command);
    until("the first task is done", || events(&world).contains("goal/1/execute[1]"));
    let too_long = "z".repeat(10_001);
    keyboard.write_all(format!("{too_long}\n\nmind the gap\n").as_bytes()).expect("a keyboard");
    until("it is written down", || events(&world).contains("mind the gap"));
    assert!(events(&world).contains("guidance_unheard"));
    lift_the_barrier(&world);
    process.wait().exits(0);
    let prompt = prompt_of(&world, "goal/2/execute[1]");
    assert!(prompt.contains("mind the gap") && !prompt.contains("zzz"), "{prompt}");
}

#[test]
fn a_parked_goal_hears_when_it_goes_on_and_other_runs_have_nothing_to_hear() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    world
        .convoke(&["guide", &run, "in French"])
        .exits(0)
        .mentions(&["waits for an answer to `goal`", "resume"]);
    world.convoke(&["answer", &run, "goal", "approve", "--resume"]).exits(0);
    assert!(prompt_of(&world, "goal/1/execute[1]").contains("in French"));
    world
        .write("w.yaml", "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: '1'}]\n");
    world.convoke(&["run", "w.yaml"]).exits(0);
    world.convoke(&["guide", &world.runs()[0], "hello"]).exits(2).mentions(&["has no goal"]);
}

#[test]
fn what_is_said_to_a_goal_that_failed_is_heard_when_it_is_resumed() {
    let world = scripted(&json!({"goal/plan": {"fail": "fatal", "message": "down"}}), "");
    world.convoke(&["goal", "count"]).exits(1);
    let run = world.run();
    world.convoke(&["guide", &run, "in French"]).exits(0).mentions(&["heard when the run goes on"]);
    world.write("replies.yaml", json!({ "replies": two_tasks() }).to_string());
    world.convoke(&["resume", &run]).exits(0);
    assert!(prompt_of(&world, "goal/1/execute[1]").contains("in French"));
}

/// Two scripts, of which only one may be used.
const TWO_SCRIPTS: &str = "[goal.scripts.count]\ncommand = \"wc\"\nargs = [\"-c\"]\ndescription = \"counts bytes\"\n\
    [goal.scripts.remove]\ncommand = \"rm\"\nargs = [\"precious\"]\ndescription = \"removes it\"\n";

/// AO-11 of the oracles.
#[test]
fn only_allowed_tools_are_named_planned_or_run() {
    let mut wants = task("a", "count", &[]);
    wants["tools"] = json!(["scripts__count", "scripts__remove", "shell"]);
    let replies = json!({
        "goal/plan": { "json": { "tasks": [wants] } },
        "goal/execute": [
            { "tool_calls": [{ "name": "scripts__count" }, { "name": "scripts__remove" }] }, { "json": done("3") },
        ],
        "goal/finalise": { "json": answer("3 bytes.") },
    });
    let world = scripted(&replies, TWO_SCRIPTS);
    world.write("precious", "x");
    world.convoke(&["goal", "count", "--tools", "scripts__count"]).exits(0);
    assert_eq!(world.read("precious"), "x");
    let prompt = prompt_of(&world, "goal/plan[1]");
    assert!(!prompt.contains("scripts__remove"), "{prompt}");
    let shown = shown(&world);
    assert_eq!(shown["goals"][0]["tasks"][0]["tools"], json!(["scripts__count"]));
    let said = world.convoke(&["events", &world.run()]).exits(0).stdout;
    assert!(said.contains("scripts__remove") && said.contains("shell"), "what was dropped is said\n{said}");
}

#[test]
fn whoever_plans_is_shown_what_the_tools_are_for() {
    let world = {
        let model = Model::answering(|request| {
            let text = request["messages"].to_string();
            assert!(text.contains("scripts__count") && text.contains("counts bytes"), "{text}");
            assert!(request["tools"].is_null(), "a planner can call nothing: {request}");
            json!({ "say": json!({ "tasks": [task("a", "count", &[])] }).to_string() })
        });
        let world = World::new();
        let provider =
            format!("[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
        world.write("convoke.toml", format!("{provider}model = \"m\"\n{TWO_SCRIPTS}"));
        let said = world.convoke(&["goal", "count", "--plan-only", "--format", "json"]).exits(0);
        assert_eq!(
            (said.json()["tasks"][0]["description"].as_str(), model.asked().len()),
            (Some("count"), 1)
        );
        world
    };
    drop(world);
}

/// AO-6 of the oracles.
#[test]
fn without_tools_the_planner_is_told_so_and_the_model_answers() {
    let mut wants = task("a", "look it up", &[]);
    wants["tools"] = json!(["browser"]);
    let replies = json!({
        "goal/plan": { "json": { "tasks": [wants] } },
        "goal/execute": { "json": done("from memory") },
        "goal/finalise": { "json": answer("From memory.") },
    });
    for (settings, flags) in [("", &[][..]), (TWO_SCRIPTS, &["--tools", "none"][..])] {
        let world = scripted(&replies, settings);
        world.convoke(&[&["goal", "look it up"], flags].concat()).exits(0);
        let prompt = prompt_of(&world, "goal/plan[1]");
        assert!(prompt.contains("There are no tools"), "{prompt}");
        assert_eq!(shown(&world)["goals"][0]["tasks"][0]["tools"], json!([]));
        assert!(prompt_of(&world, "goal/1/execute[1]").contains("You have no tools"));
    }
}

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

/// AO-12 of the oracles.
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

/// Two tasks: one needs a person until `helped`, the other is slow until then.
fn escalating(helped: Arc<AtomicBool>) -> (World, Model) {
    let model = Model::answering(move |request| {
        let text = request["messages"].to_string();
        let is_helped = helped.load(Ordering::SeqCst);
        let gone = json!({ "result": "", "summary": "", "goal_achieved": false, "reason": "it is gone" });
        match () {
            () if text.contains("Make a plan") => {
                let tasks = json!({ "tasks": [task("a", "find it", &[]), task("b", "crawl along", &[])] });
                json!({ "say": tasks.to_string() })
            }
            () if text.contains("Answer the person") => json!({ "say": answer("There it is.").to_string() }),
            () if text.contains("crawl along") => {
                json!({ "say": done("slow").to_string(), "delay_ms": if is_helped { 0 } else { 60_000 } })
            }
            () => json!({ "say": if is_helped { done("found") } else { gone }.to_string() }),
        }
    });
    let world = World::new();
    let provider =
        format!("[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("{provider}model = \"m\"\n[goal]\npolicies.any = [\"escalate\"]\n"));
    (world, model)
}

#[test]
fn a_question_of_a_stopped_run_is_asked_and_answered_again() {
    let helped = Arc::new(AtomicBool::new(false));
    let (world, model) = escalating(helped.clone());
    let process = world.start(&["goal", "find it"]);
    until("a person is asked", || events(&world).contains("gate_opened"));
    until("the other runs", || model.asked().iter().any(|asked| asked.text.contains("crawl along")));
    let run = world.run();
    world.convoke(&["stop", &run, "--now"]).exits(0);
    process.wait();
    world.convoke(&["answer", &run, "goal/1", "retry"]).exits(2).mentions(&["waits for nobody"]);
    helped.store(true, Ordering::SeqCst);
    let command = format!("convoke answer {run} goal/1 retry --resume");
    world.convoke(&["resume", &run]).exits(5).mentions(&[&command]);
    let shown = world.convoke(&["show", &run]).exits(0).stdout;
    assert!(shown.contains(&command), "{shown}");
    let output = world.convoke(&["answer", &run, "goal/1", "retry", "--resume"]).exits(0).json();
    assert_eq!(statuses(&output), ["succeeded", "succeeded"]);
}

#[test]
fn a_run_that_a_person_gave_up_can_be_finished_later() {
    let helped = Arc::new(AtomicBool::new(false));
    let (world, _model) = escalating(helped.clone());
    world.write("plan.yaml", "tasks: [{id: a, description: find it}]\n");
    world.convoke(&["goal", "find it", "--plan", "plan.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "goal/1", "fail", "--resume"]).exits(1);
    let resumed = world.convoke(&["resume", &run]);
    assert_eq!(resumed.code, Some(5), "{resumed}");
    helped.store(true, Ordering::SeqCst);
    let output = world.convoke(&["answer", &run, "goal/1", "retry", "--resume"]).exits(0).json();
    assert_eq!(statuses(&output), ["succeeded"]);
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
        "skips/plan": { "json": { "tasks": [skipped("a", "no key")] } },
        "skips/classify": { "json": { "done": true, "goal_achieved": false, "reason": "no key", "tasks": [] } },
        "skips/finalise": { "json": answer("Nothing was done.") },
    });
    world.write("replies.yaml", json!({ "replies": replies }).to_string());
    world
}

#[test]
fn a_flag_adds_no_tools() {
    let world = World::new();
    let settings = "[provider]\nname = \"scripted\"\n[goal]\ntools = [\"scripts__count\"]\n\
        [goal.scripts.count]\ncommand = \"wc\"\n[goal.scripts.remove]\ncommand = \"rm\"\n";
    world.write("convoke.toml", settings);
    let said = world.convoke(&["goal", "count", "--tools", "scripts__remove"]).exits(2);
    assert!(said.stderr.contains("`scripts__remove` is not among the tools"), "{}", said.stderr);
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
fn what_is_printed_runs_by_itself() {
    let world = scripted(&two_tasks(), "[goal]\nmax_tasks = 7\n");
    let args =
        ["goal", "count {{ these }} for $5", "--context", "be brief", "--max-depth", "2", "--budget", "3"];
    let made = world.convoke(&[&args[..], &["--print-workflow"]].concat()).exits(0).stdout;
    for line in ["max_tasks: 7", "max_depth: 2", "budget_usd: 3", "context: be brief"] {
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
