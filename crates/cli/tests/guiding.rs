//! Words to the agent of one task: heard before its next turn, once, beside its task; refused by name where no turn follows.

use crate::serving::Served;
use crate::support::World;
use crate::support::journal::Events;
use crate::support::model::Model;
use crate::support::process::until;
use serde_json::{Map, Value, json};

/// An agent with a tool: its first turn is held back until the test lets it go.
fn workflow(url: &str) -> String {
    format!(
        r#"
workflow:
  name: guided
  entry_point: writer
  runtime:
    provider: {{name: vllm, base_url: "{url}"}}
    default_model: writer
agents:
  - {{name: writer, prompt: Write about the sea., routes: [{{to: count}}]}}
  - {{name: count, type: script, command: sh, args: [-c, 'while [ ! -e go ]; do sleep 0.01; done']}}
output: {{text: "{{{{ writer.output.result }}}}"}}
"#
    )
}

fn world(replies: Value) -> (World, Model) {
    let replies: Map<String, Value> = [("writer".to_owned(), replies)].into_iter().collect();
    let model = Model::start(&replies);
    let world = World::with_workflow(&workflow(&model.url()));
    (world, model)
}

fn asked(model: &Model, count: usize) {
    until("the model is asked", || model.asked().len() >= count);
}

const WORDS: &str = "mention the lighthouse";

#[test]
fn an_answer_that_was_on_its_way_is_not_the_last_word() {
    let (world, model) = world(json!([{"say": "The sea.", "hold": true}, "The sea and its lighthouse."]));
    let process = world.start(&["run", "w.yaml"]);
    asked(&model, 1);
    let run = world.run();
    world
        .convoke(&["guide", &run, "writer", WORDS])
        .exits(0)
        .mentions(&["said to `writer` of run", "drives"]);
    until("it is on disk", || Events::of(&world, &run).count("task_guided") == 1);
    model.release();
    world.write("go", "");
    let said = process.wait().exits(0);
    assert_eq!(said.json()["text"], "The sea and its lighthouse.");
    let requests = model.asked();
    assert_eq!(requests.len(), 2);
    assert!(!requests[0].text.contains(WORDS));
    let second = &requests[1].text;
    assert_eq!(second.matches(WORDS).count(), 1, "{second}");
    // The task stays what it was, and the answer that was there is before the agent.
    assert!(second.contains("Write about the sea.") && second.contains("assistant: The sea."), "{second}");
    assert!(second.contains("does not replace it"), "{second}");
    assert_eq!(Events::of(&world, &run).count("noted"), 0);
}

#[test]
fn words_that_come_before_a_task_begins_or_while_nothing_runs_are_heard_at_its_first_turn() {
    let (world, model) = world(json!([{"status": 400, "message": "no"}, "About the sea."]));
    world.convoke(&["run", "w.yaml"]).exits(1);
    let run = world.run();
    // It has failed: no turn of it follows, and the next step is said.
    world
        .convoke(&["guide", &run, "--task", "writer", WORDS])
        .exits(2)
        .mentions(&["has ended (failed)", "--retry"]);
    world.write("go", "");
    let mut process = world.start(&["resume", &run, "--retry", "writer"]);
    asked(&model, 2);
    until("it goes on", || process.has_ended());
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn a_killed_run_hears_once_what_was_said_to_it() {
    let (world, model) = world(
        json!([{"say": "The sea.", "hold": true}, {"say": "The sea.", "hold": true}, "With lighthouse."]),
    );
    let mut process = world.start(&["run", "w.yaml"]);
    asked(&model, 1);
    let run = world.run();
    world.convoke(&["guide", &run, "writer", WORDS]).exits(0);
    until("it is on disk", || Events::of(&world, &run).count("task_guided") == 1);
    process.kill();
    drop(process);
    // Said while no process drives the run: it waits for one that does.
    world
        .convoke(&["guide", &run, "writer", "and be brief"])
        .exits(0)
        .mentions(&["which no process drives", "resume"]);
    model.release();
    world.write("go", "");
    world.convoke(&["resume", &run]).exits(0);
    let requests = model.asked();
    let last = &requests.last().unwrap().text;
    for words in [WORDS, "and be brief"] {
        assert_eq!(last.matches(words).count(), 1, "{last}");
    }
    assert_eq!(Events::of(&world, &run).count("task_guided"), 2);
}

#[test]
fn tasks_that_cannot_hear_are_refused_by_name() {
    let (world, model) = world(json!(["The sea."]));
    let process = world.start(&["run", "w.yaml"]);
    asked(&model, 1);
    let run = world.run();
    until("the script runs", || Events::of(&world, &run).starts().contains_key("count"));
    let refused = |args: &[&str], words: &[&str]| {
        world.convoke(&[&["guide", &run], args].concat()).exits(2).mentions(words);
    };
    refused(&["count", WORDS], &["task `count` is of type script: no model reads"]);
    refused(&["writer", WORDS], &["task `writer` has ended (done)"]);
    refused(&["--task", "writr", WORDS], &["no task `writr`", "did you mean `writer`?"]);
    refused(&["--task", "writer", " "], &["nothing to say"]);
    refused(&[WORDS], &["no goal that could be guided", "--task TASK"]);
    let long = "x".repeat(10_001);
    refused(&["--task", "writer", &long], &["has ended"]);
    let served = Served::over(&world);
    let guide = |task: &str| {
        served.post(&format!("/runs/{run}/guide"), json!({"text": WORDS, "task": task})).is(422).json()
    };
    assert!(guide("count")["error"]["message"].as_str().unwrap().contains("type script"));
    world.write("go", "");
    process.wait().exits(0);
}

#[test]
fn words_over_http_reach_the_task() {
    let (world, model) = world(json!([{"say": "The sea.", "hold": true}, "With lighthouse."]));
    let process = world.start(&["run", "w.yaml"]);
    asked(&model, 1);
    let (run, served) = (world.run(), Served::over(&world));
    let done =
        served.post(&format!("/runs/{run}/guide"), json!({"text": WORDS, "task": "writer"})).is(202).json();
    assert_eq!(done["done"], format!("said to `writer` of run {run}"));
    until("it is on disk", || Events::of(&world, &run).count("task_guided") == 1);
    model.release();
    world.write("go", "");
    process.wait().exits(0);
    assert!(model.asked()[1].text.contains(WORDS));
    let story = served.get(&format!("/runs/{run}/story")).is(200).json().to_string();
    assert!(story.contains(WORDS), "{story}");
}
