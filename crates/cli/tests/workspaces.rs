//! Workspaces as people have them: a worktree and ports for each task, work that comes back, and what is left after kills.
//!
//! Fifty tasks in fifty worktrees are killed at random times, with their engine, and resumed until they are done. Then nothing may
//! be left and nothing may be lost:
//!
//!     CONVOKE_WORKSPACE_KILLS=40 cargo nextest run -p convoke workspaces:: --no-capture
//!
//! kills that often (3 unless told).

use crate::support;

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::journal::Events;
use support::process::{until, within};
use support::random::Random;
use support::{Said, World};

/// A world whose work folder is a repository with one commit on `main`.
fn repository(workflow: &str) -> World {
    let world = World::with_workflow(workflow);
    world.write("a.txt", "one\ntwo\nthree\n");
    world.write(".gitignore", ".env\nwitness\n.convoke/\n");
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "-m", "first"]);
    world
}

fn git(world: &World, args: &[&str]) -> String {
    git_in(&world.work(), args)
}

fn git_in(folder: &Path, args: &[&str]) -> String {
    let named = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    let ran = Command::new("git").arg("-C").arg(folder).args(named).args(args).output().unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
}

fn subjects(world: &World) -> Vec<String> {
    git(world, &["log", "--reverse", "--format=%s", "main"]).lines().map(str::to_owned).collect()
}

fn bodies(world: &World, kind: &str) -> Vec<Value> {
    let events = Events::of(world, &world.run());
    let found = events.0.iter().filter_map(|event| event["event"].get(kind).cloned());
    found.collect()
}

/// No worktree, branch, port or process of ours.
#[track_caller]
fn nothing_is_left(world: &World) {
    assert_eq!(git(world, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(git(world, &["branch", "--list", "convoke/*"]), "");
    let listed = world.convoke(&["workspaces", "--format", "json"]).exits(0).json();
    assert_eq!(listed, json!([]));
    let trees = world.state().join("workspaces/trees");
    let runs = std::fs::read_dir(&trees).into_iter().flatten().flatten();
    let folders: usize = runs.map(|run| std::fs::read_dir(run.path()).unwrap().count()).sum();
    assert_eq!(folders, 0, "no folder is left in {}", trees.display());
}

fn run(world: &World) -> Said {
    world.convoke(&["run", "w.yaml", "--silent"])
}

const ONE: &str = r#"
workflow: {name: one, entry_point: build}
agents:
  - name: build
    type: script
    workspace: {seed: [.env]}
    ports: 3
    merge: rebase
    command: sh
    args: [-c, 'echo work >new.txt; echo "{\"folder\": \"$CONVOKE_WORKSPACE\", \"here\": \"$(pwd)\", \"port\": \"$CONVOKE_PORT\", \"ports\": \"$CONVOKE_PORTS\", \"seeded\": \"$(cat .env)\"}"']
    routes: [{to: after}]
  - {name: after, type: script, command: cat, args: [new.txt]}
output: {build: '{{ build.output | json }}', after: '{{ after.output.stdout }}'}
"#;

#[test]
fn a_step_works_in_a_folder_of_its_own_and_the_next_one_sees_what_came_back() {
    let world = repository(ONE);
    world.write(".env", "KEY=1");
    let output = run(&world).exits(0).json();
    let build = &output["build"];
    assert_eq!(build["folder"], build["here"]);
    assert!(build["folder"].as_str().unwrap().contains("/workspaces/trees/"), "{build}");
    assert_eq!(build["seeded"], "KEY=1");
    let ports: Vec<u16> =
        build["ports"].as_str().unwrap().split(',').map(|port| port.parse().unwrap()).collect();
    assert_eq!((ports.len(), ports[0].to_string()), (3, build["port"].as_str().unwrap().to_owned()));
    assert_eq!(output["after"], "work\n");
    assert_eq!(subjects(&world), ["first", "build"]);
    assert_eq!(
        git(&world, &["show", "--stat", "--format=", "main"]).lines().next().unwrap().trim(),
        "new.txt | 1 +"
    );
    nothing_is_left(&world);
    for kind in ["workspace_leased", "workspace_sealed", "workspace_merged", "workspace_released"] {
        assert_eq!(bodies(&world, kind).len(), 1, "{kind}");
    }
    let effects = world.convoke(&["show", &world.run(), "--effects", "--format", "json"]).exits(0).json();
    let states: Vec<_> =
        effects["effects"].as_array().unwrap().iter().map(|one| (&one["kind"], &one["state"])).collect();
    assert!(states.contains(&(&json!("merge"), &json!("done"))), "{states:?}");
}

const FAILS: &str = r#"
workflow: {name: fails, entry_point: build}
agents:
  - name: build
    type: script
    workspace: worktree
    merge: rebase
    command: sh
    args: [-c, 'echo half >new.txt; echo no']
    output: {n: {type: number}}
"#;

#[test]
fn a_failed_step_leaves_its_work_where_it_is_and_says_where() {
    let world = repository(FAILS);
    run(&world).exits(1);
    let kept = &bodies(&world, "workspace_kept")[0]["remains"];
    let path = kept["path"].as_str().unwrap();
    assert_eq!(std::fs::read_to_string(Path::new(path).join("new.txt")).unwrap(), "half\n");
    let shown = world.convoke(&["show", &world.run()]).exits(0);
    assert!(shown.stdout.contains(path), "{shown}");
    assert_eq!(subjects(&world), ["first"]);
    let listed = world.convoke(&["workspaces"]).exits(0);
    assert!(listed.stdout.contains(path) && listed.stdout.contains("kept"), "{listed}");
    world.convoke(&["workspaces", "clean"]).exits(0);
    assert!(Path::new(path).exists(), "cleaning alone takes no work");
    world.convoke(&["workspaces", "clean", "--discard"]).exits(0);
    nothing_is_left(&world);
}

const DIRTY: &str = r#"
workflow: {name: dirty, entry_point: build}
agents:
  - {name: build, type: script, workspace: worktree, merge: fast-forward, command: sh, args: [-c, 'echo run >>"$WITNESS"; echo work >new.txt']}
"#;

#[test]
fn a_checkout_with_changes_is_left_alone_and_a_resume_only_merges() {
    let world = repository(DIRTY);
    let witness = world.work().join("witness");
    let world = world.env("WITNESS", witness.to_str().unwrap());
    world.write("a.txt", "in the middle");
    let failed = world.convoke(&["run", "w.yaml"]).exits(1);
    assert!(failed.stderr.contains("in no commit"), "{failed}");
    assert_eq!(world.read("a.txt"), "in the middle");
    git(&world, &["checkout", "--quiet", "a.txt"]);
    world.convoke(&["resume", &world.run()]).exits(0);
    assert_eq!(world.read("witness").lines().count(), 1, "the work was done once");
    assert_eq!(world.read("new.txt"), "work\n");
    nothing_is_left(&world);
}

/// Fifty tasks; each adds a file of its own, more than once if it is asked to.
const FIFTY: &str = r#"
workflow:
  name: fifty
  entry_point: all
  input: {items: {type: array}}
agents: []
for_each:
  - name: all
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 50
    agent:
      name: one
      type: script
      idempotent: true
      workspace: worktree
      ports: 2
      merge: rebase
      command: sh
      args: [-c, 'echo {{ item }} >"file-{{ item }}"; sleep 0.2; echo done >>"file-{{ item }}"; sleep 0.1']
output: {done: "{{ all.outputs | length }}"}
"#;

#[test]
fn fifty_tasks_in_fifty_worktrees_are_killed_at_random_and_nothing_is_left_or_lost() {
    let kills: u32 =
        std::env::var("CONVOKE_WORKSPACE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let world = repository(FIFTY);
    let items: Vec<u32> = (0..50).collect();
    world.write("items.json", json!({ "items": items }).to_string());
    git(&world, &["add", "--all"]);
    git(&world, &["commit", "--quiet", "-m", "items"]);
    let mut random = Random(u64::from(kills));
    let args = ["run", "w.yaml", "--silent", "--max-concurrency", "50", "--input-file", "items.json"];
    let mut process = world.start(&args);
    until("the run has begun", || !world.runs().is_empty());
    let id = world.run();
    for _ in 0..kills {
        within(Duration::from_millis(100 + random.below(3_000)), || process.has_ended());
        process.kill();
        drop(process);
        process = world.start(&["resume", &id, "--silent"]);
    }
    let ended = process.wait();
    // A run that has ended cannot be resumed.
    assert!(matches!(ended.code, Some(0 | 3)), "{ended}");
    assert_eq!(world.status(), "succeeded");
    for item in items {
        assert_eq!(git(&world, &["show", &format!("main:file-{item}")]), format!("{item}\ndone"));
    }
    let commits = subjects(&world);
    assert_eq!(
        commits.iter().filter(|subject| *subject == "one").count(),
        50,
        "each came back once: {commits:?}"
    );
    assert_eq!(git(&world, &["status", "--porcelain", "--untracked-files=no"]), "");
    nothing_is_left(&world);
    // At no moment did two tasks hold one port.
    let leased = bodies(&world, "workspace_leased");
    let tasks: BTreeSet<&str> = leased.iter().map(|one| one["task"].as_str().unwrap()).collect();
    assert_eq!(tasks.len(), 50);
}

const PARTS: &str = r#"
workflow: {name: parts, entry_point: both}
agents:
  - {name: left, type: script, workspace: worktree, ports: 2, merge: rebase, command: sh, args: [-c, 'echo l >left.txt; echo "{\"ports\": \"$CONVOKE_PORTS\"}"']}
  - {name: right, type: script, workspace: worktree, ports: 2, merge: rebase, command: sh, args: [-c, 'echo r >right.txt; echo "{\"ports\": \"$CONVOKE_PORTS\"}"']}
parallel:
  - {name: both, agents: [left, right], workspace: worktree, ports: 4, merge: fast-forward}
output: {left: '{{ both.outputs.left.ports }}', right: '{{ both.outputs.right.ports }}'}
"#;

#[test]
fn members_of_a_group_come_back_to_the_groups_branch_and_the_group_to_the_target() {
    let world = repository(PARTS);
    let output = run(&world).exits(0).json();
    let leased = bodies(&world, "workspace_leased");
    let of =
        |task: &str| leased.iter().find(|one| one["task"].as_str().unwrap().ends_with(task)).unwrap().clone();
    let (whole, left) = (of("both"), of("left"));
    assert_eq!(left["parent"], whole["task"]);
    assert_eq!(left["worktree"]["into"], whole["worktree"]["branch"]);
    let first = |ports: &Value| ports["ports"]["first"].as_u64().unwrap();
    let range = first(&whole)..first(&whole) + 4;
    assert!(
        range.contains(&first(&left))
            && range.contains(&first(&of("right")))
            && first(&left) != first(&of("right"))
    );
    assert_ne!(output["left"], output["right"]);
    assert_eq!((world.read("left.txt").as_str(), world.read("right.txt").as_str()), ("l\n", "r\n"));
    nothing_is_left(&world);
}

/// Two coders meet and change the same line; a persona that is a program puts both together.
const CODERS: &str = r#"
schemaVersion: '1'
project: false
actors:
  first: {type: script, command: sh, args: [-c, 'g=$(git rev-parse --git-common-dir); touch $g/one; while [ ! -e $g/two ]; do sleep 0.01; done; sed -i s/two/TWO/ a.txt; echo "{\"status\": \"success\", \"payload\": {}}"']}
  second: {type: script, command: sh, args: [-c, 'g=$(git rev-parse --git-common-dir); touch $g/two; while [ ! -e $g/one ]; do sleep 0.01; done; sed -i s/two/zwei/ a.txt; echo s >second.txt; echo "{\"status\": \"success\", \"payload\": {}}"']}
  resolve: {type: script, command: sh, args: [-c, 'test "$CONVOKE_CONFLICTS" = a.txt || exit 1; printf "one\nTWO zwei\nthree\n" >a.txt; echo "{}"']}
  plan: {type: script, command: echo, args: ['{"status": "success", "payload": {}}']}
personas:
  - {id: planner, systemPromptTemplate: You plan.}
  - {id: coder, systemPromptTemplate: You code.}
  - {id: resolver, systemPromptTemplate: You resolve conflicts., actorId: resolve}
pipeline:
  entryNodeId: plan
  nodes:
    - {id: plan, actorId: plan, personaId: planner}
    - {id: one, actorId: first, personaId: coder, workspace: {resolver: resolver}, merge: rebase}
    - {id: two, actorId: second, personaId: coder, workspace: {resolver: resolver}, merge: rebase}
  edges: [{from: plan, to: one}, {from: plan, to: two}]
"#;

#[test]
fn coders_of_a_pipeline_come_back_and_the_resolver_persona_puts_a_conflict_right() {
    let world = repository(CODERS);
    run(&world).exits(0);
    let conflicts = bodies(&world, "workspace_conflicted");
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!((&conflicts[0]["resolver"], &conflicts[0]["paths"]), (&json!("resolver"), &json!(["a.txt"])));
    assert_eq!(conflicts[0]["contract"]["persona"], "resolver");
    assert_eq!(world.read("a.txt"), "one\nTWO zwei\nthree\n");
    assert_eq!(world.read("second.txt"), "s\n");
    let history = subjects(&world);
    assert_eq!((history.len(), history[0].as_str()), (3, "first"), "two commits in a row: {history:?}");
    assert_eq!(git(&world, &["rev-list", "--merges", "--count", "main"]), "0");
    nothing_is_left(&world);
}

#[test]
fn a_conflict_that_nobody_resolves_is_a_failure_with_a_name_and_a_person_can_finish_it() {
    let world = repository(&CODERS.replace("TWO zwei", "<<<<<<< nothing"));
    let failed = run(&world);
    assert_ne!(failed.code, Some(0), "{failed}");
    let failure = bodies(&world, "attempt_failed")
        .into_iter()
        .find(|one| one["failure"]["class"] == "conflict")
        .unwrap();
    assert_eq!(failure["failure"]["reason"], "merge_conflict");
    let kept = bodies(&world, "workspace_kept");
    let path = kept[0]["remains"]["path"].as_str().expect("it is kept");
    assert!(Path::new(path).join("a.txt").exists());
    assert_eq!(bodies(&world, "workspace_conflicted").len(), 3, "two rounds, and the end of them");
}

#[test]
fn nonsense_is_refused_before_anything_runs() {
    let world = repository(&ONE.replace("{seed: [.env]}", "{base: nowhere}"));
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&["nowhere", "names no commit"]);
    run(&world).exits(3);
    assert!(world.runs().is_empty());
    world.write("w.yaml", ONE.replace("    workspace: {seed: [.env]}\n", ""));
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&["`merge`", "workspace"]);
    world.write("w.yaml", ONE.replace("{seed: [.env]}", "{resolver: nobody}"));
    world.convoke(&["check", "w.yaml"]).exits(3).mentions(&["nobody", "does not exist"]);
    let bare = World::with_workflow(&ONE.replace("{seed: [.env]}", "worktree"));
    bare.convoke(&["check", "w.yaml"]).exits(3).mentions(&["no git repository"]);
}
