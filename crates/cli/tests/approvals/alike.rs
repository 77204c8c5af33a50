//! Alike questions that are answered together, each by its own hash.

use super::{answers, calling, made, waiting, world};
use crate::support::World;
use std::collections::BTreeSet;

/// Three items that delete something else each, and one agent that tidies up; all of them ask at once.
fn fan_out() -> World {
    let steps = "
agents:
  - {name: list, type: set, values: {items: '[\"a\", \"b\", \"c\"]'}}
  - {name: tidier, prompt: Tidy up., needs: [list]}
for_each:
  - name: each
    type: for_each
    needs: [list]
    source: list.output.items
    as: item
    agent: {name: item, prompt: 'Delete {{ item }}.'}
output: {done: 'yes'}";
    let replies = calling("each[0]", "delete_all", "a")
        + &calling("each[1]", "delete_all", "b")
        + &calling("each[2]", "delete_all", "c")
        + &calling("tidier", "tidy", "d");
    let world = world(steps, &replies);
    world.write("w.yaml", world.read("w.yaml").replace("  entry_point: first\n", ""));
    world
}

#[test]
fn one_command_answers_all_alike_and_nothing_else() {
    let world = fan_out();
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let asked = waiting(&world, &run);
    assert_eq!(asked.len(), 4, "{asked:?}");
    let said = world.convoke(&["answer", &run, "each[1]", "approve", "--alike"]).exits(0);
    assert!(said.stderr.contains("and 2 alike"), "{said}");
    world.convoke(&["resume", &run]).exits(5);
    let mut calls = made(&world);
    calls.sort();
    assert_eq!(
        calls,
        ["delete_all {\"what\": \"a\"}", "delete_all {\"what\": \"b\"}", "delete_all {\"what\": \"c\"}"]
    );
    let hashes: BTreeSet<String> = answers(&world, &run)
        .iter()
        .map(|answer| answer["answer"]["inline"]["approval"]["rulings"]["1"]["hash"].to_string())
        .collect();
    assert_eq!(hashes.len(), 3, "each by its own hash");
    let left = waiting(&world, &run);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0]["task"], "tidier");
}

#[test]
fn calls_of_one_turn_are_asked_about_together_and_decided_one_by_one() {
    let replies = "  first:
    - tool_calls:
        - {name: box__look, arguments: {what: x}}
        - {name: box__delete_all, arguments: {what: a}}
        - {name: box__delete_all, arguments: {what: b}}
    - it is over
";
    let world = world(super::ONE, replies);
    let parked = world.convoke(&["run", "w.yaml"]).exits(5);
    assert!(parked.stderr.contains("1=WORD 2=WORD"), "{}", parked.stderr);
    assert!(made(&world).is_empty(), "no call of the turn is made before");
    let run = world.run();
    world.convoke(&["answer", &run, "first", "1=approve"]).exits(2).mentions(&["call 2", "must be decided"]);
    world.convoke(&["answer", &run, "first", "1=deny", "2=approve", "--resume"]).exits(0);
    let mut calls = made(&world);
    calls.sort();
    assert_eq!(calls, ["delete_all {\"what\": \"b\"}", "look {\"what\": \"x\"}"]);
}
