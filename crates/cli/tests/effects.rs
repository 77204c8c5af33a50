//! What the world outside can tell a repetition by: the idempotency key of a task.

use crate::support;

use std::collections::BTreeSet;
use support::World;
use support::process::until;

/// Two steps that wait for `go` and may be repeated.
const ONCE: &str = r#"
workflow: {name: once, entry_point: first}
agents:
  - {name: first, type: script, idempotent: true, routes: [{to: second}], command: sh, args: [-c, 'echo "$CONVOKE_IDEMPOTENCY_KEY" >>keys; while [ ! -e go ]; do sleep 0.01; done']}
  - {name: second, type: script, command: sh, args: [-c, 'echo "$CONVOKE_IDEMPOTENCY_KEY" >>keys']}
output: {done: 'yes'}
"#;

fn keys(world: &World, file: &str) -> Vec<String> {
    world.read(file).lines().map(str::to_owned).collect()
}

#[test]
fn every_attempt_of_a_task_has_one_key_and_no_other_task_or_run_has_it() {
    let world = World::with_workflow(ONCE);
    let mut all = BTreeSet::new();
    for (number, run) in ["first", "second"].into_iter().enumerate() {
        world.write("go", "");
        world.convoke(&["run", "w.yaml"]).exits(0);
        let found = keys(&world, "keys");
        assert_eq!(found.len(), 2 * (number + 1), "{run}: {found:?}");
        all.extend(found);
    }
    assert_eq!(all.len(), 4, "two tasks of two runs: {all:?}");
    assert!(all.iter().all(|key| key.len() == 64), "{all:?}");
}

#[test]
fn after_a_crash_the_key_is_the_same() {
    let world = World::with_workflow(ONCE);
    let mut process = world.start(&["run", "w.yaml"]);
    until("the step has begun", || keys(&world, "keys").len() == 1);
    process.kill();
    drop(process);
    world.write("go", "");
    world.convoke(&["resume", &world.run()]).exits(0);
    let found = keys(&world, "keys");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0] == found[1] && found[1] != found[2], "{found:?}");
}
