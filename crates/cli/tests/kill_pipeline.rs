//! Kills a pipeline of personas with SIGKILL at random moments and resumes it: the result is that of a run which nobody
//! disturbed, no try that was over is made again, and what it changes for other runs of the project is changed once.
//!
//! `CONVOKE_KILLS=N` kills N times (12 unless told); a failure names its seed, and CONVOKE_SEED=N tries the same moments again.
#![allow(clippy::print_stderr, reason = "a random test must say its seed")]

mod support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use support::World;
use support::journal::Events;
use support::process::{Process, until};

const MANIFEST: &str = r#"
schemaVersion: "1"
name: killed
topologies: [parallel, retry-unrolled]
personas:
  - {id: lead, displayName: Lead, systemPromptTemplate: You lead.}
  - {id: hand, displayName: Hand, systemPromptTemplate: You do.}
relationships: [{parentPersonaId: lead, childPersonaId: hand, constraints: {maxChildren: 3}}]
pipeline:
  entryNodeId: plan
  nodes:
    - {id: plan, actorId: sh, personaId: lead}
    - {id: left, actorId: sh, personaId: hand}
    - {id: right, actorId: sh, personaId: hand}
    - {id: stubborn, actorId: sh, personaId: hand}
    - {id: never, actorId: sh, personaId: hand}
    - {id: look, actorId: sh, personaId: hand}
    - {id: end, actorId: sh, personaId: lead}
  edges:
    - {from: plan, to: left, event: tasks_planned}
    - {from: plan, to: right, event: tasks_planned}
    - {from: plan, to: stubborn, when: [{type: state_flag, key: go, equals: true}]}
    - {from: left, to: never, on: failure}
    - {from: right, to: look, when: [{type: file_exists, path: work.sh}]}
    - {from: left, to: end}
    - {from: look, to: end}
    - {from: stubborn, to: end}
actors:
  sh:
    type: script
    command: sh
    args: [work.sh, "{{ phase.id }}", "{{ attempt }}", "{{ phase.depth }}", "{{ children | length }}"]
    idempotent: true
"#;

/// `plan` hands work to three and puts it together, `stubborn` is accepted at its third try, `right` and `end` change the project.
const WORK: &str = r#"
sleep 0.02
case "$1 $2 $3 $4" in
  "plan 1 0 0") echo '{"status": "success", "payload": {}, "children": [{"persona": "hand", "task": 1}, {"persona": "hand", "task": 2}, {"persona": "hand", "task": 3}]}' ;;
  "plan 1 0 3") echo '{"status": "success", "payload": {"parts": 3}, "events": [{"type": "tasks_planned"}], "flags": {"go": true}}' ;;
  "stubborn 1 0 0"|"stubborn 2 0 0") echo '{"status": "validation_fail", "payload": {}, "reason": "not yet", "project": {"taskQueue": {"upsert": [{"taskId": "s'$2'", "status": "failed"}]}}}' ;;
  "right 1 0 0") echo '{"status": "success", "payload": {}, "project": {"globalFlags": {"right": true}}}' ;;
  "end 1 0 0") echo '{"status": "success", "payload": {}, "project": {"globalFlags": {"ended": true}}}' ;;
  *) echo '{"status": "success", "payload": {"of": "'$1'"}}' ;;
esac
"#;

const CONTEXT: &str = ".convoke/project-context.json";

fn world() -> World {
    let world = World::with_workflow(MANIFEST);
    world.write("work.sh", WORK);
    world
}

fn project(world: &World) -> Value {
    world.convoke(&["project", "show", "--format", "json"]).exits(0).json()
}

/// What the file remembers of runs: nothing of one that has ended well.
fn remembered(world: &World) -> Value {
    let file: Value = serde_json::from_str(&world.read(CONTEXT)).expect("a context");
    file["convoke"]["made"].clone()
}

#[test]
fn a_pipeline_that_is_killed_at_any_moment_ends_as_if_nothing_had_happened() {
    let wanted = number("CONVOKE_KILLS").unwrap_or(12);
    let mut seed = number("CONVOKE_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let usual = world();
    let begin = Instant::now();
    let result = usual.convoke(&["run", "w.yaml", "--silent"]).exits(0).json();
    let (took, shared) = (begin.elapsed(), project(&usual));
    assert_eq!(shared["revision"], 4, "{shared:#}");
    assert_eq!(result["phases"]["never"]["status"], json!("skipped"));
    let (mut kills, mut trials) = (0, 0);
    while kills < wanted {
        eprintln!("CONVOKE_SEED={seed}");
        let world = world();
        kills += killed(&world, seed, took, &result);
        assert_eq!(project(&world), shared, "CONVOKE_SEED={seed}");
        assert_eq!(remembered(&world), json!({}), "CONVOKE_SEED={seed}");
        (seed, trials) = (seed + 1, trials + 1);
        assert!(trials <= wanted * 3 + 10, "{trials} trials gave only {kills} kills");
    }
}

#[test]
fn who_asks_for_a_run_that_was_killed_right_after_its_end_leaves_nothing_of_it_behind() {
    let world = world();
    world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
    let mut file: Value = serde_json::from_str(&world.read(CONTEXT)).expect("a context");
    file["convoke"]["made"] = json!({ world.run(): ["one/try[1]"], "another": ["x"] });
    world.write(CONTEXT, file.to_string());
    world.convoke(&["resume", &world.run(), "--silent"]).exits(0);
    assert_eq!(remembered(&world), json!({"another": ["x"]}));
}

/// Runs it with kills on the way; answers how many there were.
fn killed(world: &World, seed: u64, took: Duration, result: &Value) -> u64 {
    let mut random = seed;
    let mut kills = 0;
    let mut over: BTreeSet<String> = BTreeSet::new();
    loop {
        let mut process = start(world);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = took.mul_f64((random >> 33) as f64 / f64::from(1u32 << 31));
        let begin = Instant::now();
        until("a moment to kill", || kills >= 3 || begin.elapsed() >= moment || process.has_ended());
        if kills < 3 && process.kill() {
            kills += 1;
            over.extend(
                world.runs().first().map(|run| Events::of(world, run).finished()).unwrap_or_default(),
            );
            continue;
        }
        let said = process.wait();
        assert_eq!(said.code, Some(0), "CONVOKE_SEED={seed}\n{said}");
        assert_eq!(phases(&said.json()), phases(result), "CONVOKE_SEED={seed}");
        break;
    }
    let events = Events::of(world, &world.run());
    let twice: Vec<_> = events.attempts("attempt_finished").into_iter().map(|(task, _)| task).collect();
    let once: BTreeSet<_> = twice.iter().cloned().collect();
    assert_eq!(twice.len(), once.len(), "CONVOKE_SEED={seed}: a try ended twice");
    assert!(over.is_subset(&once), "CONVOKE_SEED={seed}");
    kills
}

/// What came of each phase; the order of what was announced is that of who was faster.
fn phases(result: &Value) -> (&Value, &Value, &Value) {
    (&result["status"], &result["phases"], &result["critical_path"])
}

fn start(world: &World) -> Process {
    match world.runs().first() {
        Some(run) => world.start(&["resume", run, "--silent"]),
        None => world.start(&["run", "w.yaml", "--silent"]),
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}
