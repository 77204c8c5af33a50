//! Runs that come from other runs: forks, reused outputs, and runs in one file.

use super::commands::scenario;
use super::driver::Driver;
use super::scenarios::{Scenario, with_script};
use crate::support::Said;
use convoke_journal::{Reader, StateDir, verify};
use convoke_model::RunId;
use serde_json::{Value, json};
use std::path::Path;

/// All of them.
pub fn all() -> Vec<fn() -> Scenario> {
    vec![fork, reuse, export_and_import]
}

/// Effects before and after the place where the fork begins, and an output that is a blob.
const THREE: &str = "
workflow: {name: w, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: large}]}
  - {name: large, type: set, values: {text: \"{{ 'lorem ipsum ' * 900 }}\"}, routes: [{to: second}]}
  - {name: second, type: script, command: sh, args: [act.sh, second], routes: [{to: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}', large: '{{ large.output.text | length }}'}
";

/// A run that has ended, which is not what the scenario is about.
fn ended_before(driver: &mut Driver) -> String {
    driver.world.convoke(&["run", "w.yaml", "--silent"]).exits(0);
    driver.set_aside()
}

fn fork() -> Scenario {
    scenario(
        "fork",
        || with_script(THREE),
        |driver| {
            let base = ended_before(driver);
            let args = ["fork", base.as_str(), "--at", "second", "--repeat-effects"];
            driver.drive_to_its_end(&args).json()
        },
    )
}

/// A run that takes the outputs of another one, but for the last step's.
fn reuse() -> Scenario {
    scenario(
        "reuse",
        || with_script(THREE),
        |driver| {
            let base = ended_before(driver);
            let text = driver.world.read("w.yaml").replace("act.sh, last", "act.sh, last, again");
            driver.world.write("w.yaml", text);
            driver.drive_to_its_end(&["run", "w.yaml", "--reuse", &base, "--repeat-effects"]).json()
        },
    )
}

/// A run that waits for a person, and a message that waits for the run.
const ASKS: &str = "
workflow: {name: w, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [act.sh, first], routes: [{to: ask}]}
  - {name: ask, type: human_gate, prompt: Go?, options: [{label: Go, value: go, route: last}]}
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {last: '{{ last.output.ok }}'}
";

/// Where runs are imported to.
const ELSEWHERE: &str = "elsewhere";

/// A run that is parked moves to another state folder, with an answer that it has not heard, and goes on there.
fn export_and_import() -> Scenario {
    scenario(
        "export and import",
        || with_script(ASKS),
        |driver| {
            driver.world.convoke(&["run", "w.yaml", "--silent"]).exits(5);
            let run = driver.newest().expect("a run");
            driver.world.convoke(&["answer", &run, "ask", "go"]).exits(0);
            export(driver, &run);
            driver.insist(&["--state-dir", ELSEWHERE, "import", "file", "--format", "json"]).exits(0);
            let (here, there) = (driver.world.state(), driver.world.work().join(ELSEWHERE));
            assert_eq!(events(&here, &run), events(&there, &run), "{}: it moved whole", driver.name);
            for folder in [&here, &there] {
                let folder = folder.display().to_string();
                let prune = ["--state-dir", &folder, "prune", "--keep-last", "100", "--format", "json"];
                driver.world.convoke(&prune).exits(0);
            }
            let resumed = driver.world.convoke(&["--state-dir", ELSEWHERE, "resume", &run, "--silent"]);
            json!([resumed.exits(0).json(), folders(&here), folders(&there)])
        },
    )
}

/// A file that is there is whole, also if the process died after its last change.
fn export(driver: &mut Driver, run: &str) {
    for _ in 0..10 {
        let said: Said = driver.convoke(&["export", run, "file"]);
        match said.code {
            Some(0) => return,
            Some(2) if said.stderr.contains("exists already") && !driver.died.is_empty() => return,
            None => {}
            _ => panic!("{}\n{said}", driver.name),
        }
    }
    panic!("{}: it is never exported", driver.name);
}

fn events(state: &Path, run: &str) -> Value {
    let (state, run) = (StateDir::for_reading(state), RunId(run.into()));
    verify(&state, &run).unwrap_or_else(|error| panic!("{error}"));
    let events = Reader::open(&state, &run).and_then(|reader| reader.read_all());
    json!(events.unwrap_or_else(|error| panic!("{error}")))
}

/// What is in the folder of runs: drafts that a death left behind are gone after the next prune.
fn folders(state: &Path) -> usize {
    std::fs::read_dir(state.join("runs")).expect("a folder").count()
}
