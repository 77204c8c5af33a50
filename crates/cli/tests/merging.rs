//! One answer from many, as people run it: a kill in the middle of a synthesis, an estimate that says no, what is shown.

use crate::support;

use serde_json::{Value, json};
use support::World;
use support::journal::Events;
use support::model::Model;
use support::process::until;

/// 120 agents in a manifest, answered at once, and a synthesis whose every question takes a moment.
fn enterprise(model: &Model) -> World {
    let mut text = format!(
        "name: enterprise
query: How are we doing?
provider: {{name: openai, base_url: '{}', api_key: none}}
synthesis: {{strategy: hierarchical, model: merger}}
agents:
",
        model.url()
    );
    for number in 0..120 {
        text.push_str(&format!("  - {{id: a{number}, model: quick, task: Report {number}}}\n"));
    }
    World::with_workflow(&text)
}

fn service(delay_ms: u64) -> Model {
    let replies =
        json!({ "quick": "all is well", "merger": { "say": "they are well [S1]", "delay_ms": delay_ms } });
    Model::start(replies.as_object().expect("an object"))
}

fn asked_of(model: &Model, name: &str) -> usize {
    model.asked().iter().filter(|request| request.model == name).count()
}

#[test]
fn a_kill_in_the_middle_of_a_synthesis_resumes_in_the_synthesis() {
    let model = service(300);
    let world = enterprise(&model);
    let mut process = world.start(&["run", "w.yaml"]);
    // Twelve questions of the first level, two of the second, one of the third.
    until("the second level", || asked_of(&model, "merger") >= 13);
    process.kill();
    let run = world.run();
    world.convoke(&["resume", &run]).exits(0);
    assert_eq!(asked_of(&model, "quick"), 120, "no agent was asked twice");
    // What was asked and not answered is asked again, and nothing else. A group of the second level may ask while
    // some of the first, which are not its own, are under way.
    let cut_off = Events::of(&world, &run).count("attempt_lost");
    assert!(asked_of(&model, "merger") <= 15 + cut_off, "{} {cut_off}", asked_of(&model, "merger"));
    let shown: Value = world.convoke(&["show", &run, "--format", "json"]).exits(0).json();
    assert_eq!(shown["output"]["answer"], "they are well [S1]");
    let tasks: Vec<&str> =
        shown["tasks"].as_array().unwrap().iter().filter_map(|task| task["task"].as_str()).collect();
    assert!(tasks.contains(&"synthesis/merge[1.11]") && tasks.contains(&"synthesis/merge[3.0]"), "{tasks:?}");
}

#[test]
fn a_run_that_cannot_stay_within_its_limits_spends_nothing() {
    let model = service(0);
    let world = World::with_workflow(&format!(
        "workflow:
  name: wide
  entry_point: all
  input: {{list: {{type: array}}}}
  runtime: {{provider: {{name: openai, base_url: '{url}', api_key: none}}, default_model: quick}}
  limits: {{max_tasks: 10}}
agents: []
for_each:
  - {{name: all, type: for_each, source: workflow.input.list, as: n, agent: {{name: one, prompt: 'p {{{{ n }}}}'}}}}
",
        url = model.url()
    ));
    let twelve = "list=[1,2,3,4,5,6,7,8,9,10,11,12]";
    world.convoke(&["run", "w.yaml", "-i", twelve]).exits(4).mentions(&[
        "at least 13 tasks, and its limit is 10 (limits.max_tasks)",
        "nothing was spent",
        "12 model calls",
    ]);
    assert_eq!((model.asked().len(), world.runs().len()), (0, 0));
    world.convoke(&["run", "w.yaml", "-i", "list=[1,2]"]).exits(0);
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn an_agent_reads_on_in_a_large_output_of_what_it_needs() {
    let world = World::with_workflow(
        "workflow:
  name: reader
  entry_point: source
  runtime: {provider: {name: scripted, file: replies.yaml}}
agents:
  - name: source
    type: script
    command: sh
    args: [-c, 'yes filler words | head -c 20000; echo the needle is here']
  - {name: reader, needs: [source], prompt: Find it., dependency_outputs: 100}
output: {found: '{{ reader.output.result }}'}
",
    );
    world.write(
        "replies.yaml",
        "reader:
  - {tool_calls: [{name: read_result, arguments: {name: r1, find: needle}}]}
  - the needle was found
",
    );
    let found = world.convoke(&["run", "w.yaml"]).exits(0).json();
    assert_eq!(found["found"], "the needle was found");
    let conversation = world.convoke(&["show", &world.run(), "reader", "--full"]).exits(0).stdout;
    assert!(conversation.contains("`read_result` with the name `r1` reads it"), "{conversation}");
    assert!(conversation.contains("the needle is here"), "what it read came back: {conversation}");
}

#[test]
fn a_merge_that_goes_on_shows_its_text_so_far() {
    let world = World::with_workflow(
        "workflow: {name: w, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: a, prompt: x}
  - {name: b, prompt: y}
  - {name: c, type: script, command: sh, args: [-c, 'read word < gate; echo late']}
  - {name: s, type: reduce, needs: [a, b, c], strategy: progressive}
output: {answer: '{{ s.output.result }}'}
",
    );
    // Longer than what travels inside an event.
    let long = format!("Two are\n\nagreed [S1, S2] {}", "and so on ".repeat(1_000));
    let replies = json!({ "replies": { "a": "one", "b": "two", "s/merge": [long, "All three agree."] } });
    world.write("replies.yaml", replies.to_string());
    let made = std::process::Command::new("mkfifo").arg(world.work().join("gate")).status();
    assert!(made.expect("mkfifo is there").success());
    let process = world.start(&["run", "w.yaml"]);
    process.await_words("s so far (1 merge): Two are agreed [S1, S2] and so on");
    let run = world.run();
    let shown = world.convoke(&["show", &run, "s", "--format", "json"]).exits(0).json();
    assert_eq!(shown["so_far"], json!({ "merges": 1, "text": long }));
    assert_eq!((&shown["status"], &shown["output"]), (&json!("running"), &Value::Null));
    let told = world.convoke(&["show", &run, "s"]).exits(0);
    assert!(told.stdout.contains("so far (1 merge):\n  Two are\n"), "{told}");
    let tasks = world.convoke(&["show", &run, "--format", "json"]).exits(0).json();
    let all = tasks["tasks"].as_array().unwrap().iter();
    assert_eq!(all.filter(|task| task["so_far"]["text"] == long.as_str()).count(), 1);
    world.write("gate", "go\n");
    let said = process.wait().exits(0).mentions(&["s so far (2 merges): All three agree."]);
    assert_eq!(said.json()["answer"], "All three agree.");
    let ended = world.convoke(&["show", &run, "s", "--format", "json"]).exits(0).json();
    assert_eq!((&ended["so_far"], &ended["output"]["result"]), (&Value::Null, &json!("All three agree.")));
}
