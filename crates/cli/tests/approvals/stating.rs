//! What files and the configuration say about approvals, and what holds of it.

use super::{ONE, answers, calling, made, one, world};
use crate::support::World;
use crate::support::journal::Events;

fn with(keys: &str) -> World {
    world(
        &ONE.replace("prompt: Clean up.", &format!("prompt: Clean up., {keys}")),
        &calling("first", "delete_all", "a"),
    )
}

#[test]
fn a_file_that_lists_the_tool_by_name_runs_unattended() {
    for tools in ["[box__delete_all]", "[delete_all, look]", "['box/delete_all']"] {
        let world = with(&format!("tools: {tools}"));
        world.convoke(&["run", "w.yaml"]).exits(0);
        assert_eq!(made(&world).len(), 1, "{tools}");
        assert_eq!(Events::of(&world, &world.run()).count("gate_opened"), 0);
    }
    let world = one();
    let of_server =
        world.read("w.yaml").replace("args: [server.py]", "args: [server.py], tools: [delete_all]");
    world.write("w.yaml", of_server);
    world.convoke(&["run", "w.yaml"]).exits(0);
    for tools in ["['box__*']", "['*']", "['delete_*']"] {
        let world = with(&format!("tools: {tools}"));
        world.convoke(&["run", "w.yaml"]).exits(5);
        assert!(made(&world).is_empty(), "{tools}");
    }
}

#[test]
fn none_is_explicit_and_journalled() {
    let world = with("approve: none");
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(made(&world).len(), 1);
    let events = world.convoke(&["events", &world.run()]).exits(0).stdout;
    assert!(events.contains("is made unasked (approve: none)"), "{events}");
}

#[test]
fn what_the_file_names_is_asked_about_whatever_it_is() {
    for keys in
        ["approve: [look]", "approve: {level: none, tools: ['box__l*']}, tools: [look]", "approve: all"]
    {
        let world = world(
            &ONE.replace("prompt: Clean up.", &format!("prompt: Clean up., {keys}")),
            &calling("first", "look", "a"),
        );
        world.convoke(&["run", "w.yaml"]).exits(5);
        assert!(made(&world).is_empty(), "{keys}");
        world.convoke(&["answer", &world.run(), "first", "approve", "--resume"]).exits(0);
        assert_eq!((made(&world).len(), answers(&world, &world.run()).len()), (1, 1), "{keys}");
    }
    let harmless = world(ONE, &calling("first", "look", "a"));
    harmless.convoke(&["run", "w.yaml"]).exits(0);
}

#[test]
fn the_strictest_of_file_and_configuration_holds() {
    let world = with("approve: none");
    world.write("convoke.toml", "[approvals]\nlevel = \"high-risk\"\n");
    world.convoke(&["run", "w.yaml"]).exits(5);
    // What lies in a project can only ask for more.
    let world = one();
    world.write("convoke.toml", "[approvals]\nlevel = \"none\"\n");
    world.convoke(&["run", "w.yaml"]).exits(5);
    let world = with("tools: [delete_all]");
    world.write("convoke.toml", "[approvals]\ntools = [\"box__*\"]\nwithin = \"2h\"\n");
    world.convoke(&["run", "w.yaml"]).exits(5);
    let asked = super::waiting(&world, &world.run());
    assert_eq!(asked[0]["ask"]["approval"]["within_ms"], 7_200_000, "{asked:?}");
    world.write("convoke.toml", "[approvals]\nlevel = \"some\"\n");
    world.convoke(&["run", "w.yaml"]).exits(2).mentions(&["none, high-risk, all"]);
}

#[test]
fn what_is_no_statement_is_refused() {
    for (keys, words) in [
        ("approve: true", "none, high-risk, all"),
        ("approve: sometimes", "none, high-risk, all"),
        ("approve: {when: now}", "level, tools, within"),
    ] {
        with(keys).convoke(&["check", "w.yaml"]).exits(3).mentions(&[words]);
    }
}
