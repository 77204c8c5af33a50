//! Tasks that another process performs: either of the two dies.

use super::commands::scenario;
use super::driver::Driver;
use super::scenarios::{Scenario, with_script};
use crate::support::process::{Process, until};
use convoke_capacity::{Capacity, Identity, Options};
use convoke_model::fnv;
use rustix::process::Signal;
use serde_json::Value;

/// All of them.
pub fn all() -> Vec<fn() -> Scenario> {
    vec![shared_with_another_process, dead_claimant]
}

/// Items that each take a while, so that there is one for either process.
fn items(step: &str) -> String {
    format!(
        "
workflow: {{name: w, entry_point: each, input: {{items: {{type: array, default: [e0, e1, e2, e3]}}}}}}
agents: []
for_each:
  - name: each
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 2
    agent: {{name: item, type: script, command: sh, {step}}}
output: {{count: '{{{{ each.count }}}}'}}
"
    )
}

const ACTS: &str = "args: [-c, 'sleep 0.1; sh act.sh {{ item }}']";

/// Starts a process that works for others, and waits until it would take tasks.
fn claimant(driver: &Driver, start: impl Fn(&[&str]) -> Process) -> Process {
    let mut process = start(&["work", "--at-once", "4"]);
    let folder = driver.world.work().display().to_string();
    let identity = Identity { working_dir: fnv(format!("dir:{folder}").bytes()), ..Identity::default() };
    let path = driver.world.state().join("capacity");
    let table = Capacity::open(&path, &identity, Options::default()).expect("a table");
    until("it would take tasks", || table.spare_elsewhere() > 0 || process.has_ended());
    process
}

/// Runs, resumes and answers until the run has ended, whichever process dies.
fn owned(driver: &mut Driver) -> Value {
    driver.drive_to_its_end(&["run", "w.yaml", "--share", "--keep", "1"]).json()
}

fn shared_with_another_process() -> Scenario {
    let world = || with_script(&items(ACTS));
    scenario("shared", world, |driver| {
        let other = claimant(driver, |args| driver.start(args));
        let result = owned(driver);
        other.signal(Signal::INT);
        let said = driver.wait(other);
        assert!(matches!(said.code, Some(130) | None), "{}\n{said}", driver.name);
        result
    })
}

/// The process that performs a task is killed, and the owner finds out.
fn dead_claimant() -> Scenario {
    let step = "idempotent: true, args: [-c, 'echo $(cut -d\" \" -f4 /proc/$PPID/stat) >>log; while [ ! -e go ]; do sleep 0.01; done; echo {{ item }}']";
    let scenario = scenario(
        "dead claimant",
        move || with_script(&items(step)),
        |driver| {
            let mut other = claimant(driver, |args| driver.world.start(args));
            let pid = other.pid().as_raw_nonzero().to_string();
            let mut owner = driver.start(&["run", "w.yaml", "--share", "--keep", "1", "--silent"]);
            until("the other process performs a task", || {
                driver.world.read("log").lines().any(|line| line == pid) || owner.has_ended()
            });
            other.kill();
            driver.world.write("go", "");
            match driver.wait(owner) {
                said if said.code == Some(0) => said.json(),
                _ => owned(driver),
            }
        },
    );
    Scenario { only: &["handover.", "commit.attempt_"], ..scenario }
}
