//! Several processes, one limit: what `machine_concurrency` says holds for all of them together.
//!
//! The judge is a file outside: every script appends a line when it begins and one when it ends.

use crate::common;
use crate::support;

use common::World;
use std::process::Child;

/// Twenty scripts. Each waits until as many have begun as `crew` says, so that as many are seen at once as may run at once,
/// however slow the machine is.
const BUSY: &str = "workflow:
  name: busy
  entry_point: all
  input: {items: {type: array, default: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}}
agents: []
for_each:
  - name: all
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 20
    agent:
      name: one
      type: script
      command: sh
      args: [-c, 'echo begin >> log; while [ $(grep -c begin log) -lt $(cat crew) ]; do sleep 0.02; done; echo end >> log']
";

fn most_at_once(world: &World) -> (usize, usize) {
    let log = std::fs::read_to_string(world.path("log")).expect("a log");
    let (mut now, mut most, mut ended) = (0usize, 0, 0);
    for line in log.lines() {
        match line {
            "begin" => now += 1,
            _ => (now, ended) = (now - 1, ended + 1),
        }
        most = most.max(now);
    }
    (most, ended)
}

/// As many as this begin before any of them ends.
fn crew(world: &World, size: usize) {
    world.write("crew", size.to_string());
}

fn start(world: &World, machine: &str) -> Child {
    let mut command = world.command(&["run", "w.yaml", "--quiet"]);
    command.env("CONVOKE_MACHINE_CONCURRENCY", machine).spawn().expect("the program runs")
}

#[test]
fn three_processes_share_the_machine() {
    let world = World::with(BUSY);
    crew(&world, 4);
    let children: Vec<_> = (0..3).map(|_| start(&world, "4")).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let (most, ended) = most_at_once(&world);
    assert_eq!(ended, 60, "everything ran once");
    assert_eq!(most, 4, "no more than may, and what is free is used");
}

#[test]
fn one_process_alone_gets_everything() {
    let world = World::with(BUSY);
    crew(&world, 20);
    assert!(start(&world, "20").wait().expect("it ends").success());
    let (most, ended) = most_at_once(&world);
    assert_eq!((most, ended), (20, 20));
}

#[test]
fn what_a_killed_process_held_is_free_again() {
    let world = World::with(BUSY);
    crew(&world, 1);
    world.write(
        "long.yaml",
        "workflow: {name: long, entry_point: a}
agents: [{name: a, type: script, command: sh, args: [-c, 'echo started > started; exec sleep 60']}]
",
    );
    let mut long = world.command(&["run", "long.yaml", "--quiet"]);
    let mut long = long.env("CONVOKE_MACHINE_CONCURRENCY", "1").spawn().expect("the program runs");
    while !world.path("started").exists() {
        std::thread::yield_now();
    }
    let mut other = start(&world, "1");
    long.kill().expect("it runs");
    long.wait().expect("it ends");
    assert!(other.wait().expect("it ends").success(), "the slot came back");
    let (most, ended) = most_at_once(&world);
    assert_eq!((most, ended), (1, 20));
}

#[test]
fn what_a_service_tells_one_process_holds_for_the_others() {
    // The first process is told to come back after eight seconds; the second one asks the same model and has not been told.
    let service = support::model::Model::start(
        serde_json::json!({"m": [{"status": 429, "retry_after": 8}, "done"]}).as_object().expect("an object"),
    );
    let world = World::new();
    world.write(
        "ask.yaml",
        format!(
            "workflow: {{name: ask, entry_point: a, runtime: {{provider: {{name: openai, base_url: '{}', api_key: k}}, \
             default_model: m}}}}\nagents: [{{name: a, prompt: hi}}]\n",
            service.url()
        ),
    );
    let mut first = world.spawn(&["run", "ask.yaml"]);
    support::process::until("the first was told", || service.asked().iter().any(|asked| asked.end.is_some()));
    let told = service.asked()[0].end.expect("it was answered");
    // The pause is in the table as soon as the first process has noted what it was told.
    support::process::until("the service pauses", || {
        let shown = world.run(&["capacity", "--format", "json"]).stdout;
        shown.lines().any(|line| line.contains("\"paused_for_ms\": ") && !line.contains(": 0"))
    });
    let mut second = world.spawn(&["run", "ask.yaml"]);
    assert!(first.wait().expect("it ends").success() && second.wait().expect("it ends").success());
    let again = service.asked().iter().skip(1).map(|asked| asked.begin).min().expect("it was asked again");
    assert!(again - told >= std::time::Duration::from_millis(7900), "{:?}", again - told);
}
