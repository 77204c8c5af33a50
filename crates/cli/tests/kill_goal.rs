//! Kills the golden goal (three tasks, one split into four, one of these failed and recovered) with SIGKILL and resumes it.
//!
//! Tasks and answers are those of `testkit/tests/goals/golden.rs`, where time is virtual and every commit is a place to be cut
//! off at. Here the program itself runs and is killed as soon as its journal holds N events, for several N. The answer must be
//! the undisturbed one, and the decisions about each task, with their reasons, those of the committed file: on a real clock
//! the faster task comes first, so they are compared task by task.
#![allow(clippy::print_stderr, reason = "a test of many kills says where they came")]

use crate::support;

use convoke_journal::{Reader, StateDir};
use convoke_model::Event;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use support::World;
use support::process::{PATIENCE, Process};

const GOLDEN: &str = include_str!("../../testkit/tests/golden/goal.jsonl");

/// At how many places it is killed.
const KILLS: u64 = 10;

const WORKFLOW: &str = "workflow:
  name: w
  entry_point: g
  runtime: {provider: {name: scripted, file: replies.yaml, latency_ms: 15}}
agents:
  - {name: g, type: goal, goal: write the report, policies: {fatal: [decompose, fail]}}
output: {answer: '{{ g.output | json }}'}
";

fn task(id: &str, inputs: &[&str]) -> Value {
    json!({"id": id, "description": format!("do {id}"), "inputs": inputs, "tools": [], "skip_probability": 0})
}

fn world() -> World {
    let mut chapters = task("chapters", &[]);
    chapters["estimated_tokens"] = json!(50_000);
    let done = json!({"json": {"result": "<it>", "summary": "it", "goal_achieved": true, "reason": "seen"}});
    let replies = json!({
        "g/plan": {"json": {"tasks": [task("sources", &[]), chapters, task("title", &["sources", "chapters"])]}},
        "g/2/decompose[1]": {"json": {"tasks": [task("one", &[]), task("two", &[]), task("three", &[]), task("four", &["one"])]}},
        "g/2/3/execute[1]": {"fail": "fatal", "message": "simulated fatal"},
        "g/2/3/decompose[1]": {"json": {"tasks": [task("first half", &[]), task("second half", &["first half"])]}},
        "g/execute": done, "g/reconcile": done,
        "g/finalise": {"json": {"message": "The report is written.", "next_steps": "", "issues": "", "reason": "all"}},
    });
    let world = World::with_workflow(WORKFLOW);
    world.write("replies.yaml", json!({ "replies": replies }).to_string());
    world
}

/// The journal of the run, once there is one.
fn journal(world: &World) -> Option<Reader> {
    let state = StateDir::for_reading(world.state());
    let run = state.runs().unwrap_or_default().pop()?;
    Reader::open(&state, &run).ok()
}

fn holds(world: &World) -> u64 {
    journal(world).and_then(|journal| journal.read_all().ok()).map_or(0, |events| events.len() as u64)
}

/// What was decided about each task, as the journal says.
fn decisions(world: &World) -> BTreeMap<String, Vec<Value>> {
    let events = journal(world).expect("a run was started").read_all().expect("the journal is whole");
    let decided = events.iter().filter(|stamped| matches!(stamped.event, Event::GoalDecided { .. }));
    by_task(decided.map(|stamped| serde_json::to_value(&stamped.event).expect("an event is JSON")))
}

fn by_task(events: impl Iterator<Item = Value>) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events.filter(|event| event.get("goal_decided").is_some()) {
        let about = event["goal_decided"]["about"].as_str().unwrap_or("g").to_owned();
        all.entry(about).or_default().push(event);
    }
    all
}

/// What does not differ from run to run.
fn essence(output: &Value) -> Value {
    let answer = &output["answer"];
    json!([answer["message"], answer["status"], answer["reason"], answer["tasks"]])
}

/// Kills the process as soon as the journal holds so many events; how many that were, unless it ended before.
fn kill_at(world: &World, process: &mut Process, events: u64) -> Option<u64> {
    let begin = Instant::now();
    while holds(world) < events {
        if process.has_ended() {
            return None;
        }
        assert!(begin.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {events} events");
        std::thread::yield_now();
    }
    process.kill().then(|| holds(world))
}

#[test]
fn the_golden_goal_killed_anywhere_gives_its_answer_and_its_decisions() {
    let golden = by_task(GOLDEN.lines().map(|line| serde_json::from_str(line).expect("an event")));
    let usual = world();
    let expected = essence(&usual.convoke(&["run", "w.yaml", "--silent"]).exits(0).json());
    assert_eq!(decisions(&usual), golden, "undisturbed");
    let all = holds(&usual);
    let mut landed = BTreeSet::new();
    for place in (1..=KILLS).map(|kill| kill * all / (KILLS + 1)) {
        let world = world();
        let mut process = world.start(&["run", "w.yaml", "--silent"]);
        let said = match kill_at(&world, &mut process, place) {
            Some(at) => {
                landed.insert(at);
                world.convoke(&["resume", &world.run(), "--silent"])
            }
            None => process.wait(),
        };
        assert_eq!(essence(&said.exits(0).json()), expected, "killed at {place} of {all}");
        assert_eq!(decisions(&world), golden, "killed at {place} of {all}");
    }
    eprintln!("killed after {landed:?} of about {all} events");
    assert!(landed.len() as u64 >= KILLS / 3, "too many kills came to the same places: {landed:?}");
}
