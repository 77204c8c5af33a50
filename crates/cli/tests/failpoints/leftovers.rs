//! Runs whose process has died before, and commands that go on without it: what is left is found, attached to, ended or asked about.

use super::commands::scenario;
use super::driver::{Driver, journals};
use super::scenarios::{Scenario, with_script};
use crate::support::World;
use crate::support::model::Model;
use crate::support::process::{Process, until};
use convoke_model::Event;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// All of them.
pub fn all() -> Vec<fn() -> Scenario> {
    vec![survivor, attached, probe, left_over, lost_call]
}

/// A command that goes on when the engine dies, and a step after it.
const SURVIVES: &str = r#"
workflow: {name: w, entry_point: long}
agents:
  - name: long
    type: script
    survive: true
    timeout: 120
    command: sh
    args: [-c, 'echo x >>began; echo long >>witness; while [ -e wait ]; do sleep 0.01; done; sleep 0.1; echo "{\"ok\": true}"']
    routes: [{to: last}]
  - {name: last, type: script, command: sh, args: [act.sh, last]}
output: {long: '{{ long.output.ok }}', last: '{{ last.output.ok }}'}
"#;

fn survivor() -> Scenario {
    scenario(
        "survivor",
        || with_script(SURVIVES),
        |driver| driver.drive_to_its_end(&["run", "w.yaml"]).json(),
    )
}

/// Starts a run, and kills its process once a file is there and the journal holds such an event.
fn killed_once(driver: &Driver, file: &str, has_come: fn(&Event) -> bool) {
    let mut process = under_way(driver, file, has_come);
    process.kill();
}

/// Starts a run, and waits until a file is there and the journal holds such an event.
fn under_way(driver: &Driver, file: &str, has_come: fn(&Event) -> bool) -> Process {
    let process = driver.world.start(&["run", "w.yaml", "--silent"]);
    until("it is under way", || {
        let journals = journals(&driver.world, &driver.name);
        let on_record = journals.values().flatten().any(|stamped| has_come(&stamped.event));
        on_record && driver.world.work().join(file).exists()
    });
    process
}

fn has_process(event: &Event) -> bool {
    matches!(event, Event::ProcessStarted { .. })
}

/// The command of a process that was killed still runs, and another process attaches to it.
fn attached() -> Scenario {
    let world = || {
        let world = with_script(SURVIVES);
        world.write("wait", "");
        world
    };
    scenario("attached", world, |driver| {
        killed_once(driver, "began", has_process);
        let run = driver.newest().expect("a run");
        loop {
            let mut resumed = driver.start(&["resume", &run, "--silent"]);
            let is_attached = |event: &Event| matches!(event, Event::ProcessStarted { attempt: 2.., .. });
            until("it attaches", || {
                let journals = journals(&driver.world, &driver.name);
                journals.values().flatten().any(|stamped| is_attached(&stamped.event)) || resumed.has_ended()
            });
            if !resumed.has_ended() {
                std::fs::remove_file(driver.world.work().join("wait")).ok();
            }
            let said = driver.wait(resumed);
            match said.code {
                Some(0) => break said.json(),
                Some(1) if driver.lost_a_supervisor() => break serde_json::Value::Null,
                // Asked because its supervisor was killed; it need not wait any more.
                Some(5) => {
                    std::fs::remove_file(driver.world.work().join("wait")).ok();
                    driver.answer_all();
                }
                None => {}
                _ => panic!("{}\n{said}", driver.name),
            }
        }
    })
}

/// A step that was cut off, and a command that says whether its effect was made.
const PROBED: &str = r#"
workflow: {name: w, entry_point: pay}
agents:
  - name: pay
    type: script
    command: sh
    args: [-c, 'touch began; while [ ! -e go ]; do sleep 0.01; done; echo pay >>witness; echo paid']
    on_unknown: probe
    probe: {command: sh, args: [-c, 'grep -q pay witness 2>/dev/null && echo paid || exit 10']}
output: {said: '{{ pay.output.stdout | trim }}'}
"#;

fn probe() -> Scenario {
    scenario(
        "probe",
        || World::with_workflow(PROBED),
        |driver| {
            killed_once(driver, "began", has_process);
            driver.world.write("go", "");
            driver.drive_to_its_end(&[]).json()
        },
    )
}

/// A command that takes long the first time, and makes its effect after that.
const LONG_ONCE: &str = r#"
workflow: {name: w, entry_point: pay}
agents:
  - name: pay
    type: script
    command: sh
    args: [-c, '[ -e began ] || { touch began; sleep 600; }; echo pay >>witness; echo paid']
    on_unknown: probe
    probe: {command: sh, args: [-c, 'grep -q pay witness 2>/dev/null && echo paid || exit 10']}
output: {said: '{{ pay.output.stdout | trim }}'}
"#;

/// The supervisor of a command is stopped when its engine is killed, so the command is still there when another process resumes. The
/// kernel continues a stopped process whose group becomes orphaned; a second process in the group prevents that.
fn left_over() -> Scenario {
    scenario(
        "left over",
        || World::with_workflow(LONG_ONCE),
        |driver| {
            let mut process = under_way(driver, "began", has_process);
            let journals = journals(&driver.world, &driver.name);
            let supervisor = journals.values().flatten().find_map(|stamped| match stamped.event {
                Event::ProcessStarted { pid, .. } => Pid::from_raw(i32::try_from(pid).ok()?),
                _ => None,
            });
            let supervisor = supervisor.expect("a command has started");
            let mut sleep = Command::new("sleep");
            let mut neighbour =
                sleep.arg("600").process_group(supervisor.as_raw_nonzero().get()).spawn().unwrap();
            kill_process(supervisor, Signal::STOP).expect("it lives");
            process.kill();
            let output = driver.drive_to_its_end(&[]).json();
            neighbour.kill().expect("it sleeps");
            neighbour.wait().expect("it was killed");
            output
        },
    )
}

/// A process is killed while it waits for a model whose calls count against a budget.
fn lost_call() -> Scenario {
    let file = "
workflow:
  name: w
  entry_point: a
  runtime: {max_tokens: 1000}
  cost: {pricing: {m: {input_per_mtok: 0, output_per_mtok: 1}}}
agents:
  - {name: a, prompt: p, routes: [{to: b}]}
  - {name: b, type: script, command: sh, args: [act.sh, b]}
output: {b: '{{ b.output.ok }}'}
";
    scenario(
        "lost call",
        move || with_script(file),
        |driver| {
            let mut first = true;
            let model = Model::answering(
                move |_| json!({"say": "done", "hold": std::mem::replace(&mut first, false)}),
            );
            let provider = format!("name = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
            let configured = format!("[provider]\n{provider}model = \"m\"\n[budgets.day]\nusd = 5\n");
            driver.world.write("convoke.toml", configured);
            let process = driver.world.start(&["run", "w.yaml", "--silent"]);
            until("the model is asked", || !model.asked().is_empty());
            process.signal(Signal::KILL);
            assert_eq!(process.wait().code, None, "{}: it was killed", driver.name);
            driver.drive_to_its_end(&[]).json()
        },
    )
}
