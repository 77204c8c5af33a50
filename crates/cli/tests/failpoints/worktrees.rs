//! Steps with worktrees of their own: two that meet, change one line and come back, with a script that resolves, a group, and one whose
//! branch stays.

use super::scenarios::Scenario;
use crate::support::World;
use crate::support::front_ends::{self, FrontEnd};
use serde_json::{Value, json};
use std::process::Command;

const FILE: &str = r#"
workflow: {name: w, entry_point: both}
agents:
  - {name: one, type: script, idempotent: true, workspace: {resolver: put}, ports: 2, merge: rebase, command: sh, args: [-c, 'g=$(git rev-parse --git-common-dir); touch $g/one; while [ ! -e $g/two ]; do sleep 0.01; done; echo one >line']}
  - {name: two, type: script, idempotent: true, workspace: {resolver: put}, ports: 1, merge: rebase, command: sh, args: [-c, 'g=$(git rev-parse --git-common-dir); touch $g/two; while [ ! -e $g/one ]; do sleep 0.01; done; echo two >line']}
  - {name: put, type: script, idempotent: true, command: sh, args: [-c, 'echo both >line']}
  - {name: stays, type: script, idempotent: true, workspace: worktree, command: sh, args: [-c, 'echo s >stays']}
parallel: [{name: both, agents: [one, two], workspace: worktree, ports: 4, merge: fast-forward, routes: [{to: stays}]}]
output: {ended: 'yes'}
"#;

pub fn worktrees() -> Scenario {
    let world = || {
        let front_end = FrontEnd {
            name: "worktrees",
            file: FILE.into(),
            args: &["run", "w.yaml"],
            steps: vec![],
            calls: vec![],
        };
        let world = front_ends::world(&front_end, &front_ends::model());
        world.write("line", "none\n");
        git(&world, &["init", "--quiet", "--initial-branch=main"]);
        git(&world, &["add", "--all"]);
        git(
            &world,
            &["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "first"],
        );
        world
    };
    let play = |driver: &mut super::driver::Driver| {
        driver.drive_to_its_end(&["run", "w.yaml"]);
        let world = &driver.world;
        let trees = git(world, &["worktree", "list", "--porcelain"]).matches("worktree ").count();
        let branches = git(world, &["branch", "--list", "convoke/*"]).lines().count();
        let commits = git(world, &["log", "--format=%s", "main", "--", "line"]).lines().count();
        let leases = world.convoke(&["workspaces", "--format", "json"]).json();
        let kept: Vec<Value> =
            leases.as_array().into_iter().flatten().map(|one| one["task"].clone()).collect();
        json!([trees, branches, commits, kept])
    };
    let only = &["workspaces.", "commit.workspace", "effect.let_go"];
    Scenario { name: "worktrees", world: Box::new(world), play: Box::new(play), calls: vec![], only }
}

fn git(world: &World, args: &[&str]) -> String {
    let ran = Command::new("git").arg("-C").arg(world.work()).args(args).output().expect("git starts");
    String::from_utf8(ran.stdout).expect("git speaks UTF-8")
}
