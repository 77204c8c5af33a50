//! Mistakes around a goal name the place that was written: a key of the configuration, a flag, a prompt file. There is no file
//! `goal:`.

use crate::support;

use serde_json::json;
use support::goals::{done, scripted, task, two_tasks};
use support::{Said, World};

fn refused(settings: &str, flags: &[&str], code: i32, words: &[&str]) -> Said {
    let world = scripted(&two_tasks(), settings);
    let said = world.convoke(&[&["goal", "count"], flags].concat()).exits(code).mentions(words);
    assert!(!said.stderr.contains("goal::"), "{said}");
    assert!(!said.stderr.contains("`goal:`"), "{said}");
    assert!(world.runs().is_empty(), "{said}");
    said
}

#[test]
fn mistakes_of_the_configuration_are_told_by_key_and_line() {
    let slip = "[goal]\npolicies.timeout = [\"retyr\"]\n";
    refused(slip, &[], 2, &["`goal.policies.timeout`", "convoke.toml:6:1", "did you mean `retry`?"]);
    let slip = "[goal]\npolicies.timeuot = [\"retry\"]\n";
    refused(slip, &[], 2, &["`goal.policies.timeuot`", "convoke.toml:6:1", "did you mean `timeout`?"]);
    let soon = "[goal]\nbackoff = \"soon\"\n";
    refused(soon, &[], 2, &["`goal.backoff`", "convoke.toml:6:1", "not a duration"]);
    let nothing = "[goal.mcp_servers.files]\nargs = [\".\"]\n";
    refused(nothing, &[], 2, &["`goal.mcp_servers.files", "convoke.toml:6:1", "has no `command`"]);
    let schema = "[goal.scripts.n]\ncommand = \"wc\"\ninput = '{\"type\": \"objct\"}'\n";
    let world = scripted(&two_tasks(), schema);
    let words = ["convoke.toml:7", "`goal.scripts.n.input`", "no JSON Schema"];
    world.convoke(&["goal", "count"]).exits(2).mentions(&words);
}

#[test]
fn tools_that_nobody_has_are_told_to_who_named_them() {
    let none = "no tools are configured";
    refused("", &["--tools", "nope__read"], 2, &["--tools: there is no tool `nope__read`", none]);
    let words = ["convoke.toml:6", "`goal.tools`: there is no tool `nope`", none];
    refused("[goal]\ntools = [\"nope\"]\n", &[], 2, &words);
    let script = "[goal.scripts.count]\ncommand = \"wc\"\n";
    let words = ["--tools: there is no tool `nope__read`", "the configuration has scripts__count"];
    let said = refused(script, &["--tools", "nope__read"], 2, &words);
    assert!(!said.stderr.contains("its server"), "{said}");
}

#[test]
fn mistakes_of_flags_are_told_by_flag() {
    refused("", &["--max-depth", "11"], 2, &["--max-depth"]);
    refused("", &["--max-tasks", "0"], 2, &["--max-tasks"]);
    refused("", &["--context", "nofile.md"], 2, &["--context", "there is no file `nofile.md`"]);
}

#[test]
fn mistakes_of_prompts_are_told_by_file_line_and_column() {
    let world = scripted(&two_tasks(), "");
    std::fs::create_dir_all(world.work().join(".convoke/prompts/goal")).unwrap();
    world.write(".convoke/prompts/goal/plan.md", "Make a plan.\n\nFor {{ gaol }}: go.\n");
    let said = world.convoke(&["goal", "count"]).exits(3);
    let said = said.mentions(&[".convoke/prompts/goal/plan.md:3:8", "gaol"]);
    assert!(!said.stderr.contains("`goal:`"), "{said}");
    world.write(".convoke/prompts/goal/plan.md", "Plan {{ whatever }}.");
    let names = ["available: ", "bounds", "guidance", "skip_threshold", "workflow"];
    world.convoke(&["goal", "count"]).exits(3).mentions(&names);
    world.write(".convoke/prompts/goal/plan.md", "Plan {{ goal }}.");
    world.write(".convoke/prompts/goal/planner.md", "Plan {{ goal }}.");
    let said = world.convoke(&["goal", "count"]).exits(0);
    said.mentions(&["planner.md` is not used", "did you mean `plan.md`?"]);
}

#[test]
fn guidance_has_an_end() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    let long = "x".repeat(10_001);
    world.convoke(&["guide", &run, &long]).exits(2).mentions(&["10001 characters", "at most 10000"]);
    world.convoke(&["guide", &run, "be brief"]).exits(0);
}

#[test]
fn what_nobody_has_heard_yet_counts_as_said() {
    let world = scripted(&two_tasks(), "");
    world.convoke(&["goal", "count", "--approve-plan"]).exits(5);
    let run = world.run();
    world.convoke(&["guide", &run, &"x".repeat(9_000)]).exits(0);
    let words = ["2000 characters after 9000 that were said", "at most 10000"];
    world.convoke(&["guide", &run, &"y".repeat(2_000)]).exits(2).mentions(&words);
    world.convoke(&["guide", &run, &"y".repeat(1_000)]).exits(0);
}

/// A goal and a command behind it that fails until `ready` is there.
fn with_a_failing_step(bounds: &str) -> String {
    format!(
        "workflow:
  name: w
  entry_point: work
  runtime: {{provider: {{name: scripted, file: replies.yaml}}}}
agents:
  - {{name: work, type: goal, goal: count, {bounds}, routes: [{{to: check}}]}}
  - {{name: check, type: script, command: test, args: [-e, ready], output: {{}}, routes: [{{to: end, when: '{{{{ check.output.exit_code == 0 }}}}'}}, {{to: stop}}]}}
  - {{name: end, type: set, value: done}}
  - {{name: stop, type: script, command: /no/such/command}}
"
    )
}

#[test]
fn another_bound_undoes_nothing_that_was_done() {
    let world = World::with_workflow(&with_a_failing_step("max_depth: 1, policies: {any: [fail]}"));
    let replies = json!({
        "work/plan": { "json": { "tasks": [task("a", "count", &[])] } },
        "work/execute": { "json": done("3") },
        "work/finalise": { "json": { "message": "Three.", "next_steps": "", "issues": "", "reason": "" } },
    });
    world.write("replies.yaml", json!({ "replies": replies }).to_string());
    world.convoke(&["run", "w.yaml"]).exits(1);
    let run = world.run();
    let calls =
        |world: &World| world.convoke(&["show", &run, "--format", "json"]).json()["usage"]["calls"].clone();
    assert_eq!(calls(&world), 3);
    world.write(
        "w.yaml",
        with_a_failing_step("max_depth: 3, max_tasks: 7, approve: true, policies: {any: [retry, fail]}"),
    );
    world.convoke(&["resume", &run]).exits(3).mentions(&["--accept-changes"]);
    world.convoke(&["resume", &run, "--accept-changes"]).exits(1);
    assert_eq!(calls(&world), 3, "the goal was reached and is not asked for again");
}

#[test]
fn a_server_and_scripts_of_the_same_name_are_not_mixed_up() {
    let settings =
        "[goal.mcp_servers.scripts]\ncommand = \"serve\"\n[goal.scripts.count]\ncommand = \"wc\"\n";
    refused(
        settings,
        &[],
        2,
        &["`goal.mcp_servers.scripts`", "goal.scripts", "give the server another name"],
    );
}

#[test]
fn an_empty_prompt_is_no_prompt() {
    let world = scripted(&two_tasks(), "");
    std::fs::create_dir_all(world.work().join(".convoke/prompts/goal")).unwrap();
    world.write(".convoke/prompts/goal/plan.md", " \n");
    world.convoke(&["goal", "count"]).exits(3).mentions(&["prompts/goal/plan.md", "is empty"]);
    world.write("w.yaml", "workflow: {name: w, entry_point: g}\nagents: [{name: g, type: goal, goal: x, roles: {plan: {prompt: ''}}}]\n");
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&["`prompt` of", "is empty"]);
}

#[test]
fn a_plan_that_stands_in_a_file_is_judged_with_the_file() {
    let world = scripted(&two_tasks(), "");
    let text = "workflow: {name: w, entry_point: g}\nagents:\n  - name: g\n    type: goal\n    goal: x\n    plan: |\n      - {id: a, description: look, inputs: [b]}\n";
    world.write("w.yaml", text);
    world
        .convoke(&["check", "w.yaml"])
        .exits(3)
        .mentions(&["needs `b`, and there is no such task", "w.yaml:7:45"]);
    world.write("w.yaml", text.replace("inputs: [b]", "tools: []"));
    world.convoke(&["check", "w.yaml"]).exits(0);
    // What a template gives is known only when it is rendered.
    world.write("w.yaml", text.replace("look", "{{ 'look' }}"));
    world.convoke(&["check", "w.yaml"]).exits(0);
}
