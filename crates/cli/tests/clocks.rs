//! Dates that jump and machines that sleep, with whole processes: no timer fires early, no time is negative, and limits of time stand still
//! while the machine sleeps.
//!
//! Builds with debug assertions take a jump of the date and a suspension from the test. Time namespaces, where they can be made,
//! shift the clocks of one process against those of the next.
#![allow(clippy::print_stderr, reason = "a test that cannot be tried says so")]

use crate::support;

use serde_json::json;
use std::process::{Command, Stdio};
use support::World;
use support::journal::Events;
use support::process::{Process, until};

/// A long wait, and a script with a limit of time that runs beside it.
const WAITS: &str = r#"
workflow: {name: w, entry_point: both}
agents:
  - {name: waits, type: wait, duration: 300s}
  - {name: works, type: script, command: sh, idempotent: true, timeout: 200, args: [-c, 'echo x >>began; while [ ! -e go ]; do sleep 0.01; done; echo 1']}
parallel: [{name: both, agents: [waits, works]}]
output: {said: '{{ both.outputs.works.stdout | trim }}'}
"#;

const DAY: i64 = 24 * 60 * 60;

/// A run whose process was killed while it waited.
fn killed() -> (World, String) {
    let world = World::with_workflow(WAITS);
    world.write("slept", "0");
    let slept = world.work().join("slept").display().to_string();
    let world = world.env("CONVOKE_TEST_CLOCK_SLEPT", &slept);
    let mut process = world.start(&["run", "w.yaml", "--silent"]);
    until("the script has begun", || world.read("began").lines().count() == 1);
    process.kill();
    let run = world.run();
    (world, run)
}

/// Whether the wait has ended.
fn is_over(events: &Events) -> bool {
    events.0.iter().any(|event| event["event"]["task_succeeded"]["task"] == "both/waits")
}

/// The next process goes on: the wait is not over before the machine has slept for longer than it, and the script is not out of time.
fn goes_on(world: &World, run: &str, resumed: Process, what: &str) {
    until("the script has begun again", || world.read("began").lines().count() == 2);
    assert!(!is_over(&Events::of(world, run)), "{what}: the timer fired early");
    world.write("slept", "301");
    until("the wait is over", || is_over(&Events::of(world, run)));
    world.write("go", "");
    assert_eq!(resumed.wait().exits(0).json(), json!({"said": 1}), "{what}");
    let events = Events::of(world, run);
    assert!(events.count("machine_slept") > 0, "{what}: the suspension is on record");
    let at: Vec<u64> = events.0.iter().map(|event| event["at"].as_u64().expect("a time")).collect();
    assert!(at.is_sorted(), "{what}: no event is before the one before it: {at:?}");
    world.convoke(&["verify", run]).exits(0);
}

#[test]
fn a_date_that_jumps_between_two_processes_fires_no_timer() {
    for jump in [DAY, -60 * 60, 366 * DAY, -366 * DAY] {
        let (world, run) = killed();
        let mut command = world.command(&["resume", &run, "--silent"]);
        command.env("CONVOKE_TEST_CLOCK_JUMP", jump.to_string());
        goes_on(&world, &run, Process::start(command), &format!("a jump of {jump} s"));
    }
}

#[test]
fn a_time_namespace_of_its_own_fires_no_timer() {
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-T", "--boottime", "100000", "--monotonic", "50000"]).args(arguments);
        command
    };
    let made = unshare(&["true"]).stderr(Stdio::null()).status();
    if !made.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no time namespace can be made here");
    }
    let (world, run) = killed();
    let binary = support::binary().display().to_string();
    let command = world.prepared(unshare(&[&binary, "resume", &run, "--silent"]));
    goes_on(&world, &run, Process::start(command), "a time namespace");
}

/// The owner's clock does not jump, so neither does the time in which its question can be answered.
#[test]
fn a_date_that_jumps_makes_no_answer_late() {
    let gate = "workflow: {name: g, entry_point: ask}\nagents:\n  - {name: ask, type: human_gate, prompt: 'go?', timeout_seconds: 3600, options: [{label: Y, value: y, route: $end}]}\noutput: {said: '{{ ask.output.selected }}'}\n";
    for jump in [-DAY, -60 * 60, DAY] {
        let world = World::with_workflow(gate);
        let mut command = world.command(&["run", "w.yaml", "--silent"]);
        command.env("CONVOKE_TEST_CLOCK_JUMP", jump.to_string());
        Process::start(command).wait().exits(5);
        world.convoke(&["answer", &world.run(), "ask", "y"]).exits(0);
        let resumed = world.convoke(&["resume", &world.run(), "--silent"]).exits(0);
        assert_eq!(resumed.json(), json!({"said": "y"}), "a jump of {jump} s");
    }
}
