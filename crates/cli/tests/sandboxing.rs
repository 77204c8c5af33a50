//! What commands of a file may do, as a person sets it, and what is said where they may do everything.

use crate::support::journal::Events;
use crate::support::{Said, World};
use serde_json::json;

const FILE: &str = "
workflow: {name: w, entry_point: s}
agents: [{name: s, type: script, command: sh, args: [try.sh]}]
output: {said: '{{ s.output.stdout }}'}
";

/// A world whose one step says whether it sees the state folder, and writes where the person may.
fn trying() -> World {
    let world = World::with_workflow(FILE);
    let state = world.state().display().to_string();
    world.write(
        "try.sh",
        format!("ls {state}/runs >/dev/null 2>&1 && echo seen || echo hidden; echo x >../home/new"),
    );
    world
}

fn run(world: &World, args: &[&str]) -> Said {
    let said = world.convoke(&[&["run", "w.yaml"], args].concat()).exits(0);
    assert_eq!(std::fs::read_to_string(world.work().join("../home/new")).unwrap(), "x\n", "{said}");
    said
}

/// The notes of the only run, by their codes.
fn notes(world: &World) -> Vec<String> {
    let events = Events::of(world, &world.run());
    let codes = events.0.iter().filter_map(|event| event["event"]["noted"]["code"].as_str());
    codes.map(str::to_owned).collect()
}

#[test]
fn a_step_does_not_see_the_state_folder() {
    let world = trying();
    let said = run(&world, &[]);
    assert_eq!(said.json(), json!({"said": "hidden\n"}));
    assert!(!said.stderr.contains("sandbox"), "{said}");
    assert_eq!(notes(&world), [""; 0]);
}

#[test]
fn a_sandbox_that_is_given_up_is_told_and_journalled() {
    let world = trying();
    let said = run(&world, &["--unsafe-no-sandbox"]).mentions(&["warning: commands run without a sandbox"]);
    assert_eq!(said.json(), json!({"said": "seen\n"}));
    assert_eq!(notes(&world), ["sandbox_given_up"]);
}

#[test]
fn a_person_shows_steps_the_state_folder() {
    let world = trying().env("CONVOKE_SANDBOX_STATE", "visible");
    assert_eq!(run(&world, &[]).json(), json!({"said": "seen\n"}));
}

#[test]
fn a_project_hides_more_and_never_less() {
    let world = trying();
    world.write("secret", "x");
    world.write("convoke.toml", "[sandbox]\nhidden = ['secret']\n");
    world.write("try.sh", "grep -c x secret; echo y >>convoke.toml || echo kept; echo x >../home/new");
    assert_eq!(run(&world, &[]).json(), json!({"said": "0\nkept\n"}));
    world.write("convoke.toml", "[sandbox]\nstate = 'visible'\nwritable = ['/']\n");
    world.convoke(&["run", "w.yaml"]).exits(2).mentions(&[
        "does not widen the sandbox",
        "sandbox.state",
        "sandbox.writable",
    ]);
}

#[test]
fn steps_of_the_full_level_write_in_their_folder_alone() {
    let world = World::with_workflow(FILE);
    world.write("convoke.toml", "[sandbox]\nlevel = 'full'\n");
    world.write("try.sh", "echo in >new && cat new; echo out >../home/new || echo held");
    let said = world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(said.json(), json!({"said": "in\nheld\n"}), "{said}");
    assert!(!world.work().join("../home/new").exists());
}
