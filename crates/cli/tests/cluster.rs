//! What a command says of a cluster that is not there, or cannot do what is asked: before anything is spent. A real cluster is tried by
//! `scripts/cluster/trial`.

use crate::support::World;
use std::io::{Read, Write};
use std::net::TcpListener;

const WORKFLOW: &str = "\
workflow: {name: w, entry_point: a}
agents:
  - {name: a, type: script, command: sh, args: [-c, 'touch began']}
";

/// An address at which nothing listens.
const NOBODY: &str = "restate://127.0.0.1:1";

#[test]
fn a_cluster_that_is_away_is_said_and_nothing_is_begun() {
    let world = World::with_workflow(WORKFLOW);
    for words in [&["run", "w.yaml"][..], &["runs"], &["show", "x"], &["stop", "x"], &["answer", "x"]] {
        let said = world.convoke(&[words, &["--state", NOBODY]].concat());
        assert_eq!(said.code, Some(74), "{said}");
        assert!(said.stderr.contains("does not answer: Connection refused"), "{said}");
        assert!(said.stderr.contains("hint: `convoke cluster dev` starts one"), "{said}");
    }
    assert!(!world.work().join("began").exists());
    assert_eq!(world.runs().len(), 0, "nor in the state folder");
}

#[test]
fn an_address_that_is_none_is_refused_with_the_form_of_one() {
    let world = World::with_workflow(WORKFLOW);
    for (address, why) in [
        ("restate:x", "write restate://HOST:PORT"),
        ("restate://h?admn=1", "`admn` is not known"),
        ("restate://u:p@h", "a name or a password"),
    ] {
        let said = world.convoke(&["runs", "--state", address]);
        assert_eq!(said.code, Some(2), "{said}");
        assert!(said.stderr.contains(why), "{said}");
    }
}

#[test]
fn a_command_that_does_not_work_with_a_cluster_is_refused_by_name_before_the_cluster_is_asked() {
    let world = World::new();
    for words in [
        &["capacity"][..],
        &["instances"],
        &["serve"],
        &["fork", "x"],
        &["repair", "x"],
        &["metrics"],
        &["work"],
        &["project"],
        &["workspaces"],
        &["top"],
        &["follow"],
        &["knowledge", "ask"],
    ] {
        let said = world.convoke(&[words, &["--state", NOBODY]].concat());
        assert_eq!(said.code, Some(2), "{said}");
        let name = format!("`convoke {}` does not work with a cluster yet", words[0]);
        assert!(said.stderr.contains(&name), "{said}");
    }
}

#[test]
fn a_flag_that_does_not_work_with_a_cluster_is_refused_by_name_before_the_cluster_is_asked() {
    let world = World::with_workflow(WORKFLOW);
    for (words, name) in [
        (&["run", "w.yaml", "--reuse", "x"][..], "run --reuse"),
        (&["run", "w.yaml", "--record", "d"], "run --record"),
        (&["run", "w.yaml", "--share"], "run --share"),
        (&["goal", "g", "--web"], "goal --web"),
        (&["goal", "g", "--interactive"], "goal --interactive"),
        (&["resume", "x", "--retry", "a"], "resume --retry"),
        (&["resume", "x", "--accept-changes"], "resume --accept-changes"),
        (&["resume", "x", "--max-tasks", "5"], "resume with other bounds"),
        (&["answer", "x", "g", "y", "--resume", "--share"], "answer --share"),
    ] {
        let said = world.convoke(&[words, &["--state", NOBODY]].concat());
        assert_eq!(said.code, Some(2), "{said}");
        assert!(
            said.stderr.contains(&format!("`convoke {name}` does not work with a cluster yet")),
            "{said}"
        );
    }
}

#[test]
fn commands_that_look_at_no_run_do_not_ask_the_cluster() {
    let world = World::with_workflow(WORKFLOW);
    for words in [&["check", "w.yaml"][..], &["plan", "w.yaml"], &["presets"], &["config", "show"]] {
        let said = world.convoke(&[words, &["--state", NOBODY]].concat());
        assert_eq!(said.code, Some(0), "{said}");
    }
}

#[test]
fn what_is_closer_to_the_command_says_where_runs_are() {
    let world = World::with_workflow(WORKFLOW).env("CONVOKE_STATE", NOBODY);
    assert_eq!(world.convoke(&["runs"]).code, Some(74), "the variable names a cluster");
    let folder = world.work().join("here").display().to_string();
    for flag in ["--state-dir", "--state"] {
        let said = world.convoke(&["run", "w.yaml", flag, &folder]);
        assert_eq!(said.code, Some(0), "{said}");
    }
    assert_eq!(world.convoke(&["runs", "--state", &folder]).stdout.lines().count(), 3);
    let both = world.convoke(&["runs", "--state", &folder, "--state-dir", &folder]);
    assert_eq!(both.code, Some(2), "{both}");
}

#[test]
fn a_worker_without_an_address_says_what_it_lacks() {
    let said = World::new().convoke(&["worker"]);
    assert_eq!(said.code, Some(2), "{said}");
    assert!(said.stderr.contains("hint: convoke worker --state restate://HOST:PORT"), "{said}");
}

#[test]
fn a_cluster_without_a_worker_is_told_from_one_that_is_away() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("restate://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).unwrap() > 0);
        let body = r#"{"message":"service 'ConvokeDirectory' not found"}"#;
        let head = format!("HTTP/1.1 404 Not Found\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).unwrap();
    });
    let said = World::new().convoke(&["runs", "--state", &address]);
    answering.join().unwrap();
    assert_eq!(said.code, Some(74), "{said}");
    assert!(said.stderr.contains("has no worker that serves runs"), "{said}");
    assert!(said.stderr.contains(&format!("hint: convoke worker --state {address}")), "{said}");
}
