//! Work that another process performs: `run --share` and `convoke work`.
//!
//! The judges are outside: scripts write down which process started them, and a model service counts requests.

use crate::support;

use convoke_capacity::{Capacity, Identity, Options};
use convoke_model::fnv;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use support::World;
use support::journal::Events;
use support::model::Model;
use support::process::{Process, is_alive, until};

/// A for_each over so many items.
fn each(items: usize, step: &str) -> String {
    let items: Vec<String> = (0..items).map(|n| n.to_string()).collect();
    format!(
        "workflow:
  name: many
  entry_point: all
  RUNTIME
  input: {{items: {{type: array, default: [{}]}}}}
agents: []
for_each:
  - name: all
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: {}
    agent: {{name: one, {step}}}
output: {{said: '{{{{ all.outputs | json }}}}'}}
",
        items.join(", "),
        items.len()
    )
    .replace("  RUNTIME\n", "")
}

/// A script of so many items that records which process started it, and does something.
fn scripts(items: usize, does: &str, more: &str) -> World {
    // The parent is the script's supervisor, and the parent of that one has started it.
    let starter = "$(cut -d\" \" -f4 /proc/$PPID/stat)";
    let step = format!(
        "type: script, command: sh, args: [-c, 'echo {starter} $$ {{{{ item }}}} >> log; {does}']{more}"
    );
    World::with_workflow(&each(items, &step))
}

/// A script that goes on when two processes have started scripts, so that both have had their part however slow they are; alone
/// it does not wait.
const BOTH: &str =
    "[ -e alone ] || while [ $(cut -d\\  -f1 log | sort -u | wc -l) -lt 2 ]; do sleep 0.02; done";

/// A script that goes on until the test lets it.
const UNTIL_GO: &str = "while [ ! -e go ]; do sleep 0.01; done; echo {{ item }}";

/// Starts a process that works for others and waits until it says that it would take tasks.
fn worker(world: &World) -> Process {
    worker_as(world, world.command(&["work", "--at-once", "4"]))
}

fn worker_as(world: &World, command: std::process::Command) -> Process {
    let folder = command.get_current_dir().expect("it is set").display().to_string();
    let worker = Process::start(command);
    let identity = Identity { working_dir: fnv(format!("dir:{folder}").bytes()), ..Identity::default() };
    let table =
        Capacity::open(&world.state().join("capacity"), &identity, Options::default()).expect("a table");
    until("somebody would take tasks", || table.spare_elsewhere() > 0);
    worker
}

/// Lets a worker end what it has begun.
fn dismissed(worker: Process) -> String {
    worker.signal(Signal::INT);
    worker.wait().exits(130).stderr
}

fn pid(process: &Process) -> i32 {
    process.pid().as_raw_nonzero().get()
}

/// Which process started which script for which item, in order.
fn log(world: &World) -> Vec<(i32, i32, u32)> {
    let read = |line: &str| {
        let mut words = line.split(' ').map(|word| word.parse::<i32>().expect("a number"));
        let mut next = || words.next().expect("three words");
        (next(), next(), next() as u32)
    };
    world.read("log").lines().map(read).collect()
}

fn by_starter(world: &World) -> BTreeMap<i32, Vec<u32>> {
    let mut by: BTreeMap<i32, Vec<u32>> = BTreeMap::new();
    log(world).into_iter().for_each(|(starter, _, item)| by.entry(starter).or_default().push(item));
    by
}

fn taken(world: &World) -> usize {
    Events::of(world, &world.runs()[0]).count("attempt_taken")
}

/// Starts a run of two scripts of which the worker performs one, and waits until both run.
fn half_lent(world: &World, worker: &Process) -> Process {
    let run = world.start(&["run", "w.yaml", "--share", "--keep", "1"]);
    until("both scripts run", || log(world).len() == 2);
    assert!(by_starter(world).contains_key(&pid(worker)), "{:?}", log(world));
    run
}

#[test]
fn a_worker_performs_some_of_the_tasks_and_each_is_performed_once() {
    let world = scripts(40, &format!("{BOTH}; echo {{{{ item }}}}"), "");
    world.write("alone", "");
    let alone = world.convoke(&["run", "w.yaml"]).exits(0);
    for file in ["log", "alone"] {
        std::fs::remove_file(world.work().join(file)).expect("it is there");
    }
    let worker = worker(&world);
    let shared = world.convoke(&["run", "w.yaml", "--share", "--keep", "2"]).exits(0);
    assert_eq!(shared.stdout, alone.stdout, "the same result as alone");
    let by = by_starter(&world);
    assert_eq!(by.len(), 2, "{by:?}");
    let items: Vec<_> = by.values().flatten().copied().collect();
    assert_eq!((items.len(), items.iter().collect::<BTreeSet<_>>().len()), (40, 40), "each once");
    let done = by[&pid(&worker)].len();
    assert_eq!(taken(&world), done, "and the journal says so");
    let task = Events::of(&world, &world.runs()[0]).attempts("attempt_taken")[0].0.clone();
    let shown = world.convoke(&["show", &world.runs()[0], &task]).exits(0).stdout;
    assert!(shown.contains(&format!("performed by process {}", pid(&worker))), "{shown}");
    let said = dismissed(worker);
    assert!(said.contains(&format!("performed {done} task")), "{said}");
}

#[test]
fn nobody_takes_a_task_of_a_run_that_does_not_share() {
    let world = scripts(8, "sleep 0.1", "");
    let worker = worker(&world);
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!((by_starter(&world).len(), taken(&world)), (1, 0));
    assert!(dismissed(worker).contains("performed 0 tasks"));
}

#[test]
fn a_worker_leaves_when_nothing_is_offered() {
    let world = World::new();
    world.convoke(&["work", "--idle-seconds", "0"]).exits(0).prints_nothing();
}

#[test]
fn a_run_with_room_takes_tasks_of_another_one() {
    let world = scripts(16, BOTH, "");
    let idle = format!(
        "workflow: {{name: idle, entry_point: a}}\nagents: [{{name: a, type: script, command: sh, args: [-c, '{}']}}]\n",
        UNTIL_GO.replace("{{ item }}", "it")
    );
    world.write("idle.yaml", idle);
    let run = worker_as(&world, world.command(&["run", "idle.yaml", "--share", "--keep", "3"]));
    world.convoke(&["run", "w.yaml", "--share", "--keep", "1"]).exits(0);
    let by = by_starter(&world);
    assert!(by.len() == 2 && !by[&pid(&run)].is_empty(), "{by:?}");
    world.write("go", "");
    run.wait().exits(0);
}

#[test]
fn a_process_in_another_folder_or_with_another_value_takes_nothing() {
    let world = scripts(8, "sleep 0.05", ", env: {A: '${COLOUR}'}").env("COLOUR", "red");
    let mut elsewhere = world.command(&["work"]);
    elsewhere.current_dir(world.state());
    let mut blue = world.command(&["work"]);
    blue.env("COLOUR", "blue");
    let mut without = world.command(&["work"]);
    without.env_remove("COLOUR");
    let workers: Vec<_> = [elsewhere, blue, without].map(|command| worker_as(&world, command)).into();
    world.convoke(&["run", "w.yaml", "--share", "--keep", "1"]).exits(0);
    assert_eq!((by_starter(&world).len(), taken(&world)), (1, 0));
    for worker in workers {
        assert!(dismissed(worker).contains("performed 0 tasks"));
    }
}

#[test]
fn a_killed_workers_script_is_ended_and_a_person_is_asked() {
    let world = scripts(2, UNTIL_GO, "");
    let mut worker = worker(&world);
    let run = half_lent(&world, &worker);
    let lent = log(&world).into_iter().find(|(starter, ..)| *starter == pid(&worker)).expect("its script").1;
    worker.kill();
    until("the script is gone", || !is_alive(lent));
    world.write("go", "");
    run.wait().exits(5).mentions(&["was cut off, and its outcome is unknown; run it again?"]);
    assert_eq!(log(&world).len(), 2, "nothing was run again");
    assert_eq!(Events::of(&world, &world.run()).count("attempt_lost"), 1);
}

#[test]
fn a_killed_workers_script_is_run_again_where_that_does_no_harm() {
    let world = scripts(2, UNTIL_GO, ", idempotent: true");
    let mut worker = worker(&world);
    let run = half_lent(&world, &worker);
    worker.kill();
    world.write("go", "");
    run.wait().exits(0);
    let by = by_starter(&world);
    let all: usize = by.values().map(Vec::len).sum();
    assert_eq!((by.len(), all), (2, 3), "{by:?}");
}

#[test]
fn a_worker_that_is_dismissed_in_the_middle_gives_the_task_up() {
    let world = scripts(2, UNTIL_GO, ", idempotent: true");
    let worker = worker(&world);
    let run = half_lent(&world, &worker);
    worker.signal(Signal::TERM);
    worker.wait().exits(143).mentions(&["performed 0 tasks"]);
    world.write("go", "");
    run.wait().exits(0);
    assert_eq!(Events::of(&world, &world.run()).count("attempt_lost"), 1);
}

#[test]
fn a_worker_ends_what_it_does_for_an_owner_that_was_killed() {
    let world = scripts(2, UNTIL_GO, ", idempotent: true");
    let worker = worker(&world);
    let mut run = half_lent(&world, &worker);
    let lent = log(&world).into_iter().find(|(starter, ..)| *starter == pid(&worker)).expect("its script").1;
    run.kill();
    until("the script is gone", || !is_alive(lent));
    assert!(dismissed(worker).contains("performed 0 tasks"));
    let resumed = world.start(&["resume", &world.run()]);
    until("both were cut off, and run again", || log(&world).len() == 4);
    let socket = world.state().join("runs").join(world.run()).join("share.sock");
    assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok(), "a run that shares goes on so");
    world.write("go", "");
    resumed.wait().exits(0);
    assert!(!socket.exists());
}

#[test]
fn what_is_stopped_at_the_owner_is_stopped_at_the_worker() {
    let world = scripts(2, UNTIL_GO, "");
    let worker = worker(&world);
    let run = half_lent(&world, &worker);
    let scripts: Vec<_> = log(&world).into_iter().map(|(_, script, _)| script).collect();
    world.convoke(&["stop", "--now", &world.run()]).exits(0);
    run.wait().exits(130);
    assert!(!scripts.into_iter().any(is_alive));
    assert_eq!(Events::of(&world, &world.run()).count("attempt_lost"), 0);
    dismissed(worker);
}

#[test]
fn whoever_is_killed_when_every_task_ends_once_with_the_same_result() {
    let world = scripts(60, "sleep 0.05; echo {{ item }}", ", idempotent: true");
    let alone = world.convoke(&["run", "w.yaml"]).exits(0);
    let mut workers: Vec<_> = (0..3).map(|_| worker(&world)).collect();
    let run = world.start(&["run", "w.yaml", "--share", "--keep", "1", "--max-concurrency", "8"]);
    for n in 1..=4 {
        let goal = 60 + n * 12;
        until("some more scripts have begun", || log(&world).len() >= goal);
        workers.remove(0).kill();
        workers.push(Process::start(world.command(&["work", "--at-once", "4"])));
    }
    let shared = run.wait().exits(0);
    assert_eq!(shared.stdout, alone.stdout);
    let events = Events::of(&world, &world.runs()[0]);
    assert_eq!(events.count("attempt_finished"), 60, "each once");
    let again = log(&world).len() - 120;
    assert!(again <= events.count("attempt_lost"), "only what was cut off ran again: {again}");
    workers.into_iter().for_each(|worker| drop(dismissed(worker)));
}

/// Agents of a service that is told what to answer.
fn agents(items: usize, model: &Model, more: &str) -> World {
    let step = format!("model: m, prompt: 'Say {{{{ item }}}}.'{more}");
    let provider = format!(
        "  name: many\n  runtime: {{provider: {{name: openai, base_url: '{}', api_key: '${{SERVICE_KEY}}'}}}}\n",
        model.url()
    );
    World::with_workflow(&each(items, &step).replace("  name: many\n", &provider))
        .env("SERVICE_KEY", "canary-0123456789")
}

fn service(replies: &Value) -> Model {
    Model::start(json!({ "m": replies }).as_object().expect("a map"))
}

#[test]
fn agents_are_lent_with_their_limits_their_pages_and_their_keys() {
    // Each answers in the wrong shape first, so each has a second turn.
    let asked = std::sync::Mutex::new(BTreeSet::new());
    let model = Model::answering(move |request| {
        let prompt = request["messages"].to_string();
        let item = prompt.split("Say ").nth(1).and_then(|rest| rest.split('.').next()).unwrap_or_default();
        let again = !asked.lock().expect("nobody panics").insert(item.to_owned());
        let say = if again { json!({ "n": item }).to_string() } else { "no shape".to_owned() };
        // Two stay with the owner, so a third at once is lent.
        json!({ "say": say, "at_once": 3 })
    });
    let world = agents(12, &model, ", output: {n: {type: string}}");
    world.write("convoke.toml", "[limits.models.openai]\nconcurrency = 3\n");
    let worker = worker(&world);
    let said = world.convoke(&["run", "w.yaml", "--share", "--keep", "2"]).exits(0);
    let all: Vec<_> = (0..12).map(|n| json!({ "n": n.to_string() })).collect();
    assert_eq!(said.json()["said"], Value::from(all));
    assert_eq!(model.asked().len(), 24, "each asked twice, and nothing twice");
    assert!(model.most_at_once() <= 3, "{} at once", model.most_at_once());
    let events = Events::of(&world, &world.run());
    assert!(events.count("attempt_taken") > 0, "some were lent");
    assert_eq!((events.count("attempt_finished"), events.count("attempt_failed")), (12, 0));
    assert_eq!(events.count("turn_recorded"), 12, "every first turn is written down by the owner");
    dismissed(worker);
}

#[test]
fn an_agent_whose_worker_is_killed_goes_on_here() {
    let model =
        service(&json!([{ "say": "one", "delay_ms": 2000 }, { "say": "two", "delay_ms": 2000 }, "three"]));
    let world = agents(2, &model, "");
    let mut worker = worker(&world);
    let run = world.start(&["run", "w.yaml", "--share", "--keep", "1"]);
    until("both ask", || model.asked().len() == 2);
    worker.kill();
    run.wait().exits(0);
    let events = Events::of(&world, &world.run());
    assert_eq!((events.count("attempt_taken"), events.count("attempt_lost")), (1, 1));
    assert_eq!(model.asked().len(), 3);
}

#[test]
fn a_worker_that_is_stopped_for_too_long_is_given_up_on() {
    let model =
        service(&json!([{ "say": "one", "delay_ms": 3000 }, { "say": "two", "delay_ms": 3000 }, "three"]));
    let world = agents(2, &model, "").env("CONVOKE_LEASE_SECONDS", "1");
    let worker = worker(&world);
    let run = world.start(&["run", "w.yaml", "--share", "--keep", "1"]);
    until("both ask", || model.asked().len() == 2);
    worker.signal(Signal::STOP);
    until("somebody asks again", || model.asked().len() == 3);
    worker.signal(Signal::CONT);
    run.wait().exits(0);
    let events = Events::of(&world, &world.run());
    assert_eq!((events.count("attempt_lost"), events.count("attempt_finished")), (1, 2));
    assert_eq!(model.asked().len(), 3, "and the worker that woke up asked nothing more");
    assert!(dismissed(worker).contains("performed 0 tasks"));
}

#[test]
fn what_a_stopped_worker_holds_counts_until_it_goes_on() {
    // Two at once, one of them by a worker that is taken for silent long before its call is answered.
    let long = |word: &str| json!({ "say": word, "hold": true });
    let model = service(&json!([long("one"), long("two"), { "say": "more", "delay_ms": 10 }]));
    let world = agents(3, &model, "").env("CONVOKE_LEASE_SECONDS", "1");
    world.write("convoke.toml", "[limits.models.openai]\nconcurrency = 2\n");
    let worker = worker(&world);
    let run = world.start(&["run", "w.yaml", "--share", "--keep", "1"]);
    until("two ask", || model.asked().len() == 2);
    worker.signal(Signal::STOP);
    run.await_words("is silent");
    let held = world.convoke(&["capacity", "--format", "json"]).exits(0).json();
    let limits = held["limits"].as_array().expect("a list").iter();
    let mut names = limits.map(|limit| (limit["name"].as_str().unwrap_or_default(), &limit["in_use"]));
    let provider = names.find(|(name, _)| name.starts_with("provider:"));
    assert_eq!(provider.map(|(_, in_use)| in_use), Some(&json!(2)), "both calls count");
    assert_eq!(model.asked().len(), 2, "nobody else asks");
    worker.signal(Signal::CONT);
    model.release();
    run.wait().exits(0);
    let events = Events::of(&world, &world.run());
    assert_eq!((events.count("attempt_lost"), events.count("attempt_finished")), (1, 3));
    assert_eq!((model.asked().len(), model.most_at_once()), (4, 2));
    dismissed(worker);
}

#[test]
fn a_worker_that_may_not_take_what_is_offered_says_why_once() {
    let world = scripts(3, UNTIL_GO, "");
    let mut other = world.command(&["work", "--at-once", "4"]);
    other.env("HOME", "/somewhere/else");
    let other = worker_as(&world, other);
    let run = world.start(&["run", "w.yaml", "--share", "--keep", "1"]);
    other.await_words("offers work that is not taken: a variable that it needs has another value here");
    world.write("go", "");
    run.wait().exits(0);
    let said = dismissed(other);
    assert_eq!(said.matches("not taken").count(), 1, "{said}");
}
