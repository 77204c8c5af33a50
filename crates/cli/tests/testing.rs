//! `convoke test`: workflows under test, as a caller sees it.

use crate::support;

use serde_json::json;
use support::{World, copy};

const GREETER: &str = "
workflow: {name: greeter, entry_point: greet, runtime: {provider: {name: scripted, file: replies.yaml}}, input: {who: {type: string, default: Ada}}}
agents:
  - {name: greet, prompt: 'Greet {{ workflow.input.who }}'}
output: {said: '{{ greet.output.result }}'}
";

fn greeter(tests: &str) -> World {
    let world = World::with_workflow(GREETER);
    world.write("replies.yaml", "{greet: Hello Ada}");
    world.write("w.tests.yaml", tests);
    world
}

#[test]
fn missing_cassettes_are_made_once_and_answer_afterwards() {
    let world =
        greeter("- {name: greets, cassette: tape, expect: {exact_output: {said: Hello Ada}, max_calls: 1}}");
    let said = world.convoke(&["test", "w.yaml"]).exits(1);
    assert!(
        said.stdout.contains("there is no cassette in `tape`")
            && said.stdout.ends_with("0 passed, 1 failed\n")
    );
    world.convoke(&["test", "w.yaml", "--record"]).exits(0);
    std::fs::remove_file(world.work().join("replies.yaml")).unwrap();
    let said = world.convoke(&["test", "w.yaml"]).exits(0);
    assert_eq!(said.stdout, "ok       w.yaml: greets\n1 passed, 0 failed\n");
    assert!(world.runs().is_empty(), "tests leave the user's runs alone");
}

#[test]
fn a_test_that_fails_says_what_was_expected() {
    let world = greeter(
        "
- {name: wrong, replies: replies.yaml, expect: {output: {said: Bye}, ran: [wave], skipped: [greet]}}
- {name: nobody to ask, expect: {status: failed, error: not on the cassette}}
- {name: refused, inputs: {whom: x}, expect: {status: refused, error: whom}}
",
    );
    let said = world.convoke(&["test", "."]).exits(1);
    let expected = "FAILED   ./w.yaml: wrong
         output.said: expected \"Bye\", was \"Hello Ada\"
         ran: there is no step `wave`
         step `greet` ran
ok       ./w.yaml: nobody to ask
ok       ./w.yaml: refused
2 passed, 1 failed
";
    assert_eq!(said.stdout, expected);
}

#[test]
fn a_test_that_names_nobody_to_answer_is_told_so() {
    let world = greeter("- {name: greets}");
    let said = world.convoke(&["test", "w.yaml"]).exits(1).stdout;
    let first = said.lines().nth(1).map(str::trim);
    let expected = "a step asks a model, and the test names neither a `cassette` nor `replies` to answer";
    assert_eq!(first, Some(expected), "{said}");
}

#[test]
fn programs_get_json() {
    let world = greeter("- {name: greets, replies: replies.yaml}");
    let said = world.convoke(&["test", "w.tests.yaml", "--format", "json"]).exits(0);
    let test = json!({"file": "w.yaml", "name": "greets", "passed": true, "updated": false, "status": "succeeded", "calls": 1, "problems": []});
    assert_eq!(said.json(), json!({"passed": 1, "failed": 0, "tests": [test]}));
}

#[test]
fn expectations_are_updated_where_they_stand() {
    let tests = "# kept\n- name: greets\n  replies: replies.yaml\n  expect:\n    max_calls: 0 # too few\n    ran: [nobody]\n";
    let world = greeter(tests);
    world.convoke(&["test", "w.yaml"]).exits(1);
    assert_eq!(world.read("w.tests.yaml"), tests, "nothing changes unasked");
    let said = world.convoke(&["test", "w.yaml", "--update"]).exits(1);
    assert!(said.stdout.contains("nobody"), "what must hold is not updated: {said}");
    assert_eq!(world.read("w.tests.yaml"), tests.replace("max_calls: 0", "max_calls: 1"));
    world.write("w.tests.yaml", tests.replace("    ran: [nobody]\n", ""));
    let said = world.convoke(&["test", "w.yaml", "--update"]).exits(0);
    assert!(said.stdout.contains("updated"), "{said}");
    world.convoke(&["test", "w.yaml"]).exits(0);
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let world = greeter("- {nam: x}");
    world.convoke(&["test", "w.yaml"]).exits(3).mentions(&["w.tests.yaml"]);
    std::fs::remove_file(world.work().join("w.tests.yaml")).unwrap();
    world
        .convoke(&["test", "w.yaml"])
        .exits(2)
        .mentions(&["has no tests", "hint: write them to `w.tests.yaml`"]);
    world.convoke(&["test", "."]).exits(2).mentions(&["folder `.` has no tests"]);
}

#[test]
fn every_example_passes_its_tests_offline() {
    let world = World::new();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    copy(&examples, &world.work().join("examples"));
    // What the scripted provider would say is taken away: only the cassettes are left.
    for kept in ["for-each", "gate", "parallel-research", "retry-and-errors", "review-loop", "tools"] {
        std::fs::remove_file(world.work().join(format!("examples/replies/{kept}.yaml"))).unwrap();
    }
    let said = world.convoke(&["test", "examples"]);
    assert!(said.stdout.ends_with("16 passed, 0 failed\n"), "{said}");
}
