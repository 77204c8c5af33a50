//! `convoke project`: what the runs of a project share, as a person sees and changes it.

use crate::common;

use common::World;
use serde_json::{Value, json};

fn shown(world: &World) -> Value {
    let shown = world.run(&["project", "--format", "json"]);
    serde_json::from_str(&shown.stdout).unwrap_or_else(|error| panic!("{error}: {shown:?}"))
}

#[test]
fn it_is_empty_then_changed_then_shown() {
    let world = World::new();
    assert_eq!(shown(&world)["revision"], 0);
    let empty = ".convoke/project-context.json (revision 0)\nnothing is shared yet\n";
    assert_eq!(world.run(&["project"]).stdout, empty);
    assert_eq!(world.run(&["project", "path"]).stdout, ".convoke/project-context.json\n");
    assert_eq!(world.run(&["project", "set", "ready=true", "old"]).code, 0);
    assert_eq!(world.run(&["project", "set", "old="]).code, 0);
    let change = r#"{"artifactPointers": {"plan": "docs/plan.md"},
        "taskQueue": {"upsert": [{"taskId": "t1", "status": "conflict", "worktreePath": "wt/1"}]}}"#;
    let text = world.run(&["project", "patch", change]);
    assert_eq!(
        text.stdout,
        ".convoke/project-context.json (revision 3)\nflag      ready = true\nartefact  plan = docs/plan.md\n\
         task      t1: conflict in wt/1\n"
    );
    assert_eq!(shown(&world)["context"]["globalFlags"], json!({"ready": true}));
}

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    let world = World::new();
    let wrong = world.run(&["project", "set", "ready=maybe"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("flag `ready` is true or false, not `maybe`"), "{}", wrong.stderr);
    let wrong = world.run(&["project", "patch", r#"{"flags": {}}"#]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("unknown field `flags`"), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("hint: a change is JSON such as"), "{}", wrong.stderr);
    world.write("shared.json", r#"{"schemaVersion": 1, "globalFlags": {"ready": "yes"}}"#);
    let wrong = world.run(&["project", "--file", "shared.json"]);
    assert_eq!(wrong.code, 3);
    assert!(
        wrong.stderr.contains("shared.json") && wrong.stderr.contains("expected a boolean"),
        "{}",
        wrong.stderr
    );
}
