//! `convoke diff` and `convoke replay` over runs of the real program.

use crate::support::World;
use serde_json::Value;

const WORKFLOW: &str = "
workflow: {name: w, input: {topic: {type: string}}, runtime: {provider: scripted, default_model: m1}}
parallel: [{name: both, agents: [a, b], max_concurrent: 2}]
agents:
  - {name: a, prompt: 'Write about {{ workflow.input.topic }} in one word'}
  - {name: b, prompt: 'Say nothing of it'}
  - {name: see, type: script, command: cat, args: [seen.txt], needs: [both]}
  - {name: last, prompt: 'Sum up {{ both.outputs | json }} and {{ see.output.stdout }}', needs: [see]}
output: {answer: '{{ last.output | json }}'}
";

fn ran(world: &World, args: &[&str]) -> String {
    let said = world.convoke(&[&["run", "w.yaml", "-q"], args].concat());
    assert_eq!(said.code, Some(0), "{said}");
    world.runs().remove(0)
}

fn world() -> World {
    let world = World::with_workflow(WORKFLOW);
    world.write("seen.txt", "sun");
    world
}

/// The first cause of two runs: kind and task.
fn first(world: &World, old: &str, new: &str) -> (String, Value) {
    let said = world.convoke(&["diff", old, new, "--format", "json"]);
    assert_eq!(said.code, Some(1), "{said}");
    let json = said.json();
    let cause = &json["causes"][0];
    (cause["kind"].as_str().unwrap_or_default().to_owned(), cause["task"].clone())
}

#[test]
fn equal_runs_are_equal_and_end_with_0() {
    let world = world();
    let (old, new) = (ran(&world, &["-i", "topic=rain"]), ran(&world, &["-i", "topic=rain"]));
    let said = world.convoke(&["diff", &old, &new]);
    assert_eq!(said.code, Some(0), "{said}");
    assert!(said.stdout.starts_with("the runs are equal"), "{said}");
}

#[test]
fn an_output_that_was_reused_is_no_difference() {
    let world = world();
    let old = ran(&world, &["-i", "topic=rain"]);
    let new = ran(&world, &["-i", "topic=rain", "--reuse", &old]);
    world.convoke(&["diff", &old, &new]).exits(0);
    world.write("w.yaml", WORKFLOW.replace("Sum up", "Count"));
    let changed = ran(&world, &["-i", "topic=rain", "--reuse", &old, "--repeat-effects"]);
    assert_eq!(first(&world, &old, &changed), ("prompt".to_owned(), Value::from("last")));
}

#[test]
fn each_cause_is_named_with_its_task() {
    let world = world();
    let old = ran(&world, &["-i", "topic=rain"]);
    let snow = ran(&world, &["-i", "topic=snow"]);
    assert_eq!(first(&world, &old, &snow), ("input".into(), Value::Null));
    let model = ran(&world, &["-i", "topic=rain", "-m", "m2"]);
    assert_eq!(first(&world, &old, &model).0, "model");
    world.write("seen.txt", "moon");
    let moon = ran(&world, &["-i", "topic=rain"]);
    assert_eq!(first(&world, &old, &moon), ("tool_result".into(), "see".into()));
    world.write("seen.txt", "sun");
    world.write("w.yaml", WORKFLOW.replace("in one word", "in two words"));
    let prompt = ran(&world, &["-i", "topic=rain"]);
    assert_eq!(first(&world, &old, &prompt), ("prompt".into(), "both/a".into()));
    let said = world.convoke(&["diff", &old, &prompt]);
    let head = said.stdout.lines().next().unwrap_or_default();
    assert!(head.starts_with("the runs part at event ") && head.contains("prompt of both/a"), "{said}");
    assert!(said.stdout.contains("in two words"), "{said}");
    world.write("w.yaml", WORKFLOW.replace("max_concurrent: 2", "max_concurrent: 1"));
    let limit = ran(&world, &["-i", "topic=rain"]);
    assert_eq!(first(&world, &old, &limit), ("limit".into(), "both".into()));
}

#[test]
fn a_past_run_is_shown_again_and_not_touched() {
    let world = world();
    let run = ran(&world, &["-i", "topic=rain"]);
    let before = world.convoke(&["events", &run, "--format", "json"]).stdout;
    let said = world.convoke(&["replay", &run, "--speed", "max"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{said}");
    assert!(said.stderr.contains("last done") && said.stderr.contains("showed"), "{said}");
    let part = world.convoke(&["replay", &run, "--speed", "max", "--from", "last", "--to", "last"]);
    assert!(part.stderr.contains("last") && !part.stderr.contains("both/a"), "{part}");
    let wrong = world.convoke(&["replay", &run, "--from", "nothing"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
    assert_eq!(world.convoke(&["events", &run, "--format", "json"]).stdout, before);
}
