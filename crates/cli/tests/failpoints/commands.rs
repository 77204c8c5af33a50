//! What people do to runs: places that no reference workflow reaches.

use super::driver::{Driver, journals};
use super::scenarios::{Scenario, with_script};
use crate::support::World;
use crate::support::goals::{scripted, two_tasks};
use crate::support::process::until;
use convoke_model::Event;
use rustix::process::Signal;
use serde_json::{Value, json};

/// All of them.
pub fn all() -> Vec<fn() -> Scenario> {
    vec![stop, interrupt, approve_and_guide, guide_task, detach, prune, repair, accept_changes]
}

/// A scenario whose models call for no effects.
pub fn scenario(
    name: &'static str,
    world: impl Fn() -> World + 'static,
    play: impl Fn(&mut Driver) -> Value + 'static,
) -> Scenario {
    Scenario { name, world: Box::new(world), play: Box::new(play), calls: Vec::new(), only: &[] }
}

/// A script that waits until the test lets it go on, then one with an effect.
pub const WAITS: &str = r#"
workflow: {name: w, entry_point: waits}
agents:
  - {name: waits, type: script, command: sh, idempotent: true, args: [-c, 'touch began; while [ ! -e go ]; do sleep 0.01; done; echo 1'], routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}'}
"#;

/// Starts a run and waits until its script waits; a process that dies before is followed by one that goes on.
pub fn begin(driver: &mut Driver) -> crate::support::process::Process {
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
            await_end(driver);
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

/// An agent that a person speaks to while it is at work, in a run that outlives its terminal.
fn guide_task() -> Scenario {
    scenario(
        "detach-guide",
        || {
            let world = World::with_workflow(LISTENS);
            world.write("replies.yaml", "writer: {say: about the sea, delay_ms: 600}");
            world
        },
        |driver| {
            let said = driver.convoke(&["run", "w.yaml", "--detach"]);
            if let Some(run) = said.stdout.trim().lines().next().filter(|_| said.code == Some(0)) {
                // It says the same whether it hears this in time or not; a message that may have been sent is not sent again.
                driver.convoke(&["guide", run, "--task", "writer", "be brief"]);
            }
            await_end(driver);
            driver.drive_to_its_end(&["run", "w.yaml"]).json()
        },
    )
}

const LISTENS: &str = "
workflow: {name: w, entry_point: writer, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents: [{name: writer, prompt: Write about the sea.}]
output: {text: '{{ writer.output.result }}'}
";

/// Waits until the run in the background has ended, or its process has died.
fn await_end(driver: &mut Driver) {
    until(&format!("{}: it ends", driver.name), || {
        let state = convoke_journal::StateDir::for_reading(driver.world.state());
        let runs = state.runs().expect("runs can be listed");
        driver.look()
            || !driver.died.is_empty()
            || runs.iter().any(|run| has_ended(&driver.world, &driver.name, run))
            || runs.is_empty()
    });
}

fn has_ended(world: &World, name: &str, run: &convoke_model::RunId) -> bool {
    let journals = journals(world, name);
    let ended = |events: &Vec<convoke_model::Stamped>| {
        events.iter().any(|stamped| matches!(stamped.event, Event::RunFinished { .. }))
    };
    let owner = convoke_journal::live_owner(&convoke_journal::StateDir::for_reading(world.state()), run);
    journals.get(run).is_some_and(ended) && matches!(owner, Ok(None))
}

pub const ONE: &str = "
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
pub fn play_to(driver: &mut Driver, run: &[&str], flags: &[&str], code: i32) -> bool {
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
