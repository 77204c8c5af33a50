//! How many may wait at once for permits, and who is refused.

mod support;

use support::World;
use support::process::until;

#[test]
fn what_can_start_at_once_does_not_count_as_waiting() {
    let run = |items: u32| {
        let world = World::with_workflow(&format!(
            "workflow: {{name: w, entry_point: items}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range({items}) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - {{name: all, type: for_each, source: items.output.list, as: item, max_concurrent: 50, agent: {{name: one, type: script, command: 'true'}}}}
"
        ));
        world.write("convoke.toml", "[run]\nmax_concurrency = 4\n[limits]\nqueue = 2\n");
        world.convoke(&["run", "w.yaml"])
    };
    run(6).exits(0);
    run(7).exits(1).mentions(&["cannot start", "2"]);
}

/// A fan-out of scripts, as many at once as may be; each says that it began and stays until it may go.
fn scripts(items: u32) -> World {
    World::with_workflow(&format!(
        "workflow: {{name: w, entry_point: items}}
agents:
  - {{name: items, type: set, values: {{list: '{{{{ range({items}) | list | tojson }}}}'}}, routes: [{{to: all}}]}}
for_each:
  - name: all
    type: for_each
    source: items.output.list
    as: item
    max_concurrent: 50
    agent: {{name: one, type: script, command: sh, args: [-c, 'echo begun >> witness; while ! [ -e go ]; do sleep 0.02; done; ulimit -Sn']}}
output: {{limit: '{{{{ all.outputs[0].stdout }}}}', count: '{{{{ all.count }}}}'}}
"
    ))
}

/// Runs it in a shell that has set this limit of descriptors before.
fn limited(world: &World, limit: &str) -> support::process::Process {
    let mut command = world.prepared(std::process::Command::new("bash"));
    let convoke = env!("CARGO_BIN_EXE_convoke");
    command.args(["-c", &format!("ulimit {limit}; exec {convoke} run w.yaml")]);
    support::process::Process::start(command)
}

#[test]
fn more_scripts_than_there_are_descriptors_for_wait_and_none_fails() {
    let world = scripts(40);
    // Room for a few at once; the first of them may go on when the others found none.
    let run = limited(&world, "-n 80");
    until("some have begun", || world.read("witness").lines().count() >= 3);
    world.write("go", "");
    let said = run.wait().exits(0);
    assert_eq!(world.read("witness").lines().count(), 40);
    assert!(!said.stderr.contains("cannot start"), "{said}");
}

#[test]
fn the_engine_takes_what_the_machine_allows_and_scripts_get_the_limit_they_know() {
    let world = scripts(40);
    let run = limited(&world, "-Sn 80");
    // All at once: far more than eighty descriptors.
    until("all have begun", || world.read("witness").lines().count() == 40);
    world.write("go", "");
    let said = run.wait().exits(0);
    assert_eq!(said.json()["limit"], 80, "{said}");
}
