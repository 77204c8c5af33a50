//! Work that another process performs: `run --share` and `convoke work`.
//!
//! The judge is outside: every script writes down under which process it ran, when it begins and when it ends.

mod common;

use common::{Said, World};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Stdio};

/// Forty scripts that say who started them.
const MANY: &str = "workflow:
  name: many
  entry_point: all
agents: []
for_each:
  - name: all
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 40
    agent:
      name: one
      type: script
      command: sh
      args: [-c, 'echo $PPID {{ item }} >> log; sleep 0.1; echo {{ item }}']
output: {said: '{{ all.outputs | map(attribute=\"stdout\") | list }}'}
";

fn many(world: &World) {
    let items: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let input = format!("  input: {{items: {{type: array, default: [{}]}}}}\n", items.join(", "));
    world.write("w.yaml", MANY.replace("  entry_point: all\n", &format!("  entry_point: all\n{input}")));
}

/// A process that works for others, once it can be seen to take part.
fn worker(world: &World, args: &[&str]) -> Child {
    let all = [&["work", "--at-once", "4"], args].concat();
    let child = world.command(&all).stderr(Stdio::piped()).spawn().expect("the program runs");
    until(|| is_part(world, child.id()));
    child
}

/// Whether a process has said in the table that it would take tasks: it maps the table and its ears are open.
fn is_part(world: &World, pid: u32) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = threads.map(|thread| std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default());
    maps.contains(world.state().join("capacity").to_str().expect("a path"))
        && names.collect::<String>().contains("offers")
}

fn until(mut is_so: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed().as_secs() < 60, "it never came to that");
        std::thread::yield_now();
    }
}

fn stop(worker: Child) -> String {
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(worker.id() as i32).expect("a process"),
        rustix::process::Signal::INT,
    )
    .expect("it lives");
    let output = worker.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Which items each process ran.
fn performers(world: &World) -> BTreeMap<u32, Vec<u32>> {
    let log = std::fs::read_to_string(world.path("log")).unwrap_or_default();
    let mut by: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for line in log.lines() {
        let (pid, item) = line.split_once(' ').expect("a process and an item");
        by.entry(pid.parse().expect("a process")).or_default().push(item.parse().expect("an item"));
    }
    by
}

fn events(world: &World) -> Vec<Value> {
    let said = world.run(&["events", &world.newest(), "--format", "json"]);
    said.stdout.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

#[test]
fn a_worker_performs_some_of_the_tasks_and_each_is_performed_once() {
    let world = World::new();
    many(&world);
    let alone = world.run(&["run", "w.yaml", "--quiet"]);
    std::fs::remove_file(world.path("log")).expect("a log");
    let worker = worker(&world, &[]);
    let pid = worker.id();
    let Said { stdout, stderr, code } = world.run(&["run", "w.yaml", "--quiet", "--share", "--keep", "2"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout, alone.stdout, "the same result as alone");
    let by = performers(&world);
    assert_eq!(by.len(), 2, "{by:?}");
    let items: Vec<_> = by.values().flatten().copied().collect();
    assert_eq!((items.len(), items.iter().collect::<BTreeSet<_>>().len()), (40, 40), "each once");
    let taken = by[&pid].len();
    let noted = events(&world).iter().filter(|event| event["event"]["noted"]["code"] == "shared").count();
    assert_eq!(noted, taken, "and the journal says so");
    assert!(stop(worker).contains(&format!("performed {taken} task")));
}

#[test]
fn nobody_takes_a_task_of_a_run_that_does_not_share() {
    let world = World::new();
    many(&world);
    let worker = worker(&world, &[]);
    assert_eq!(world.run(&["run", "w.yaml", "--quiet"]).code, 0);
    assert_eq!(performers(&world).len(), 1);
    assert!(stop(worker).contains("performed 0 tasks"));
}

#[test]
fn a_worker_leaves_when_nothing_is_offered() {
    let world = World::new();
    let said = world.run(&["work", "--idle-seconds", "0"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""), "{}", said.stderr);
}
