//! Only tools that were approved are named, planned or run.

use crate::goals::{events, prompt_of, shown, statuses};
use crate::support::World;
use crate::support::goals::{answer, done, scripted, task};
use crate::support::model::Model;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// Two scripts, of which only one may be used.
const TWO_SCRIPTS: &str = "[goal.scripts.count]\ncommand = \"wc\"\nargs = [\"-c\"]\ndescription = \"counts bytes\"\n\
    [goal.scripts.remove]\ncommand = \"rm\"\nargs = [\"precious\"]\ndescription = \"removes it\"\n";

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

/// What the model is sent, not what the plan shows.
#[test]
fn a_task_with_an_empty_list_gets_no_tools_and_one_without_a_list_gets_all() {
    let (mut none, all) = (task("a", "think about it", &[]), task("b", "look at it", &[]));
    none["tools"] = json!([]);
    let plan = json!({ "tasks": [none, all] });
    let sent = Arc::new(Mutex::new(Vec::new()));
    let seen = sent.clone();
    let model = Model::answering(move |request| {
        let mut seen = seen.lock().unwrap();
        seen.push((request["messages"].to_string(), request["tools"].to_string()));
        let reply = match seen.len() {
            1 => plan.clone(),
            2 | 3 => done("1"),
            _ => answer("Done."),
        };
        json!({ "say": reply.to_string() })
    });
    let world = World::new();
    let provider =
        format!("name = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\nmodel = \"m\"", model.url());
    world.write("convoke.toml", format!("[provider]\n{provider}\n{TWO_SCRIPTS}"));
    world.convoke(&["goal", "see to it"]).exits(0);
    let sent = sent.lock().unwrap();
    let tools_of = |words: &str| {
        let (_, tools) = sent[1..3].iter().find(|(text, _)| text.contains(words)).expect("it was done");
        tools.clone()
    };
    assert!(!tools_of("think about it").contains("scripts__"), "{}", tools_of("think about it"));
    let all = tools_of("look at it");
    assert!(all.contains("scripts__count") && all.contains("scripts__remove"), "{all}");
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
fn a_tool_that_says_something_on_standard_error_and_ends_well_has_not_failed() {
    let mut counts = task("a", "count", &[]);
    counts["tools"] = json!(["scripts__count"]);
    let replies = json!({
        "goal/plan": { "json": { "tasks": [counts] } },
        "goal/execute": [{ "tool_calls": [{ "name": "scripts__count" }] }, { "json": done("3") }],
        "goal/finalise": { "json": answer("3 words.") },
    });
    for (ends, failed) in [("exit 0", false), ("exit 1", true)] {
        let settings = format!(
            "[goal.scripts.count]\ncommand = \"sh\"\nargs = [\"-c\", \"echo warning: slow >&2; echo 3; {ends}\"]\n"
        );
        let world = scripted(&replies, &settings);
        let output = world.convoke(&["goal", "count"]).exits(0).json();
        assert_eq!(statuses(&output), ["succeeded"]);
        let events = events(&world);
        let called =
            events.lines().find(|line| line.contains("tool_called")).expect("it was called").to_owned();
        assert_eq!(called.contains("\"failed\":true"), failed, "{called}");
    }
}
