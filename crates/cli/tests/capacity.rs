//! What people are shown of capacity that processes share, and how they change it.

use crate::support;

use serde_json::{Value, json};
use support::World;
use support::process::{Process, until};

use rustix::process::Signal;

/// A script that says that it has begun and then waits for a word.
const HELD: &str = "\
workflow: {name: held, entry_point: one}
agents:
  - {name: one, type: script, command: sh, args: [-c, 'mkfifo gate.$$; echo $$ > begun; read word < gate.$$']}
";

/// Two runs on a machine for one: the first has begun, the second waits.
struct Held {
    world: World,
    /// The script that has begun, by its process id.
    script: String,
    first: Process,
    second: Process,
}

fn held() -> Held {
    let world = World::with_workflow(HELD).env("CONVOKE_MACHINE_CONCURRENCY", "1");
    let made = std::process::Command::new("mkfifo").arg(world.work().join("begun")).status();
    assert!(made.expect("mkfifo is there").success());
    let first = world.start(&["run", "w.yaml"]);
    let script = world.read("begun");
    let second = world.start(&["run", "w.yaml"]);
    until("the other one waits", || limit(&world, "machine")["waiting"] == 1);
    Held { world, script, first, second }
}

/// Lets a script that waits for a word go on.
fn let_go(world: &World, script: &str) {
    let gate = world.work().join(format!("gate.{}", script.trim()));
    std::fs::write(gate, "go\n").expect("the script reads it");
}

/// What `convoke capacity` says about a limit.
fn limit(world: &World, name: &str) -> Value {
    let table = world.convoke(&["capacity", "--format", "json"]).exits(0).json();
    let limits = table["limits"].as_array().expect("a list").clone();
    limits.into_iter().find(|limit| limit["name"] == name).unwrap_or_default()
}

#[test]
fn where_nobody_shares_anything_that_is_said_and_no_error() {
    let world = World::new();
    for command in ["capacity", "instances"] {
        let said = world.convoke(&[command]).exits(0).prints_nothing();
        said.mentions(&["no run of this state folder has shared capacity"]);
    }
    let empty = json!({"table": null, "limits": [], "leases": [], "waiting": []});
    assert_eq!(world.convoke(&["capacity", "--format", "json"]).exits(0).json(), empty);
    assert_eq!(world.convoke(&["instances", "--format", "json"]).exits(0).json(), json!([]));
    world
        .convoke(&["capacity", "set", "machine=3"])
        .exits(2)
        .mentions(&["no limit to change", "machine_concurrency"]);
    assert!(!world.state().join("capacity").exists(), "looking makes nothing");
}

#[test]
fn limits_holders_and_waiters_are_shown_and_a_limit_is_changed_live() {
    let held = held();
    let world = &held.world;
    let (pid, other) = (held.first.pid().as_raw_pid(), held.second.pid().as_raw_pid());
    let runs = world.runs();
    let machine = limit(world, "machine");
    assert_eq!((&machine["limit"], &machine["in_use"]), (&json!(1), &json!(1)));
    assert_eq!(machine["origin"], "environment variable CONVOKE_MACHINE_CONCURRENCY");
    assert_eq!(machine["holders"][0]["pid"], pid);
    let said = world.convoke(&["capacity"]).exits(0).stdout;
    let words = [
        "LIMIT OF",
        "HELD",
        "WAITS FOR",
        "1 machine",
        &pid.to_string(),
        &other.to_string(),
        &runs[0],
        &runs[1],
    ];
    for words in words {
        assert!(said.contains(words), "no `{words}` in\n{said}");
    }
    let instances = world.convoke(&["instances", "--format", "json"]).exits(0).json();
    let instance =
        |pid: i32| instances.as_array().unwrap().iter().find(|row| row["pid"] == pid).unwrap().clone();
    assert_eq!(
        (instance(pid)["state"].as_str(), instance(other)["state"].as_str()),
        (Some("running"), Some("running"))
    );
    assert_eq!((&instance(pid)["leases"], &instance(pid)["waiting"]), (&json!(1), &json!(0)));
    assert_eq!((&instance(other)["leases"], &instance(other)["waiting"]), (&json!(0), &json!(1)));

    let said = world.convoke(&["capacity", "set", "machine=2"]).exits(0);
    assert_eq!(said.stdout, "machine: 1 -> 2\n");
    let script = world.read("begun");
    assert_ne!(script, held.script, "there is room for the other one now");
    assert_eq!(limit(world, "machine")["set"], true);
    let_go(world, &held.script);
    let_go(world, &script);
    let Held { world, first, second, .. } = held;
    first.wait().exits(0);
    second.wait().exits(0);
    let waited = instance(other)["run"].as_str().unwrap().to_owned();
    let events = world.convoke(&["events", &waited]).exits(0).stdout;
    assert!(events.contains("convoke capacity set"), "the change is in the journal\n{events}");
    let shown = world.convoke(&["show", &waited]).exits(0).stdout;
    assert!(shown.contains("blocked on machine"), "{shown}");
    assert!(shown.contains("limit     machine 1 -> 2"), "{shown}");
}

#[test]
fn nonsense_changes_nothing() {
    let held = held();
    let set = |what: &str| held.world.convoke(&["capacity", "set", what]);
    set("machin=3").exits(2).mentions(&["no limit `machin`", "did you mean `machine`?"]);
    set("gpu=3").exits(2).mentions(&[
        "no limit `gpu`",
        "limits in use: machine",
        "convoke.toml: limits.resources.gpu = N",
    ]);
    set("machine=0").exits(2).mentions(&["for ever", "convoke stop"]);
    for wrong in ["machine=-1", "machine=many", "machine=1000001", "machine=99999999999", "machine="] {
        set(wrong).exits(2).mentions(&["expected a whole number from 1 to 1000000"]);
    }
    set("machine").exits(2).mentions(&["expected NAME=N"]);
    held.world.convoke(&["capacity", "set", "machine=3", "gpu=1"]).exits(2);
    assert_eq!(limit(&held.world, "machine")["limit"], 1);
}

#[test]
fn a_process_that_is_stopped_is_shown_as_such_and_one_that_was_killed_is_gone() {
    let mut held = held();
    let pid = held.first.pid().as_raw_pid();
    let state = |world: &World| {
        let instances = world.convoke(&["instances", "--format", "json"]).exits(0).json();
        let rows = instances.as_array().expect("a list").iter();
        let mine = rows.filter(|row| row["pid"] == pid).map(|row| row["state"].to_string());
        mine.collect::<String>()
    };
    held.first.signal(Signal::STOP);
    until("it is stopped", || state(&held.world) == "\"stopped\"");
    held.first.signal(Signal::CONT);
    until("it goes on", || state(&held.world) == "\"running\"");
    held.first.kill();
    assert_ne!(state(&held.world), "\"running\"");
}

/// A run that begins and waits, on a machine for one run; the second and the third one wait for it.
fn one_at_a_time() -> (World, String, Vec<Process>) {
    let world = World::with_workflow(HELD).env("CONVOKE_ORCHESTRATIONS", "1");
    let made = std::process::Command::new("mkfifo").arg(world.work().join("begun")).status();
    assert!(made.expect("mkfifo is there").success());
    let first = world.start(&["run", "w.yaml"]);
    let script = world.read("begun");
    let mut runs = vec![first];
    for waiting in 1..=2 {
        runs.push(world.start(&["run", "w.yaml"]));
        until("it waits for its place", || limit(&world, "orchestrations")["waiting"] == waiting);
    }
    (world, script, runs)
}

#[test]
fn runs_at_once_are_limited_for_all_processes_and_come_in_their_order() {
    let (world, mut script, runs) = one_at_a_time();
    let held = limit(&world, "orchestrations");
    assert_eq!((&held["limit"], &held["in_use"]), (&json!(1), &json!(1)), "{held}");
    assert_eq!(held["origin"], "environment variable CONVOKE_ORCHESTRATIONS");
    assert_eq!(limit(&world, "machine")["in_use"], 1, "who waits for a place holds nothing of the machine");
    let pids: Vec<_> = runs.iter().map(|run| run.pid().as_raw_nonzero().get()).collect();
    runs[1].await_words("waits for orchestrations");
    for (turn, run) in runs.into_iter().enumerate() {
        let holders = limit(&world, "orchestrations")["holders"].clone();
        assert_eq!(holders[0]["pid"], pids[turn], "first come, first served");
        let_go(&world, &script);
        assert_eq!(run.wait().code, Some(0));
        if turn < 2 {
            script = world.read("begun");
        }
    }
}

#[test]
fn the_place_of_a_run_that_is_killed_goes_to_the_next() {
    let (world, _, mut runs) = one_at_a_time();
    runs[0].kill();
    let script = world.read("begun");
    assert_eq!(limit(&world, "orchestrations")["in_use"], 1);
    assert!(runs[1].pid().as_raw_nonzero().get() > 0);
    world.convoke(&["capacity", "set", "orchestrations=2"]).exits(0);
    let other = world.read("begun");
    for script in [script, other] {
        let_go(&world, &script);
    }
    for run in runs.drain(1..) {
        assert_eq!(run.wait().code, Some(0));
    }
}

#[test]
fn a_step_may_need_ten_things_at_once() {
    let names: Vec<_> = (0..10).map(|n| format!("r{n}")).collect();
    let needs = names.iter().map(|name| format!("{name}: 1")).collect::<Vec<_>>().join(", ");
    let world = World::with_workflow(&format!(
        "workflow: {{name: many, entry_point: one}}
agents:
  - {{name: one, type: script, command: echo, args: [done], resources: {{{needs}}}}}
"
    ));
    let limits: String = names.iter().map(|name| format!("{name} = 1\n")).collect();
    world.write("convoke.toml", format!("[limits.resources]\n{limits}"));
    world.convoke(&["run", "w.yaml"]).exits(0);
}

#[test]
fn a_step_that_waits_for_more_than_a_lowered_limit_fails_and_says_so() {
    let world = World::with_workflow(
        "\
workflow: {name: cards, entry_point: both}
parallel:
  - {name: both, agents: [one, two], failure_mode: continue_on_error}
agents:
  - name: one
    type: script
    command: sh
    args: [-c, 'mkfifo gate.$$; echo $$ > begun; read word < gate.$$']
    resources: {gpu: 4}
  - {name: two, type: script, command: echo, args: [never], resources: {gpu: 3}}
",
    );
    world.write("convoke.toml", "[limits.resources]\ngpu = 4\n");
    let made = std::process::Command::new("mkfifo").arg(world.work().join("begun")).status();
    assert!(made.expect("mkfifo is there").success());
    let run = world.start(&["run", "w.yaml"]);
    let script = world.read("begun");
    world.convoke(&["capacity", "set", "gpu=2"]).exits(0);
    run.await_words("3 are needed and the limit is 2");
    let_go(&world, &script);
    let said = run.wait();
    assert!(said.stderr.contains("step `two` cannot start"), "{said}");
}

#[test]
fn what_took_long_in_an_earlier_run_goes_first_in_the_next() {
    let world = World::with_workflow(
        "\
workflow: {name: order, entry_point: both, limits: {max_concurrency: 1}}
parallel:
  - {name: both, agents: [quick, slow]}
agents:
  - {name: quick, type: script, command: sh, args: [-c, 'echo quick >> log']}
  - {name: slow, type: script, command: sh, args: [-c, 'echo slow >> log; sleep 3']}
",
    );
    for _ in 0..2 {
        world.convoke(&["run", "w.yaml"]).exits(0);
    }
    assert_eq!(world.read("log"), "quick\nslow\nslow\nquick\n");
}

#[test]
fn what_somebody_has_set_goes_over_the_configuration_of_runs_that_start_later() {
    let world = World::with_workflow(
        "workflow: {name: cards, entry_point: one}
agents:
  - {name: one, type: script, command: echo, args: [done], resources: {gpu: 2}}
",
    );
    world.write("one.yaml", world.read("w.yaml").replace("gpu: 2", "gpu: 1"));
    world.write("convoke.toml", "[limits.resources]\ngpu = 1\n");
    world.convoke(&["run", "w.yaml"]).exits(3).mentions(&["there will never be more than 1"]);
    world.convoke(&["run", "one.yaml"]).exits(0);
    world.convoke(&["capacity", "set", "gpu=2"]).exits(0);
    world.convoke(&["run", "w.yaml"]).exits(0);
    world.convoke(&["capacity", "set", "gpu=1"]).exits(0);
    world.convoke(&["run", "w.yaml"]).exits(3).mentions(&["there will never be more than 1", "capacity set"]);
}

#[test]
fn a_process_that_asks_for_another_machine_than_there_is_is_told() {
    let held = held();
    let mut other = held.world.command(&["run", "w.yaml"]);
    other.env("CONVOKE_MACHINE_CONCURRENCY", "7");
    let other = Process::start(other);
    other.await_words("machine_concurrency 1 is in force (environment variable CONVOKE_MACHINE_CONCURRENCY); this process asked for 7");
}

#[test]
fn who_waits_for_a_rate_is_shown_with_what_it_waits_for() {
    let model = support::model::Model::start(json!({"m": "well"}).as_object().expect("an object"));
    let world = World::with_workflow(&format!(
        "workflow:
  name: slow
  entry_point: both
  runtime: {{provider: {{name: vllm, base_url: '{}'}}, default_model: m}}
parallel: [{{name: both, agents: [a, b]}}]
agents: [{{name: a, prompt: hi}}, {{name: b, prompt: ho}}]
",
        model.url()
    ));
    world.write("convoke.toml", "[limits.models.vllm]\nrequests_per_minute = 1\n");
    let run = world.start(&["run", "w.yaml"]);
    let pid = run.pid().as_raw_nonzero().get();
    let mut shown = Value::Null;
    until("it is shown", || {
        shown = world.convoke(&["capacity", "--format", "json"]).exits(0).json()["waiting_in_runs"].clone();
        shown.as_array().is_some_and(|waiting| !waiting.is_empty())
    });
    assert_eq!((&shown[0]["pid"], &shown[0]["demands"]), (&json!(pid), &json!(1)), "{shown}");
    assert!(shown[0]["for"].as_str().is_some_and(|name| name.starts_with("requests:vllm")), "{shown}");
    let text = world.convoke(&["capacity"]).exits(0).stdout;
    assert!(text.contains("WAITS FOR") && text.contains("requests:vllm"), "{text}");
}
