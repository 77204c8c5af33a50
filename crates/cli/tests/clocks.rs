//! Dates that jump and machines that sleep, with whole processes: no timer fires early, no time is negative, and limits of time stand still
//! while the machine sleeps.
//!
//! Builds with debug assertions take a jump of the date and a suspension from the test. Time namespaces, where they can be made,
//! shift the clocks of one process against those of the next.
#![allow(clippy::print_stderr, reason = "a test that cannot be tried says so")]

use crate::support;

use rustix::process::Signal;
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;
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

/// A script that ends in the middle of the wait, so that the run has something to record then.
const IN_THE_MIDDLE: &str = r#"
workflow: {name: w, entry_point: all}
agents:
  - {name: waits, type: wait, duration: 300s}
  - {name: asks, type: human_gate, prompt: 'go?', timeout_seconds: 3600, options: [{label: Y, value: y}]}
  - {name: first, type: script, command: sh, idempotent: true, timeout: 200, args: [-c, 'echo x >>began; while [ ! -e middle ]; do sleep 0.01; done; echo 1']}
  - {name: works, needs: [first], type: script, command: sh, idempotent: true, timeout: 200, args: [-c, 'while [ ! -e go ]; do sleep 0.01; done; echo 1']}
parallel: [{name: all, agents: [waits, asks, first, works]}]
output: {said: '{{ all.outputs.works.stdout | trim }}'}
"#;

/// The date changes under a run that goes on: nothing that waits is over by that, and its journal tells no jump.
#[test]
fn a_date_that_jumps_during_a_run_fires_no_timer() {
    for jump in [DAY, -60 * 60, 366 * DAY] {
        let world = World::with_workflow(IN_THE_MIDDLE);
        let file = |name: &str| world.work().join(name).display().to_string();
        world.write("slept", "0");
        world.write("jump", "0");
        let mut command = world.command(&["run", "w.yaml", "--silent"]);
        command.env("CONVOKE_TEST_CLOCK_JUMP", file("jump")).env("CONVOKE_TEST_CLOCK_SLEPT", file("slept"));
        let process = Process::start(command);
        until("the script has begun", || !world.read("began").is_empty());
        let run = world.run();
        world.write("jump", jump.to_string());
        world.write("middle", "");
        let has_ended = |events: &Events, task: &str| {
            let ends = ["task_succeeded", "attempt_finished"];
            events.0.iter().any(|event| ends.iter().any(|end| event["event"][end]["task"] == task))
        };
        until("the run went on", || has_ended(&Events::of(&world, &run), "all/first"));
        let events = Events::of(&world, &run);
        assert!(!has_ended(&events, "all/waits"), "a jump of {jump} s: the timer fired early");
        assert_eq!(events.count("gate_answered") + events.count("task_failed"), 0, "a jump of {jump} s");
        world.write("slept", "301");
        until("the wait is over", || has_ended(&Events::of(&world, &run), "all/waits"));
        world.write("go", "");
        // The question is answered by a process that reads the changed date.
        let mut answer = world.command(&["answer", &run, "all/asks", "y"]);
        answer.env("CONVOKE_TEST_CLOCK_JUMP", file("jump")).env("CONVOKE_TEST_CLOCK_SLEPT", file("slept"));
        Process::start(answer).wait().exits(0);
        let ended = process.wait();
        assert!(matches!(ended.code, Some(0 | 5)), "{ended}");
        if ended.code == Some(5) {
            world.convoke(&["resume", &run, "--silent"]).exits(0);
        }
        let at: Vec<u64> =
            Events::of(&world, &run).0.iter().map(|event| event["at"].as_u64().expect("a time")).collect();
        assert!(at.is_sorted(), "a jump of {jump} s: {at:?}");
        let most = u64::try_from(HALF_AN_HOUR.as_micros()).expect("it fits");
        assert!(
            at.windows(2).all(|pair| pair[1] - pair[0] < most),
            "a jump of {jump} s is in no duration: {at:?}"
        );
        world.convoke(&["verify", &run]).exits(0);
    }
}

/// More than any of these runs takes, less than any jump of the date.
const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

/// How a process comes to see other clocks than the owner of a run.
fn other_clocks() -> Vec<(&'static str, Way)> {
    let mut ways: Vec<(&'static str, Way)> = vec![
        ("a day later", |world, args| {
            with_variable(world, args, "CONVOKE_TEST_CLOCK_JUMP", &DAY.to_string())
        }),
        ("an hour before", |world, args| with_variable(world, args, "CONVOKE_TEST_CLOCK_JUMP", "-3600")),
        ("after a suspension", |world, args| {
            world.write("asleep", "100000");
            let file = world.work().join("asleep").display().to_string();
            with_variable(world, args, "CONVOKE_TEST_CLOCK_SLEPT", &file)
        }),
    ];
    match can_shift_clocks() {
        true => ways.push(("in a time namespace", shifted)),
        false => eprintln!("skipped: no time namespace can be made here"),
    }
    ways
}

type Way = fn(&World, &[&str]) -> Command;

fn with_variable(world: &World, args: &[&str], name: &str, value: &str) -> Command {
    let mut command = world.command(args);
    command.env(name, value);
    command
}

fn unshare() -> Command {
    let mut command = Command::new("unshare");
    command.args(["-T", "--boottime", "100000", "--monotonic", "50000"]);
    command
}

fn can_shift_clocks() -> bool {
    unshare().arg("true").stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn shifted(world: &World, args: &[&str]) -> Command {
    let mut command = unshare();
    command.arg(support::binary()).args(args);
    world.prepared(command)
}

/// A process that sees other clocks takes no run from an owner that is alive, and tells its name.
#[test]
fn no_clock_has_the_lease_of_a_live_owner_run_out() {
    let world = World::with_workflow(WAITS);
    let process = world.start(&["run", "w.yaml", "--silent"]);
    until("the script has begun", || !world.read("began").is_empty());
    let run = world.run();
    let name = format!("driven by process {} ", process.pid().as_raw_nonzero());
    for (what, way) in other_clocks() {
        let said = Process::start(way(&world, &["resume", &run, "--silent"])).wait();
        assert_eq!(said.code, Some(6), "{what}\n{said}");
        said.mentions(&[&name]);
    }
    assert_eq!(Events::of(&world, &run).count("run_owned"), 1, "it has one owner all along");
    process.signal(Signal::KILL);
}

/// Two runs share one place. The second process sees other clocks, and waits until the first has given the place back.
#[test]
fn no_clock_has_the_lease_of_a_live_holder_run_out() {
    let holds = "workflow: {name: h, entry_point: s}\nagents:\n  - {name: s, type: script, command: sh, idempotent: true, args: [-c, 'echo begun >>book; while [ ! -e go ]; do sleep 0.01; done; echo done >>book']}\noutput: {n: '{{ s.output.exit_code }}'}\n";
    let wants = "workflow: {name: o, entry_point: s}\nagents:\n  - {name: s, type: script, command: sh, idempotent: true, args: [-c, 'echo other >>book']}\noutput: {n: '{{ s.output.exit_code }}'}\n";
    for (what, way) in other_clocks() {
        let world = World::with_workflow(holds);
        world.write("convoke.toml", "machine_concurrency = 1\nlease_seconds = 10\n");
        world.write("other.yaml", wants);
        let first = world.start(&["run", "w.yaml", "--silent"]);
        until("the first has its place", || world.read("book") == "begun\n");
        let second = Process::start(way(&world, &["run", "other.yaml", "--silent"]));
        until("the second waits", || {
            let runs = world.runs();
            runs.len() == 2 && runs.iter().any(|run| Events::of(&world, run).count("blocked") > 0)
        });
        // What reads and settles leases does so with its clock, too.
        Process::start(way(&world, &["capacity"])).wait().exits(0);
        assert_eq!(world.read("book"), "begun\n", "{what}");
        world.write("go", "");
        first.wait().exits(0);
        second.wait().exits(0);
        assert_eq!(world.read("book"), "begun\ndone\nother\n", "{what}");
    }
}

#[test]
fn a_time_namespace_of_its_own_fires_no_timer() {
    if !can_shift_clocks() {
        return eprintln!("skipped: no time namespace can be made here");
    }
    let (world, run) = killed();
    let command = shifted(&world, &["resume", &run, "--silent"]);
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
