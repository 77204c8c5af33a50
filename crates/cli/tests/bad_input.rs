//! Whatever is wrong with what the program is given, it says so clearly, ends with the right code, and loses nothing.
#![allow(clippy::print_stderr, reason = "a test that cannot be tried says so")]

use crate::support;

use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use support::disk::SmallDisk;
use support::process::Process;
use support::{Said, World};

const SMALL: &str = "\
workflow: {name: small, entry_point: one}
agents:
  - {name: one, type: set, value: hello}
output: {said: '{{ one.output }}'}
";

/// `run` and `check` of the same file say the same and leave no run behind.
#[track_caller]
fn refused(world: &World, file: &str, words: &[&str]) {
    for command in ["run", "check"] {
        world.convoke(&[command, file]).exits(3).prints_nothing().mentions(&[file]).mentions(words);
    }
    assert_eq!(world.runs(), [""; 0], "nothing was started");
}

#[test]
fn broken_yaml_is_refused_at_its_place() {
    let world = World::with_workflow("workflow:\n  name: x\n  entry_point: [a\nagents: }\n");
    refused(&world, "w.yaml", &["yaml", "w.yaml:4:7"]);
}

#[test]
fn an_alias_bomb_is_refused_before_it_goes_off() {
    let mut text = String::from("l0: &l0 [boom, boom, boom, boom, boom, boom, boom, boom, boom, boom]\n");
    for level in 1..12 {
        let aliases = vec![format!("*l{}", level - 1); 10].join(", ");
        writeln!(text, "l{level}: &l{level} [{aliases}]").expect("text takes text");
    }
    let world = World::with_workflow(&text);
    refused(&world, "w.yaml", &["alias"]);
}

#[test]
fn files_that_are_no_workflows_are_named_for_what_they_are() {
    let world = World::new();
    fs::create_dir(world.work().join("folder.yaml")).unwrap();
    world.write("binary.yaml", [0xFF, 0xFE, 0x00, 0x01, 0x80, 0xC3, 0x28, b'\n']);
    world.write("nul.yaml", b"workflow:\0\0\0");
    world.write("empty.yaml", "");
    world.write("list.yaml", "- workflow\n");
    world.write("other.yaml", "services: {web: {image: nginx}}\n");
    refused(&world, "absent.yaml", &["does not exist"]);
    refused(&world, "folder.yaml", &["not a file"]);
    refused(&world, "binary.yaml", &["binary"]);
    refused(&world, "nul.yaml", &[]);
    refused(&world, "empty.yaml", &["empty"]);
    refused(&world, "list.yaml", &["mapping"]);
    refused(&world, "other.yaml", &["workflow"]);
}

#[test]
fn a_prompt_of_ten_megabytes_goes_through() {
    let world = World::with_workflow(
        "workflow:\n  name: long\n  entry_point: reader\n  runtime: {provider: scripted}\n\
         agents:\n  - name: reader\n    prompt: !file long.txt\n    output: {n: {type: number}}\n\
         output: {n: '{{ reader.output.n }}'}\n",
    );
    world.write("long.txt", "All work and no play makes a dull test.\n".repeat(10 * 1024 * 1024 / 40));
    assert_eq!(world.convoke(&["-q", "run", "w.yaml"]).exits(0).json(), json!({"n": 1}));
    world.convoke(&["verify", &world.run()]).exits(0);
}

#[test]
fn an_input_of_ten_megabytes_goes_through() {
    let world = World::with_workflow(
        "workflow: {name: long, entry_point: count, input: {text: {type: string}}}\n\
         agents:\n  - {name: count, type: set, value: '{{ workflow.input.text | length }}'}\n\
         output: {length: '{{ count.output }}'}\n",
    );
    let text = "x".repeat(10 * 1024 * 1024);
    world.write("inputs.json", json!({"text": text}).to_string());
    let said = world.convoke(&["-q", "run", "w.yaml", "--input-file", "inputs.json"]).exits(0);
    assert_eq!(said.json(), json!({"length": text.len()}));
}

/// Of two ways to read an input only one is right, and `check` names it.
#[test]
fn an_input_without_its_path_is_told_by_its_path() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a, input: {task: {type: string}}}\nagents: [{name: a, prompt: 'Do {{ task }}'}]\n",
    );
    refused(&world, "w.yaml", &["`workflow.input.task`"]);
}

/// What cannot be rendered fails again on resume: the advice is one that helps.
#[test]
fn a_text_that_cannot_be_rendered_is_not_to_be_tried_again_as_it_is() {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}\nagents: [{name: a, prompt: 'About {{ workflow.input.topic }}'}]\n",
    );
    world.convoke(&["run", "w.yaml", "-p", "scripted"]).exits(1).mentions(&[
        "undefined",
        "--accept-changes",
        "-i",
    ]);
}

#[test]
fn wrong_inputs_are_refused_all_at_once() {
    let world = World::with_workflow(
        "workflow:\n  name: typed\n  entry_point: one\n  input:\n    age: {type: number}\n    name: {type: string}\n\
         agents:\n  - {name: one, type: set, value: '{{ workflow.input.age }}'}\n",
    );
    world
        .convoke(&["run", "w.yaml", "-i", "age=old", "-i", "nam=Ada"])
        .exits(3)
        .mentions(&["age", "nam", "name"]);
    world.convoke(&["run", "w.yaml", "-i", "age"]).exits(2).mentions(&["NAME=VALUE"]);
    world.convoke(&["run", "w.yaml", "--input-file", "gone.json"]).exits(3).mentions(&["gone.json"]);
    world.write("inputs.json", "{\"age\": ");
    world.convoke(&["run", "w.yaml", "--input-file", "inputs.json"]).exits(3).mentions(&["inputs.json"]);
    assert_eq!(world.runs(), [""; 0]);
}

#[test]
fn a_state_folder_that_cannot_be_used_is_named_with_the_reason() {
    let world = World::with_workflow(SMALL);
    world.write("file", "in the way");
    for place in ["file", "file/state", "/proc/convoke-state"] {
        let said = world.convoke(&["--state-dir", place, "run", "w.yaml"]).exits(74).prints_nothing();
        said.mentions(&[place, "--state-dir"]);
    }
    assert_eq!(world.read("file"), "in the way");
}

#[test]
fn a_read_only_state_folder_can_be_looked_at_but_not_written() {
    let world = World::with_workflow(SMALL);
    let Some(disk) = SmallDisk::mount(&world, "24m") else { return };
    let state = disk.path().join("state").display().to_string();
    world.convoke(&["--state-dir", &state, "run", "w.yaml"]).exits(0);
    disk.remount("ro");
    let runs = world.convoke(&["--state-dir", &state, "runs", "--format", "json"]).exits(0).json();
    let run = runs[0]["id"].as_str().expect("the run is still listed");
    world.convoke(&["--state-dir", &state, "show", run]).exits(0);
    world.convoke(&["--state-dir", &state, "run", "w.yaml"]).exits(74).mentions(&["read-only"]);
}

/// Ten items, one after the other; each notes that it ran and leaves 400 KB that do not compress.
const FILLER: &str = "\
workflow: {name: filler, entry_point: many, input: {items: {type: array}}}
agents: []
for_each:
  - name: many
    type: for_each
    source: workflow.input.items
    as: item
    max_concurrent: 1
    agent:
      name: one
      type: script
      on_unknown: retry
      command: sh
      args: [-c, 'echo {{ item }} >>ran.log; head -c 300000 /dev/urandom | base64']
output: {count: '{{ many.count }}'}
";
const ITEMS: &str = "items=[1,2,3,4,5,6,7,8,9,10]";

/// A world whose state lies on a disk that the filler's items do not fit on.
fn on_a_small_disk(wait_seconds: &str) -> Option<(World, SmallDisk)> {
    let world = World::with_workflow(FILLER);
    let disk = SmallDisk::mount(&world, "3m")?;
    let state = disk.path().join("state").display().to_string();
    let world = world.env("CONVOKE_STATE_DIR", &state).env("CONVOKE_DISK_WAIT_SECONDS", wait_seconds);
    Some((world, disk))
}

fn attempts(world: &World, run: &str) -> usize {
    let events = world.convoke(&["events", run, "--format", "json"]).exits(0).stdout;
    events.lines().filter(|line| line.contains("\"attempt_started\"")).count()
}

/// Whether every listing says that the run waits for room on its disk.
fn is_blocked(world: &World, run: &str) {
    let shown = world.convoke(&["show", run, "--format", "json"]).exits(0).json();
    assert_eq!((&shown["status"], &shown["blocked"]), (&json!("blocked"), &json!("disk")));
    let text = world.convoke(&["show", run]).exits(0).stdout;
    assert!(text.contains("blocked   no space left on the disk of its state folder"), "{text}");
    let listed = world.convoke(&["runs", "--status", "blocked", "--format", "json"]).exits(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["blocked"]), (&json!(run), &json!("disk")));
    let table = world.convoke(&["runs"]).exits(0).stdout;
    assert!(table.contains("blocked (disk)"), "{table}");
}

#[test]
fn a_disk_that_stays_full_stops_the_run_and_nothing_is_lost() {
    let Some((world, disk)) = on_a_small_disk("1") else { return };
    world.convoke(&["run", "w.yaml", "-i", ITEMS]).exits(74).prints_nothing().mentions(&["space"]);
    let before = world.read("ran.log");
    assert!(before.lines().count() < 10, "the disk was full before the end: {before}");
    assert!(before.lines().count() > 0, "the disk had room for the table and the first items");
    let run = world.run();
    world.convoke(&["verify", &run]).exits(0);
    world.convoke(&["show", &run]).exits(0);
    is_blocked(&world, &run);
    let last = world.convoke(&["events", &run]).exits(0).stdout;
    assert!(last.trim_end().ends_with("interrupted by a full disk"), "the ballast had room for it: {last}");

    disk.remount("size=64m");
    is_blocked(&world, &run);
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"count": 10}));
    let after = world.read("ran.log");
    let again = after.lines().count() - 10;
    assert!(again <= 1, "only what was running when the disk was full may run again: {after}");
    world.convoke(&["verify", &run]).exits(0);
}

#[test]
fn a_full_disk_pauses_the_run_which_goes_on_by_itself() {
    let Some((world, disk)) = on_a_small_disk("600") else { return };
    let process = world.start(&["run", "w.yaml", "-i", ITEMS]);
    process.await_words("the run pauses: no space left");
    let (run, ran) = (world.run(), world.read("ran.log").lines().count());
    assert!(ran < 10, "the disk was full before the end: {ran}");
    assert_eq!(ran, attempts(&world, &run), "nothing runs that is not on disk");
    world.convoke(&["verify", &run]).exits(0);
    is_blocked(&world, &run);
    assert!(disk.path().join("state/runs").join(&run).join("ballast").exists(), "room for its last words");

    disk.remount("size=64m");
    assert_eq!(process.wait().exits(0).mentions(&["the run goes on"]).json(), json!({"count": 10}));
    assert_eq!(world.read("ran.log").lines().count(), 10, "each item ran once");
    world.convoke(&["verify", &run]).exits(0);
    let events = world.convoke(&["events", &run]).exits(0).stdout;
    assert!(events.contains("paused"), "the pause is on record: {events}");
}

#[test]
fn a_person_can_let_go_of_a_run_that_waits_for_room() {
    let Some((world, disk)) = on_a_small_disk("600") else { return };
    let process = world.start(&["run", "w.yaml", "-i", ITEMS]);
    process.await_words("the run pauses");
    process.signal(rustix::process::Signal::INT);
    process.wait().exits(74).mentions(&["convoke resume"]);
    disk.remount("size=64m");
    world.convoke(&["resume", &world.run()]).exits(0);
}

#[test]
fn an_unknown_run_is_answered_with_the_nearest_one() {
    let world = World::with_workflow(SMALL);
    world
        .convoke(&["show", "20200101-000000-abcd"])
        .exits(2)
        .mentions(&["20200101-000000-abcd", "convoke runs"]);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    let almost = format!("{}!", &run[..run.len() - 1]);
    for command in ["show", "resume", "events", "verify", "stop"] {
        world.convoke(&[command, &almost]).exits(2).prints_nothing().mentions(&[&almost, &run]);
    }
    world.convoke(&["show", &run[..run.len() - 2]]).exits(0);
}

#[test]
fn a_journal_of_a_newer_version_is_refused_and_left_alone() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    let file = world.state().join("runs").join(&run).join("journal.db");
    set_format(&file, 99);
    let before = fs::read(&file).unwrap();
    for command in ["resume", "show", "events", "verify"] {
        world.convoke(&[command, &run]).exits(3).prints_nothing().mentions(&["99", "version"]);
    }
    world.convoke(&["runs"]).exits(0);
    assert!(before == fs::read(&file).unwrap(), "the file was changed");
    set_format(&file, 1);
    world.convoke(&["verify", &run]).exits(0);
}

/// Writes the format number where SQLite keeps it: four bytes at 60 of the first page, which must not be in the log.
fn set_format(file: &Path, format: u32) {
    let log = file.with_extension("db-wal");
    if fs::metadata(&log).is_ok_and(|meta| meta.len() > 0) {
        let change = format!("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA user_version = {format};");
        let database = rusqlite::Connection::open(file).expect("a database");
        database.execute_batch(&change).expect("the number can be changed");
        return;
    }
    let mut bytes = fs::read(file).unwrap();
    bytes[60..64].copy_from_slice(&format.to_be_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_journal_is_named_event_by_event() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    let folder = world.state().join("runs").join(&run);
    for name in ["journal.db", "journal.db-wal"] {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap_or_default();
        fs::write(path, replaced(bytes, b"hello", b"jello")).unwrap();
    }
    world.convoke(&["verify", &run]).exits(1).mentions(&["damaged", "event"]);
    world.convoke(&["resume", &run]).exits(1).prints_nothing().mentions(&["damaged"]);
    world.convoke(&["runs"]).exits(0);
}

fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    for at in 0..bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let world = World::with_workflow(SMALL);
    let mut child = world.command(&["schema"]).spawn().expect("the binary starts");
    drop(child.stdout.take());
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert!(!said.stderr.contains("panicked"), "{said}");
    assert_eq!(said.stderr, "", "nobody is told what nobody reads");

    let mut child = world.command(&["run", "w.yaml"]).spawn().expect("the binary starts");
    drop(child.stdout.take());
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert!(!said.stderr.contains("panicked"), "{said}");
    assert_eq!(world.status(), "succeeded", "the run itself is whole");
}

#[test]
fn closed_streams_do_no_harm() {
    let world = World::with_workflow(SMALL);
    for redirection in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let convoke = env!("CARGO_BIN_EXE_convoke");
        let mut shell = world.prepared(Command::new("sh"));
        shell.args(["-c", &format!("exec '{convoke}' run w.yaml {redirection}")]);
        Process::start(shell).wait().exits(0);
    }
    assert_eq!(world.runs().len(), 4);
}

#[test]
fn a_full_standard_output_is_an_error_and_the_result_is_kept() {
    let world = World::with_workflow(SMALL);
    let mut command = world.command(&["run", "w.yaml"]);
    command.stdout(fs::File::options().write(true).open("/dev/full").expect("a device that is always full"));
    let said = Said::from(command.output().expect("the binary starts")).exits(1);
    said.mentions(&["cannot write the output"]);
    let shown = world.convoke(&["show", &world.run(), "--format", "json"]).exits(0).json();
    assert_eq!(shown["output"], json!({"said": "hello"}));
}

/// Every file below a folder whose permissions let others in.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(open_to_others(&entry.path()));
        } else if entry.metadata().unwrap().permissions().mode() & 0o077 != 0 {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn state_and_recordings_are_private_whatever_the_umask() {
    let world = World::with_workflow("workflow: {name: w, entry_point: a}\nagents: [{name: a, prompt: x}]\n");
    let binary = env!("CARGO_BIN_EXE_convoke");
    let mut command = world.prepared(Command::new("sh"));
    let script = format!("umask 0; '{binary}' run w.yaml -p scripted --record tape && '{binary}' runs");
    Said::from(command.args(["-c", &script]).output().unwrap()).exits(0);
    assert_eq!(open_to_others(&world.state()), [""; 0]);
    assert_eq!(open_to_others(&world.work().join("tape")), [""; 0]);
}

#[test]
fn a_state_folder_that_everybody_may_write_is_refused_and_one_of_ours_is_closed() {
    let world = World::with_workflow(SMALL);
    let mode = |mode| fs::set_permissions(world.state(), PermissionsExt::from_mode(mode)).unwrap();
    mode(0o1777);
    world.convoke(&["run", "w.yaml"]).exits(74).prints_nothing().mentions(&["other users may write to it"]);
    mode(0o777);
    world.convoke(&["run", "w.yaml"]).exits(0);
    assert_eq!(fs::metadata(world.state()).unwrap().permissions().mode() & 0o022, 0);
}

#[test]
fn a_journal_of_a_format_that_never_was_is_named() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    let file = world.state().join("runs").join(&run).join("journal.db");
    for (format, words) in [(0, "format 0, which no version"), (u32::MAX, "format -1, which no version")] {
        set_format(&file, format);
        for command in ["resume", "show", "verify"] {
            world.convoke(&[command, &run]).exits(3).prints_nothing().mentions(&["journal.db", words]);
        }
    }
    world.convoke(&["runs"]).exits(0);
}

#[test]
fn a_missing_tip_is_reported() {
    let world = World::with_workflow(SMALL);
    world.convoke(&["run", "w.yaml"]).exits(0);
    let run = world.run();
    let tip = world.state().join("runs").join(&run).join("tip");
    world.convoke(&["verify", &run]).exits(0);
    for damaged in [false, true] {
        fs::remove_file(&tip).unwrap();
        if damaged {
            fs::write(&tip, "halved").unwrap();
        }
        world.convoke(&["verify", &run]).exits(1).mentions(&["`tip`", "missing or damaged"]);
        fs::write(&tip, "").unwrap();
    }
    fs::remove_file(&tip).unwrap();
    world.convoke(&["resume", &run]).exits(0).mentions(&["`tip`", "whether events after"]);
}

#[test]
fn nothing_beyond_the_project_is_read() {
    let world = World::new();
    fs::create_dir_all(world.work().join("repo/flows")).unwrap();
    let secret = world.work().join("secret.md");
    fs::write(&secret, "canary").unwrap();
    fs::write(world.work().join("repo/shared.md"), "shared").unwrap();
    let file = |text: &str| fs::write(world.work().join("repo/flows/w.yaml"), text).unwrap();
    let prompt = |path: &str| {
        format!("workflow: {{name: w, entry_point: a}}\nagents: [{{name: a, prompt: !file {path}}}]\n")
    };
    let check = || world.convoke(&["check", "repo/flows/w.yaml"]);
    file(&prompt("../shared.md"));
    check().exits(3).mentions(&["file::outside", "flows"]);
    fs::create_dir(world.work().join("repo/.git")).unwrap();
    check().exits(0);
    for path in ["../../secret.md", &secret.display().to_string()] {
        file(&prompt(path));
        let said = check().exits(3).mentions(&["file::outside"]);
        assert!(!said.stderr.contains("canary"), "{said}");
    }
    file(
        "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: workflow, workflow: ../../secret.md}]\n",
    );
    check().exits(3).mentions(&["outside the project"]);
}

#[test]
fn a_file_that_is_no_workflow_is_never_quoted() {
    let world = World::new();
    let files = [
        (".env", "API_KEY=canary-1\n"),
        ("keys.yaml", "password: canary-1\nother: [canary-1]\n"),
        ("broken.yaml", "data: {token: \"canary-1\n"),
        ("double.yaml", "canary-1: a\ncanary-1: b\n"),
        ("list.yaml", "- canary-1\n"),
        ("id_rsa", "-----BEGIN KEY-----\ncanary-1\n"),
        ("passwords.txt", "canary-1\n"),
    ];
    for (name, text) in files {
        world.write(name, text);
        let sub = format!(
            "workflow: {{name: w, entry_point: a}}\nagents: [{{name: a, type: workflow, workflow: ./{name}}}]\n"
        );
        let list = format!("workflow: {{name: w, entry_point: a}}\nagents: !file {name}\n");
        world.write("sub.yaml", sub);
        world.write("list-of.yaml", list);
        for file in [name, "sub.yaml", "list-of.yaml"] {
            for args in [vec!["check", file], vec!["check", file, "--format", "json"], vec!["run", file]] {
                let said = world.convoke(&args).exits(3);
                assert!(
                    !format!("{}{}", said.stdout, said.stderr).contains("canary-1"),
                    "{args:?} {name}\n{said}"
                );
            }
        }
    }
}
