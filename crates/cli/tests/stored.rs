//! Runs as they lie in the state folder: listed, shown, checked, removed, and damaged.

use crate::common;

use common::{World, only_folder};
use insta::assert_snapshot;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

const TWO: &str = "\
workflow: {name: two, entry_point: a}
agents:
  - {name: a, type: script, command: echo, args: [hi], routes: [{to: b}]}
  - {name: b, type: script, command: cat, stdin: '{{ a.output.stdout }}'}
output: {said: '{{ b.output.stdout | trim }}'}
";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn after_one_run() -> (World, String) {
    let world = World::with(TWO);
    assert_eq!(world.run(&["run", "w.yaml", "-m", "ticket=7"]).code, 0);
    let run = world.newest();
    (world, run)
}

#[test]
fn runs_are_listed_newest_first() {
    let (world, first) = after_one_run();
    world.run(&["run", "w.yaml"]);
    let listed = json(&world.run(&["runs", "--format", "json"]).stdout);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[1]["id"], first.as_str());
    let keys: Vec<_> = listed[0].as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "workflow",
        "folder",
        "status",
        "blocked",
        "started_at",
        "finished_at",
        "worked_ms",
        "tasks",
        "usage",
        "base",
    ];
    assert_eq!(keys, expected);
    assert_eq!(listed[0]["tasks"], serde_json::json!({"total": 2, "done": 2, "failed": 0, "running": 0}));
    assert!(listed[0]["started_at"].as_str().unwrap().ends_with('Z'));
    let text = world.run(&["runs"]).stdout;
    assert!(text.contains("RUN") && text.contains("succeeded") && text.contains("2/2"), "{text}");
}

#[test]
fn runs_are_filtered() {
    let (world, first) = after_one_run();
    world.write(
        "bad.yaml",
        "workflow: {name: bad, entry_point: a}\nagents: [{name: a, type: terminate, status: failed, reason: no}]\n",
    );
    assert_eq!(world.run(&["run", "bad.yaml"]).code, 1);
    let bad = world.newest();
    let ids = |args: &[&str]| -> Vec<String> {
        let listed = json(&world.run(&[&["runs", "--format", "json"], args].concat()).stdout);
        let ids = listed
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["id"].as_str().expect("a name").to_owned());
        ids.collect()
    };
    assert_eq!(ids(&["--status", "failed"]), [bad.as_str()]);
    assert_eq!(ids(&["--status", "failed,succeeded"]).len(), 2);
    assert_eq!(ids(&["--workflow", "two"]), [first.as_str()]);
    assert_eq!(ids(&["-n", "1"]), [bad.as_str()]);
    assert_eq!(ids(&["--since", "1h"]).len(), 2);
    assert_eq!(ids(&["--since", "0s"]).len(), 0);
    assert_eq!(world.run(&["runs", "--status", "parked"]).stderr.trim(), "no run is like that");
    assert_eq!(world.run(&["runs", "--status", "sleeping"]).code, 2);
}

#[test]
fn the_last_run_of_the_folder_needs_no_name() {
    let (world, _) = after_one_run();
    world.run(&["run", "w.yaml"]);
    let run = world.newest();
    for args in [
        &["show"][..],
        &["show", "last"],
        &["verify", "last"],
        &["events", "last"],
        &["attach"],
        &["stop", "last"],
    ] {
        let said = world.run(args);
        assert_eq!(said.code, 0, "{args:?}: {}", said.stderr);
    }
    assert!(world.run(&["show"]).stdout.contains(&run));
    assert!(world.run(&["show", "last", "a"]).stdout.starts_with("a succeeded"));
    let elsewhere = world.command(&["show", "last"]).current_dir(world.state()).output().expect("it runs");
    let said = world.said(elsewhere);
    assert!(said.code == 2 && said.stderr.contains("no run was started in this folder"), "{}", said.stderr);
}

#[test]
fn a_live_run_is_counted_and_a_killed_one_runs_nothing() {
    let world = World::with(
        "workflow: {name: two, entry_point: a}\n\
         agents:\n  - {name: a, type: script, command: echo, args: [hi], routes: [{to: b}]}\n  \
         - {name: b, type: script, command: sleep, args: ['600'], on_unknown: retry}\n",
    );
    let mut child = world.spawn(&["run", "w.yaml"]);
    let tasks = || json(&world.run(&["runs", "--format", "json"]).stdout)[0]["tasks"].clone();
    let live = serde_json::json!({"total": 2, "done": 1, "failed": 0, "running": 1});
    while tasks() != live {
        std::thread::yield_now();
    }
    assert!(world.run(&["runs"]).stdout.contains("1/2, 1 running"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let row = json(&world.run(&["runs", "--format", "json"]).stdout)[0].clone();
    assert_eq!((row["status"].as_str(), row["tasks"]["running"].as_u64()), (Some("interrupted"), Some(0)));
    let shown = world.run(&["show"]).stdout;
    assert!(shown.contains("interrupted") && !shown.contains("running"), "{shown}");
    assert_eq!(json(&world.run(&["show", "--format", "json"]).stdout)["tasks"][1]["status"], "interrupted");
}

#[test]
fn a_run_is_shown_with_everything() {
    let (world, run) = after_one_run();
    let shown = json(&world.run(&["show", &run, "--format", "json"]).stdout);
    assert_eq!(shown["status"], "succeeded");
    assert_eq!(shown["metadata"]["ticket"], "7");
    assert_eq!(shown["output"]["said"], "hi");
    assert_eq!(shown["tasks"][1]["output"]["stdout"], "hi\n");
    let text = world.run(&["show", &run]).stdout;
    assert!(text.contains("status    succeeded") && text.contains("a  "), "{text}");
}

#[test]
fn a_task_is_shown_with_what_it_was_asked() {
    let (world, run) = after_one_run();
    let shown = json(&world.run(&["show", &run, "b", "--format", "json"]).stdout);
    assert_eq!(shown["asked"]["command"], "cat");
    assert_eq!(shown["asked"]["stdin"], "hi\n");
    let text = world.comparable(&world.run(&["show", &run, "a"]).stdout);
    assert_snapshot!(text, @r#"
    a succeeded
    attempt 1 took [TOOK]

    command:
      echo

    args:
      ["hi"]

    output:
      {
        "stdout": "hi\n",
        "stderr": "",
        "exit_code": 0
      }
    "#);
    let unknown = world.run(&["show", &run, "zzz"]);
    assert_eq!(unknown.code, 2);
}

#[test]
fn events_are_one_json_value_a_line() {
    let (world, run) = after_one_run();
    let lines = world.run(&["events", &run, "--format", "json"]).stdout;
    let events: Vec<_> = lines.lines().map(json).collect();
    let numbers: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert!(events[0]["event"]["run_started"].is_object());
    // Following a run without a process ends with its last event.
    assert_eq!(world.run(&["events", &run, "-f", "--format", "json"]).stdout, lines);
}

#[test]
fn a_whole_journal_is_verified_and_a_damaged_one_named() {
    let (world, run) = after_one_run();
    assert!(world.run(&["verify", &run]).stdout.contains("is whole"));
    let path = only_folder(&world.state().join("runs")).join("journal.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let needle = b"run_finished";
    let at =
        bytes.windows(needle.len()).rposition(|window| window == needle).expect("the event is there as text");
    bytes[at] = b'R';
    std::fs::write(&path, bytes).unwrap();
    let said = world.run(&["verify", &run]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    assert!(said.stderr.contains("damaged at event"), "{}", said.stderr);
}

#[test]
fn a_journal_of_a_newer_version_is_refused() {
    let (world, run) = after_one_run();
    let path = only_folder(&world.state().join("runs")).join("journal.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // SQLite keeps the user version at bytes 60..64 of its header.
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    std::fs::write(&path, bytes).unwrap();
    for command in ["show", "resume", "verify"] {
        let said = world.run(&[command, &run]);
        assert_eq!(said.code, 3, "{command}: {}", said.stderr);
        assert!(said.stderr.contains("99"), "{command}: {}", said.stderr);
    }
}

#[test]
fn an_unknown_run_is_a_usage_error() {
    let (world, run) = after_one_run();
    for command in ["show", "events", "verify", "stop", "resume"] {
        let said = world.run(&[command, "20200101-000000-zzzz"]);
        assert_eq!(said.code, 2, "{command}: {}", said.stderr);
        assert!(said.stderr.contains("no run is named"), "{command}: {}", said.stderr);
    }
    // The beginning of a name is enough.
    assert_eq!(world.run(&["show", &run[..run.len() - 2]]).code, 0);
}

#[test]
fn a_state_folder_that_cannot_be_used_has_its_own_code() {
    let world = World::with(TWO);
    std::fs::create_dir_all(world.path("")).unwrap();
    std::fs::write(world.state(), "a file").unwrap();
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (74, ""), "{}", said.stderr);
    assert!(said.stderr.contains("not a folder") && said.stderr.contains("--state-dir"), "{}", said.stderr);
}

#[test]
fn a_state_folder_without_permission_has_its_own_code() {
    let world = World::with(TWO);
    let closed = world.path("closed");
    std::fs::create_dir_all(&closed).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o500)).unwrap();
    if std::fs::write(closed.join("probe"), "").is_ok() {
        return; // Root may write anywhere, so there is nothing to refuse.
    }
    let said = world.run(&["run", "w.yaml", "--state-dir", "closed/state"]);
    assert_eq!(said.code, 74, "{}", said.stderr);
}

#[test]
fn looking_at_nothing_is_no_error() {
    let world = World::new();
    let said = world.run(&["runs", "--format", "json"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "[]\n"));
    assert!(!world.state().exists(), "looking makes nothing");
}

#[test]
fn an_answer_that_was_rejected_is_shown() {
    let world = World::with(
        "\
workflow: {name: w, entry_point: a, runtime: {provider: {name: scripted, file: replies.yaml}}}
agents:
  - {name: a, prompt: How many?, output: {n: {type: number}}}
",
    );
    world.write("replies.yaml", "default: none that I know of\n");
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    let shown = world.run(&["show", &world.newest(), "a"]).stdout;
    assert!(shown.contains("what attempt 1 left:") && shown.contains("none that I know of"), "{shown}");
}
