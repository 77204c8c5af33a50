//! What people do to runs, and what goes wrong with them: the places that no reference workflow reaches.

use super::driver::{Driver, journals};
use super::scenarios::{Scenario, with_script};
use crate::support::World;
use crate::support::goals::{scripted, two_tasks};
use crate::support::process::until;
use convoke_model::Event;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::Duration;

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![
        stop(),
        interrupt(),
        approve_and_guide(),
        detach(),
        prune(),
        repair(),
        accept_changes(),
        retries(),
        cancellation(),
        day_budget(),
        reading_back(),
        damaged_index(),
        queue(),
    ]
}

fn scenario(
    name: &'static str,
    world: impl Fn() -> World + 'static,
    play: impl Fn(&mut Driver) -> Value + 'static,
) -> Scenario {
    Scenario { name, world: Box::new(world), play: Box::new(play), calls: Vec::new(), only: &[] }
}

/// A script that waits until the test lets it go on, then one with an effect.
const WAITS: &str = r#"
workflow: {name: w, entry_point: waits}
agents:
  - {name: waits, type: script, command: sh, idempotent: true, args: [-c, 'touch began; while [ ! -e go ]; do sleep 0.01; done; echo 1'], routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}'}
"#;

/// Starts a run and waits until its script waits; a process that dies before is followed by one that goes on.
fn begin(driver: &mut Driver) -> crate::support::process::Process {
    for _ in 0..10 {
        let mut process = match driver.newest() {
            Some(run) => driver.start(&["resume", &run, "--silent"]),
            None => driver.start(&["run", "w.yaml", "--silent"]),
        };
        until(&format!("{}: the script waits", driver.name), || {
            driver.world.work().join("began").exists() || process.has_ended()
        });
        if !process.has_ended() {
            return process;
        }
        driver.wait(process);
    }
    panic!("{}: it does not begin", driver.name);
}

/// Another process stops the run; it goes on later.
fn stop() -> Scenario {
    scenario(
        "stop",
        || with_script(WAITS),
        |driver| {
            let process = begin(driver);
            if let Some(run) = driver.newest() {
                driver.insist(&["stop", &run, "--now"]);
            }
            let said = driver.wait(process);
            assert!(matches!(said.code, Some(130) | None), "{}\n{said}", driver.name);
            driver.world.write("go", "");
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

/// Two signals, one after the other.
fn interrupt() -> Scenario {
    scenario(
        "interrupt",
        || with_script(WAITS),
        |driver| {
            let mut process = begin(driver);
            process.signal(Signal::TERM);
            until("it hears the signal", || {
                let heard = driver.counted()[convoke_failpoint::position("signal.heard")] > 0;
                heard || process.has_ended()
            });
            process.signal(Signal::TERM);
            let said = driver.wait(process);
            assert!(matches!(said.code, Some(143) | None), "{}\n{said}", driver.name);
            driver.world.write("go", "");
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

/// A goal whose plan a person approves, and that is guided meanwhile.
fn approve_and_guide() -> Scenario {
    scenario(
        "guide",
        || scripted(&two_tasks(), ""),
        |driver| {
            let goal = ["goal", "count", "--approve-plan", "--silent"];
            loop {
                let said = match driver.newest() {
                    Some(run) => driver.convoke(&["resume", &run, "--silent"]),
                    None => driver.convoke(&goal),
                };
                if said.code == Some(5) {
                    break;
                }
                assert_eq!(said.code, None, "{}\n{said}", driver.name);
            }
            let run = driver.newest().expect("it waits");
            // A message that may have been sent is not sent again: that would be another one.
            driver.convoke(&["guide", &run, "use", "metric units"]);
            driver.drive_to_its_end(&goal).json()["message"].clone()
        },
    )
}

/// A run that outlives its terminal.
fn detach() -> Scenario {
    scenario(
        "detach",
        || with_script(WAITS),
        |driver| {
            driver.world.write("go", "");
            let said = driver.convoke(&["run", "w.yaml", "--detach"]);
            if let Some(run) = said.stdout.trim().lines().next().filter(|_| said.code == Some(0)) {
                assert_eq!(driver.newest().as_deref(), Some(run), "{}: a name is that of a run", driver.name);
            }
            until(&format!("{}: it ends", driver.name), || {
                let state = convoke_journal::StateDir::for_reading(driver.world.state());
                let runs = state.runs().expect("runs can be listed");
                driver.look()
                    || !driver.died.is_empty()
                    || runs.iter().any(|run| has_ended(&driver.world, &driver.name, run))
                    || runs.is_empty()
            });
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

fn has_ended(world: &World, name: &str, run: &convoke_model::RunId) -> bool {
    let journals = journals(world, name);
    let ended = |events: &Vec<convoke_model::Stamped>| {
        events.iter().any(|stamped| matches!(stamped.event, Event::RunFinished { .. }))
    };
    let owner = convoke_journal::live_owner(&convoke_journal::StateDir::for_reading(world.state()), run);
    journals.get(run).is_some_and(ended) && matches!(owner, Ok(None))
}

const ONE: &str = "
workflow: {name: w, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: second}]}
  - {name: second, type: script, command: sh, args: [act.sh, second]}
output: {second: '{{ second.output.ok }}'}
";

fn prune() -> Scenario {
    scenario(
        "prune",
        || with_script(ONE),
        |driver| {
            for _ in 0..3 {
                driver.world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
            }
            driver.insist(&["prune", "--keep-last", "1", "--format", "json"]).exits(0);
            let left = driver.insist(&["runs", "--format", "json"]).exits(0).json();
            let folder = driver.world.state().join("runs");
            let entries = std::fs::read_dir(folder).expect("a folder").count();
            json!([left.as_array().map(Vec::len), entries])
        },
    )
}

fn repair() -> Scenario {
    scenario(
        "repair",
        || with_script(ONE),
        |driver| {
            driver.world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
            let run = driver.newest().expect("a run");
            let path = driver.world.state().join("runs").join(&run).join("journal.db");
            let changed =
                "UPDATE records SET hash = zeroblob(32) WHERE first = (SELECT max(first) FROM records)";
            rusqlite::Connection::open(path).expect("a database").execute(changed, []).expect("a record");
            driver.insist(&["repair", &run]).exits(0);
            driver.drive_to_its_end(&[]).json()
        },
    )
}

/// A run that fails, and goes on under another plan.
fn accept_changes() -> Scenario {
    let fails = "
workflow: {name: w, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: second}]}
  - {name: second, type: script, command: sh, args: [-c, 'exit 3']}
output: {second: '{{ second.output.ok }}'}
";
    scenario(
        "accept changes",
        move || with_script(fails),
        |driver| {
            let failed = play_to(driver, &["run", "w.yaml", "--silent"], &[], 1);
            assert!(failed, "{}: it fails", driver.name);
            let text = driver.world.read("w.yaml");
            // The index knows the run, and must look again once it goes on.
            driver.world.convoke(&["runs"]).exits(0);
            driver.world.write("w.yaml", text.replace("[-c, 'exit 3']", "[act.sh, second]"));
            play_to(driver, &[], &["--accept-changes"], 0);
            let run = driver.newest().expect("a run");
            driver.insist(&["resume", &run, "--silent"]).exits(0).json()
        },
    )
}

/// Runs and resumes until it ends with this code; questions about what is unknown are answered.
fn play_to(driver: &mut Driver, run: &[&str], flags: &[&str], code: i32) -> bool {
    for _ in 0..20 {
        let said = match driver.newest() {
            Some(run) => driver.convoke(&[&["resume", &run, "--silent"], flags].concat()),
            None => driver.convoke(run),
        };
        match said.code {
            Some(found) if found == code => return true,
            Some(5) => driver.answer_all(),
            None => {}
            // It had failed before it was killed, and is resumed: a person sees that it fails again.
            Some(1) => {}
            _ => panic!("{}\n{said}", driver.name),
        }
    }
    false
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
        let first_run = driver.newest().expect("a run");
        let mut second = driver.start(&["run", "other.yaml", "--silent"]);
        until("it waits for its turn", || {
            let queued = driver.counted()[convoke_failpoint::position("capacity.lease.queued")] > 0;
            queued || second.has_ended()
        });
        driver.world.write("go", "");
        driver.wait(second);
        assert_eq!(first.wait().code, Some(0), "{}: the first run is not disturbed", driver.name);
        let again = driver.newest().filter(|run| *run != first_run);
        match again {
            Some(_) => driver.drive_to_its_end(&[]).json(),
            None => driver.world.convoke(&["run", "other.yaml", "--silent"]).exits(0).json(),
        }
    })
}

/// How long an owner must be silent before it is replaced, in the scenario below.
const LEASE: Duration = Duration::from_secs(1);

/// An owner that is stopped for longer than its lease, and a process that takes its run over.
pub fn take_over() -> Scenario {
    let world = || {
        let world = with_script(WAITS);
        world.write("convoke.toml", format!("lease_seconds = {}\n", LEASE.as_secs()));
        world
    };
    let scenario = scenario("take over", world, |driver| {
        let stopped = driver.world.start(&["run", "w.yaml", "--silent"]);
        until("the script waits", || driver.world.work().join("began").exists());
        let run = driver.newest().expect("a run");
        until("its process is on record", || {
            let journals = journals(&driver.world, &driver.name);
            journals.values().flatten().any(|stamped| matches!(stamped.event, Event::ProcessStarted { .. }))
        });
        stopped.signal(Signal::STOP);
        driver.world.write("go", "");
        let result = loop {
            let said = driver.convoke(&["resume", &run, "--silent"]);
            match said.code {
                Some(0) => break said.json(),
                Some(6) | None => {}
                _ => panic!("{}\n{said}", driver.name),
            }
        };
        stopped.signal(Signal::CONT);
        let said = stopped.wait();
        assert!(matches!(said.code, Some(6)), "{}: the old owner\n{said}", driver.name);
        result
    });
    Scenario {
        only: &["owner.", "journal.take_over.", "journal.open.", "process.leftovers.", "resume."],
        ..scenario
    }
}

/// Another process keeps the journal locked for a moment.
pub fn busy_journal() -> Scenario {
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

/// A journal that is long enough for a snapshot.
pub fn long_journal() -> Scenario {
    let file = "
workflow: {name: w, entry_point: each, limits: {max_iterations: 20000, max_tasks: 20000}, input: {numbers: {type: array}}}
for_each:
  - name: each
    type: for_each
    source: workflow.input.numbers
    as: number
    max_concurrent: 50
    agent: {name: item, type: set, value: '{{ number }}'}
    routes: [{to: last}]
agents: [{name: last, type: script, command: sh, args: [act.sh, last]}]
output: {last: '{{ last.output.ok }}'}
";
    let world = move || {
        let world = with_script(file);
        let numbers: Vec<u32> = (0..6000).collect();
        world.write("inputs.json", json!({ "numbers": numbers }).to_string());
        world
    };
    let scenario = scenario("long journal", world, |driver| {
        driver.drive_to_its_end(&["run", "w.yaml", "--input-file", "inputs.json"]).json()
    });
    Scenario { only: &["snapshot."], ..scenario }
}
