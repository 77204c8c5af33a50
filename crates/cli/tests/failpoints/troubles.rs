//! What goes wrong with runs, and what keeps them waiting: places that no reference workflow reaches.

use super::commands::{ONE, WAITS, begin, play_to, scenario};
use super::driver::journals;
use super::scenarios::{Scenario, with_script};
use crate::support::World;
use crate::support::model::Model;
use crate::support::process::until;
use convoke_model::Event;
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;

/// All of them.
pub fn all() -> Vec<fn() -> Scenario> {
    vec![retries, cancellation, skipped, throttled, day_budget, reading_back, damaged_index, queue]
}

/// Those of which each play takes seconds: no sample has them.
pub fn slow() -> Vec<fn() -> Scenario> {
    vec![busy_journal, take_over, long_journal]
}

/// A step that fails once and is tried again after a while.
fn retries() -> Scenario {
    let file = "
workflow: {name: w, entry_point: flaky, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: flaky, prompt: p, retry: {max_attempts: 9, delay_seconds: 0.05}, routes: [{to: rest}]}
  - {name: rest, type: wait, duration: 50ms, routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}'}
";
    let world = move || {
        let world = with_script(file);
        world.write("replies.yaml", "flaky: [{fail: transient, message: a passing fault}, done]\n");
        world
    };
    scenario("retries", world, |driver| driver.drive_to_its_end(&["run", "w.yaml"]).json())
}

/// One member of a group fails, and the others are ended.
fn cancellation() -> Scenario {
    let file = "
workflow: {name: w, entry_point: both}
agents:
  - {name: fails, type: script, command: sh, idempotent: true, args: [-c, 'while [ ! -e began ]; do sleep 0.01; done'], output: {ok: {type: boolean}}}
  - {name: lives, type: script, command: sh, idempotent: true, args: [-c, 'touch began; sleep 3 & wait']}
  - {name: after, type: script, command: sh, args: [act.sh, after]}
parallel: [{name: both, agents: [fails, lives], routes: [{to: after}]}]
";
    scenario(
        "cancellation",
        move || with_script(file),
        |driver| json!(play_to(driver, &["run", "w.yaml", "--silent"], &[], 1)),
    )
}

/// A step that fails, and one that needs it.
fn skipped() -> Scenario {
    let file = "
workflow: {name: w}
agents:
  - {name: before, type: script, command: sh, args: [act.sh, before]}
  - {name: fails, needs: [before], type: script, command: sh, idempotent: true, args: [-c, 'exit 3'], output: {ok: {type: boolean}}}
  - {name: after, needs: [fails], type: script, command: sh, args: [act.sh, after]}
";
    scenario(
        "skipped",
        move || with_script(file),
        |driver| json!(play_to(driver, &["run", "w.yaml", "--silent"], &[], 1)),
    )
}

/// A service that says that this is too much, once: what was learned of it is learned by all processes together.
fn throttled() -> Scenario {
    let file = "
workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: p, retry: {max_attempts: 9, delay_seconds: 0.05}, routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}'}
";
    scenario(
        "throttled",
        move || with_script(file),
        |driver| {
            let mut asked = 0;
            let model = Model::answering(move |_| {
                asked += 1;
                if asked == 1 { json!({"status": 429, "retry_after": 0.05}) } else { json!("done") }
            });
            let provider = format!("name = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
            driver.world.write("convoke.toml", format!("[provider]\n{provider}model = \"m\"\n"));
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

fn day_budget() -> Scenario {
    let file = "
workflow:
  name: w
  entry_point: a
  runtime: {provider: {name: scripted, file: replies.yaml}, default_model: dear, max_tokens: 1000}
  cost: {pricing: {dear: {input_per_mtok: 0, output_per_mtok: 1}}}
agents:
  - {name: a, prompt: p, routes: [{to: b}]}
  - {name: b, prompt: p}
output: {b: '{{ b.output.result }}'}
";
    let world = move || {
        let world = World::with_workflow(file);
        world.write(
            "replies.yaml",
            "default: {say: done, usage: {prompt_tokens: 1, completion_tokens: 100}}\n",
        );
        world.write("convoke.toml", "[budgets.day]\nusd = 5\n");
        world
    };
    scenario("day budget", world, |driver| driver.drive_to_its_end(&["run", "w.yaml"]).json())
}

/// An agent that reads on in a long output.
fn reading_back() -> Scenario {
    let file = "
workflow: {name: w, entry_point: source, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: source, type: script, command: sh, idempotent: true, args: [-c, 'sleep 9 >/dev/null 2>&1 & yes filler words | head -c 20000; echo the needle is here']}
  - {name: reader, needs: [source], prompt: Find it., dependency_outputs: 100}
output: {found: '{{ reader.output.result }}'}
";
    let world = move || {
        let world = World::with_workflow(file);
        let replies = "reader:\n  - {tool_calls: [{name: read_result, arguments: {name: r1, find: needle}}]}\n  - the needle was found\n";
        world.write("replies.yaml", replies);
        world
    };
    scenario("reading back", world, |driver| driver.drive_to_its_end(&["run", "w.yaml"]).json())
}

/// The index of runs is damaged, and made anew.
fn damaged_index() -> Scenario {
    scenario(
        "damaged index",
        || with_script(ONE),
        |driver| {
            driver.world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
            driver.world.convoke(&["runs"]).exits(0);
            std::fs::write(
                driver.world.state().join("runs.db"),
                "no database at all, but long enough for one",
            )
            .expect("a file");
            let listed = driver.insist(&["runs", "--format", "json"]).exits(0).json();
            json!([listed.as_array().map(Vec::len), listed[0]["status"]])
        },
    )
}

/// Two runs, of which the machine takes one at a time.
fn queue() -> Scenario {
    let world = || {
        let world = with_script(WAITS);
        world.write("convoke.toml", "machine_concurrency = 1\n");
        world.write("other.yaml", ONE);
        world
    };
    scenario("queue", world, |driver| {
        let first = driver.world.start(&["run", "w.yaml", "--silent"]);
        until("the script waits", || driver.world.work().join("began").exists());
        driver.set_aside();
        let mut second = driver.start(&["run", "other.yaml", "--silent"]);
        until("it waits for its turn", || {
            let queued = driver.counted()[convoke_failpoint::position("capacity.lease.queued")] > 0;
            queued || second.has_ended()
        });
        driver.world.write("go", "");
        driver.wait(second);
        assert_eq!(first.wait().code, Some(0), "{}: the first run is not disturbed", driver.name);
        match driver.newest() {
            Some(_) => driver.drive_to_its_end(&[]).json(),
            None => driver.world.convoke(&["run", "other.yaml", "--silent"]).exits(0).json(),
        }
    })
}

/// How long an owner must be silent before it is replaced, in the scenario below.
const LEASE: Duration = Duration::from_secs(1);

/// A script that waits, and leaves a line each time that it begins.
const BEGINS: &str = r#"
workflow: {name: w, entry_point: waits}
agents:
  - {name: waits, type: script, command: sh, idempotent: true, args: [-c, 'echo x >>began; while [ ! -e go ]; do sleep 0.01; done; echo 1'], routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}'}
"#;

/// An owner that is stopped for longer than its lease while its script runs, and a process that takes its run over.
fn take_over() -> Scenario {
    let world = || {
        let world = with_script(BEGINS);
        world.write("convoke.toml", format!("lease_seconds = {}\n", LEASE.as_secs()));
        world
    };
    let scenario = scenario("take over", world, |driver| {
        let stopped = driver.world.start(&["run", "w.yaml", "--silent"]);
        until("its process is on record", || {
            let journals = journals(&driver.world, &driver.name);
            let begun =
                journals.values().flatten().any(|one| matches!(one.event, Event::ProcessStarted { .. }));
            begun && driver.world.work().join("began").exists()
        });
        let run = driver.newest().expect("a run");
        stopped.signal(Signal::STOP);
        let result = loop {
            let mut resumed = driver.start(&["resume", &run, "--silent"]);
            until("the script begins again", || {
                driver.world.read("began").lines().count() > 1 || resumed.has_ended()
            });
            if !resumed.has_ended() {
                driver.world.write("go", "");
            }
            let said = driver.wait(resumed);
            match said.code {
                Some(0) => break said.json(),
                Some(6) | None => {}
                _ => panic!("{}\n{said}", driver.name),
            }
        };
        stopped.signal(Signal::CONT);
        let said = stopped.wait();
        assert!(matches!(said.code, Some(6) | None), "{}: the old owner\n{said}", driver.name);
        result
    });
    Scenario {
        only: &["owner.", "journal.take_over.", "journal.open.", "process.leftovers.", "resume."],
        ..scenario
    }
}

/// Another process keeps the journal locked for a moment.
fn busy_journal() -> Scenario {
    scenario(
        "busy journal",
        || with_script(WAITS),
        |driver| {
            let mut process = begin(driver);
            let run = driver.newest().expect("a run");
            let path = driver.world.state().join("runs").join(run).join("journal.db");
            let lock = rusqlite::Connection::open(path).expect("a database");
            lock.busy_timeout(Duration::from_secs(60)).expect("a number");
            lock.execute_batch("BEGIN IMMEDIATE").expect("it can be locked");
            driver.world.write("go", "");
            until("an append is refused", || {
                let refused = driver.counted()[convoke_failpoint::position("engine.append.refused")] > 0;
                refused || process.has_ended()
            });
            lock.execute_batch("ROLLBACK").expect("it was locked");
            drop(lock);
            driver.wait(process);
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

/// A journal that is long enough for a snapshot: its events are calls of tools, which it leaves out.
fn long_journal() -> Scenario {
    let file = "
workflow: {name: w, entry_point: source, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: source, type: script, command: sh, idempotent: true, args: [-c, 'yes filler words | head -c 20000; echo the needle']}
  - {name: reader, needs: [source], prompt: Find it., dependency_outputs: 100}
  - {name: last, needs: [reader], type: script, command: sh, idempotent: true, args: [-c, 'for i in $(seq 3000); do ls ../state/runs/*/snapshots/* >/dev/null 2>&1 && break; sleep 0.01; done; echo 1']}
output: {found: '{{ reader.output.result }}'}
";
    let call = |number| format!("{{name: read_result, arguments: {{name: r1, find: w{number}}}}}");
    let turn = (0..600).map(call).collect::<Vec<_>>().join(", ");
    let replies = format!("reader:\n{}  - found\n", format!("  - {{tool_calls: [{turn}]}}\n").repeat(17));
    let world = move || {
        let world = World::with_workflow(file);
        world.write("replies.yaml", &replies);
        world
    };
    let scenario =
        scenario("long journal", world, |driver| driver.drive_to_its_end(&["run", "w.yaml"]).json());
    Scenario { only: &["snapshot."], ..scenario }
}
