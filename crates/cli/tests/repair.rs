//! A damaged run is named, brought back to what can be trusted, and goes on.

use crate::support;

use rusqlite::Connection;
use serde_json::json;
use support::World;

const TWO: &str = "
workflow: {name: two, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [-c, 'echo first >>witness; echo 1'], routes: [{to: second}]}
  - {name: second, type: script, command: sh, args: [-c, 'echo second >>witness; echo 2'], idempotent: true}
output: {said: '{{ second.output.stdout | trim }}'}
";

/// Changes the last record of a run as a bad disk would.
fn damage(world: &World, run: &str) {
    let path = world.state().join("runs").join(run).join("journal.db");
    let connection = Connection::open(path).unwrap();
    let changed = "UPDATE records SET hash = zeroblob(32) WHERE first = (SELECT max(first) FROM records)";
    assert_eq!(connection.execute(changed, []).unwrap(), 1);
}

#[test]
fn a_damaged_run_is_named_repaired_and_goes_on() {
    let world = World::with_workflow(TWO);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert!(
        world.convoke(&["verify", "--all"]).exits(0).stdout.lines().all(|line| line.contains("is whole"))
    );
    damage(&world, &run);
    let all = world.convoke(&["verify", "--all", "--format", "json"]).exits(1).json();
    let damaged: Vec<_> = all.as_array().unwrap().iter().filter(|found| found["ok"] == false).collect();
    assert_eq!((all.as_array().unwrap().len(), damaged.len()), (2, 1));
    assert_eq!(damaged[0]["run"], json!(run));
    world.convoke(&["resume", &run]).exits(1).prints_nothing().mentions(&["convoke repair"]);
    let said = world.convoke(&["repair", &run]).exits(0);
    assert!(
        said.stdout.contains("was repaired") && said.stdout.contains("lost, from event"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains(&format!(".damaged-{run}-1")), "{}", said.stdout);
    world.convoke(&["verify", &run]).exits(0);
    let listed = world.convoke(&["runs", "--format", "json"]).json();
    let row = listed.as_array().unwrap().iter().find(|row| row["id"] == json!(run)).unwrap();
    assert_eq!(row["status"], "interrupted", "the listing has forgotten the end that is lost");
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"said": 2}));
    assert_eq!(world.read("witness").matches("first").count(), 2, "what is kept is not done again");
    assert_eq!(world.read("witness").matches("second").count(), 3, "what is lost is");
    world.convoke(&["repair", &run]).exits(0).mentions(&[]);
    world.convoke(&["verify", "--all"]).exits(0);
}
