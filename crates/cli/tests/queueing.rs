//! How many attempts may wait at once for permits, and which are refused.

use crate::support;

use serde_json::{Value, json};
use support::World;
use support::model::Model;
use support::process::until;

#[test]
fn what_can_start_at_once_does_not_count_as_waiting() {
    let run = |items: u32| {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: items}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range({items}) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - {{name: all, type: for_each, source: items.output.list, as: item, max_concurrent: 50, agent: {{name: one, type: script, command: 'true'}}}}
"
        ));
        world.write("convoke.toml", "[run]\nmax_concurrency = 4\n[limits]\nqueue = 2\n");
        world.convoke(&["run", "w.yaml"])
    };
    run(6).exits(0);
    run(7).exits(1).mentions(&["cannot start", "2"]);
}

/// A fan-out of scripts, as many at once as may be; each says that it began and stays until it may go.
fn scripts(items: u32) -> World {
    World::with_workflow(&format!(
        "workflow: {{name: w, entry_point: items}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range({items}) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - name: all
    type: for_each
    source: items.output.list
    as: item
    max_concurrent: 50
    agent: {{name: one, type: script, command: sh, args: [-c, 'echo begun >> witness; while ! [ -e go ]; do sleep 0.02; done; ulimit -Sn']}}
output: {{limit: '{{{{ all.outputs[0].stdout }}}}', count: '{{{{ all.count }}}}'}}
"
    ))
}

/// Runs it in a shell that has set this limit of descriptors before.
fn limited(world: &World, limit: &str) -> support::process::Process {
    let mut command = world.prepared(std::process::Command::new("bash"));
    let convoke = env!("CARGO_BIN_EXE_convoke");
    command.args(["-c", &format!("ulimit {limit}; exec {convoke} run w.yaml")]);
    support::process::Process::start(command)
}

#[test]
fn more_scripts_than_there_are_descriptors_for_wait_and_none_fails() {
    let world = scripts(40);
    // Room for a few at once; the first of them may go on when the others found none.
    let run = limited(&world, "-n 80");
    until("some have begun", || world.read("witness").lines().count() >= 3);
    world.write("go", "");
    let said = run.wait().exits(0);
    assert_eq!(world.read("witness").lines().count(), 40);
    assert!(!said.stderr.contains("cannot start"), "{said}");
}

#[test]
fn the_engine_takes_what_the_machine_allows_and_scripts_get_the_limit_they_know() {
    let world = scripts(40);
    let run = limited(&world, "-Sn 80");
    // All at once: far more than eighty descriptors.
    until("all have begun", || world.read("witness").lines().count() == 40);
    world.write("go", "");
    let said = run.wait().exits(0);
    assert_eq!(said.json()["limit"], 80, "{said}");
}

/// Asks a service once for each item, three at once.
fn asking(model: &Model, items: u32) -> World {
    let world = World::with_workflow(&format!(
        "workflow:
  name: w
  entry_point: items
  runtime: {{provider: {{name: openai, base_url: '{}', api_key: none}}, default_model: m}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range({items}) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - {{name: all, type: for_each, source: items.output.list, as: item, max_concurrent: 50, agent: {{name: one, prompt: 'p {{{{ item }}}}', retry: {{max_attempts: 3, backoff: fixed, delay_seconds: 0.01}}}}}}
",
        model.url()
    ));
    world.write("convoke.toml", "[limits.models.'openai/m']\nconcurrency = 3\n");
    world
}

fn metrics(world: &World) -> Value {
    world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).json()["metrics"].clone()
}

#[test]
fn the_numbers_of_a_live_run_are_those_that_its_service_sees() {
    let never = json!({"m": {"say": "done", "delay_ms": 600_000}});
    let model = Model::start(never.as_object().expect("an object"));
    let world = asking(&model, 9);
    let mut run = world.start(&["run", "w.yaml"]);
    until("three are asked at once", || model.asked().len() == 3);
    // The file of a live run is a second old at most.
    until("the run has told", || metrics(&world)["calls"]["active"] == 3);
    let now = metrics(&world);
    let used = |name: &str| {
        let all = now["utilisation"].as_object().expect("a map");
        all.iter().find(|(limit, _)| limit.starts_with(name)).map(|(_, part)| part.clone())
    };
    assert_eq!(used("model:openai/m"), Some(json!(1.0)), "{now:#}");
    assert_eq!(used("machine"), Some(json!(0.05)), "three of sixty: {now:#}");
    assert_eq!(
        (&now["live"], &now["calls"]["granted"], &now["calls"]["released"]),
        (&json!(true), &json!(3), &json!(0))
    );
    assert!(run.kill());
    let after = metrics(&world);
    assert_eq!(
        (&after["live"], &after["active"], &after["calls"]["active"]),
        (&json!(false), &json!(0), &json!(0))
    );
    assert_eq!(after["granted"], after["released"], "{after:#}");
}

#[test]
fn the_numbers_of_a_run_that_has_ended_add_up() {
    let once = json!({"m": [{"status": 500, "message": "no"}, {"say": "done"}]});
    let model = Model::start(once.as_object().expect("an object"));
    let world = asking(&model, 9);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let all = metrics(&world);
    let asked = model.asked().len();
    assert_eq!(asked, 10, "one was asked twice");
    assert_eq!(
        (&all["calls"]["granted"], &all["calls"]["released"]),
        (&json!(asked), &json!(asked)),
        "{all:#}"
    );
    assert_eq!((&all["granted"], &all["released"], &all["active"]), (&json!(10), &json!(10), &json!(0)));
    assert_eq!(
        (&all["retried"], &all["failed_attempts"], &all["sub_agents"]),
        (&json!(1), &json!(1), &json!(0))
    );
    let latency = |part: &str| all["latency_ms"][part].as_f64().expect("a number");
    assert!(latency("p50") > 0.0 && latency("p50") <= latency("p95"), "{all:#}");
}
