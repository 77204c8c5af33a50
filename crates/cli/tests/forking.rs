//! `convoke fork` as people use it: what runs again, what is asked about, what is refused.

use crate::support;

use serde_json::json;
use support::World;

/// The script leaves a mark in the world each time it runs.
const MARKS: &str = r#"
workflow: {name: w, entry_point: a, runtime: {provider: scripted, default_model: m}}
agents:
  - {name: a, prompt: About rain, routes: [{to: s}]}
  - {name: s, type: script, command: sh, args: [-c, 'echo "$CONVOKE_IDEMPOTENCY_KEY" >>marks; echo done'], routes: [{to: b}]}
  - {name: b, prompt: "Judge {{ s.output.stdout }}", output: {winner: {type: string, enum: [x, y]}}, routes: [{to: c}]}
  - {name: c, prompt: "End {{ b.output.winner }}"}
output: {winner: "{{ b.output.winner }}"}
"#;

fn marks(world: &World) -> Vec<String> {
    world.read("marks").lines().map(str::to_owned).collect()
}

#[test]
fn a_fork_keeps_what_had_finished_and_says_where_it_comes_from() {
    let world = World::with_workflow(MARKS);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let base = world.run();
    let said = world.convoke(&["fork", &base, "--at", "b", "--set", "b.output.winner=y"]).exits(0);
    assert_eq!(said.json(), json!({"winner": "y"}));
    assert_eq!(marks(&world).len(), 1, "the script did not run again");
    let forked = &world.runs()[0];
    let shown = world.convoke(&["show", forked, "--format", "json"]).json();
    assert_eq!(shown["base"]["run"], json!(base));
    let shown = world.convoke(&["show", forked]).exits(0).stdout;
    assert!(shown.contains(&format!("fork of {base} after event")), "{shown}");
    world.convoke(&["verify", forked]).exits(0);
    let differs = world.convoke(&["diff", &base, forked]).exits(1).stdout;
    let told = ["a person set its output", "- output.winner: x", "+ output.winner: y"];
    assert!(told.iter().all(|words| differs.contains(words)), "{differs}");
    // A fork of a fork, and its base stays.
    let again = world.convoke(&["fork", forked, "--at", "c", "--set", "c.output.result=mine"]).exits(0);
    assert_eq!(again.json(), json!({"winner": "y"}));
    world.convoke(&["prune", "--keep-last", "0"]).exits(0);
    assert!(world.runs().contains(&base), "the base of a fork is kept");
}

#[test]
fn effects_are_repeated_only_when_that_is_said() {
    let world = World::with_workflow(MARKS);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let base = world.run();
    world.convoke(&["fork", &base, "--at", "s"]).exits(3).mentions(&[
        "would be done again",
        "s:",
        "--repeat-effects",
    ]);
    assert_eq!((marks(&world).len(), world.runs().len()), (1, 1), "nothing was begun");
    world.convoke(&["fork", &base, "--at", "s", "--repeat-effects"]).exits(0);
    let keys = marks(&world);
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1], "another run has other keys");
}

#[test]
fn what_cannot_be_forked_is_refused_with_its_reason() {
    let world = World::with_workflow(MARKS);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let base = world.run();
    world.convoke(&["fork", &base]).exits(3).mentions(&["nothing left to do", "--at TASK"]);
    world.convoke(&["fork", &base, "--at", "bb"]).exits(2).mentions(&["no task `bb`"]);
    world.convoke(&["fork", &base, "--at", "9999"]).exits(2).mentions(&["no event 9999"]);
    world.convoke(&["fork", &base, "--set", "b.output.winner=z"]).exits(2).mentions(&["another shape"]);
    world.convoke(&["fork", &base, "--set", "b.winner=x"]).exits(2).mentions(&["names no output"]);
    assert_eq!(world.runs().len(), 1);
}

/// A command that failed may have done something first: it is asked about as others are. One that never began is not.
#[test]
fn an_effect_that_failed_is_repeated_only_when_that_is_said() {
    let pays = |command: &str| {
        format!(
            "workflow: {{name: w, entry_point: pays}}\nagents:\n  - {{name: pays, type: script, command: {command}, args: [-c, 'echo x >>book; exit 1'], output: {{x: {{type: string}}}}, retry: {{max_attempts: 2, delay_seconds: 0}}}}\n"
        )
    };
    let world = World::with_workflow(&pays("sh"));
    world.convoke(&["run", "w.yaml"]).exits(1);
    let (base, before) = (world.run(), world.read("book"));
    let asked =
        world.convoke(&["fork", &base]).exits(3).mentions(&["done again", "it failed", "--repeat-effects"]);
    assert_eq!(
        asked.stderr.matches("pays:").count(),
        1,
        "one call, however often it was tried: {}",
        asked.stderr
    );
    assert_eq!((world.read("book"), world.runs().len()), (before.clone(), 1), "nothing was begun");
    world.convoke(&["run", "w.yaml", "--reuse", &base]).exits(3).mentions(&["pays:"]);
    world.convoke(&["fork", &base, "--repeat-effects"]).exits(1);
    assert_eq!(world.read("book").len(), before.len() * 2);
    let world = World::with_workflow(&pays("no-such-program"));
    world.convoke(&["run", "w.yaml"]).exits(1);
    world.convoke(&["fork", &world.run()]).exits(1);
}
