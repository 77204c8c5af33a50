//! Runs that stop and go on: signals, crashes, gates, changed files.

use crate::common;

use common::World;
use insta::assert_snapshot;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr};

/// The second step says on the pipe `here` that it runs, and ends when the file `go` exists.
const WAITING: &str = "\
workflow: {name: waiting, entry_point: first}
agents:
  - {name: first, type: script, command: sh, args: [-c, 'echo first >> witness'], routes: [{to: second}]}
  - name: second
    type: script
    command: sh
    args: [-c, 'echo second >> witness; [ -p here ] && echo > here; until [ -e go ]; do sleep 0.02; done']
    on_unknown: retry
    routes: [{to: third}]
  - {name: third, type: script, command: sh, args: [-c, 'echo third >> witness; echo done']}
output: {said: '{{ third.output.stdout | trim }}'}
";

const GATED: &str = "\
workflow: {name: gated, entry_point: approve}
agents:
  - name: approve
    type: human_gate
    prompt: ship it?
    options:
      - {label: 'Yes', value: 'yes', route: ship}
      - {label: 'No', value: 'no', route: $end, prompt_for: why}
  - {name: ship, type: set, value: shipped, output_type: string}
output: {said: '{{ ship.output if ship is defined else 0 }}'}
";

/// Starts a run and waits until its second step really runs.
fn start(world: &World) -> Child {
    let pipe = world.path("here");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    let child = world.spawn(&["run", "w.yaml"]);
    std::fs::read(&pipe).expect("the step says that it runs");
    std::fs::remove_file(&pipe).expect("nobody needs it any more");
    child
}

/// Reads what the program says until a line holds these words.
fn wait_for(child: &mut Child, words: &str) -> BufReader<ChildStderr> {
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let mut seen = String::new();
    while !seen.contains(words) {
        assert_ne!(stderr.read_line(&mut seen).expect("stderr can be read"), 0, "it ended: {seen}");
    }
    stderr
}

/// The rest of what it says, once it has ended.
fn end(mut child: Child) -> (i32, String) {
    let stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    rest(child, stderr)
}

fn rest(child: Child, mut stderr: BufReader<ChildStderr>) -> (i32, String) {
    let mut text = String::new();
    while stderr.read_line(&mut text).expect("stderr can be read") > 0 {}
    (child.wait_with_output().expect("it ends").status.code().unwrap_or(-1), text)
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().expect("a process id")).expect("not zero");
    kill_process(pid, signal).expect("it can be told");
}

fn witness(world: &World) -> String {
    std::fs::read_to_string(world.path("witness"))
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn ctrl_c_lets_what_runs_end_and_says_how_to_resume() {
    let world = World::with(WAITING);
    let mut child = start(&world);
    signal(&child, Signal::INT);
    let stderr = wait_for(&mut child, "stopping");
    world.write("go", "");
    let (code, text) = rest(child, stderr);
    assert_eq!(code, 130, "{text}");
    assert!(world.comparable(&text).ends_with("hint: convoke resume [RUN]"), "{text}");
    assert_eq!(witness(&world), "first second");
    let resumed = world.run(&["resume"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (0, "{\n  \"said\": \"done\"\n}\n"),
        "{}",
        resumed.stderr
    );
    assert_eq!(witness(&world), "first second third");
}

#[test]
fn ctrl_c_twice_stops_at_once() {
    let world = World::with(WAITING);
    let mut child = start(&world);
    signal(&child, Signal::INT);
    let stderr = wait_for(&mut child, "stopping");
    signal(&child, Signal::INT);
    let (code, text) = rest(child, stderr);
    assert_eq!(code, 130, "{text}");
    world.write("go", "");
    assert_eq!(world.run(&["resume"]).code, 0);
    assert_eq!(witness(&world), "first second second third");
}

#[test]
fn sigterm_has_its_own_code() {
    let world = World::with(WAITING);
    let child = start(&world);
    signal(&child, Signal::TERM);
    let (code, text) = end(child);
    assert_eq!(code, 143, "{text}");
}

/// Resumes a run whose step was cut off under `on_unknown: fail`, twice.
fn fails_and_then_asks(world: &World) {
    let failed = world.run(&["resume"]);
    assert_eq!(failed.code, 1, "{}", failed.stderr);
    world.write("go", "");
    let asked = world.run(&["resume", "last"]);
    assert_eq!(asked.code, 5, "{}", asked.stderr);
    assert_eq!(witness(world), "first second", "no person has said that it may run again");
    let answered = world.run(&["answer", "last", "second", "retry", "--resume"]);
    assert_eq!(answered.code, 0, "{}", answered.stderr);
    assert_eq!(witness(world), "first second second third");
}

#[test]
fn a_step_that_failed_because_its_outcome_is_unknown_does_not_run_again_unasked() {
    let text = WAITING.replace("on_unknown: retry", "on_unknown: fail");
    let killed = World::with(&text);
    let child = start(&killed);
    signal(&child, Signal::KILL);
    end(child);
    fails_and_then_asks(&killed);

    let stopped = World::with(&text);
    let mut child = start(&stopped);
    signal(&child, Signal::INT);
    let stderr = wait_for(&mut child, "stopping");
    signal(&child, Signal::INT);
    assert_eq!(rest(child, stderr).0, 130);
    fails_and_then_asks(&stopped);
}

#[test]
fn a_killed_run_goes_on_and_nothing_finished_runs_again() {
    let world = World::with(WAITING);
    let child = start(&world);
    signal(&child, Signal::KILL);
    end(child);
    let listed = world.run(&["runs", "--format", "json"]);
    assert!(listed.stdout.contains("\"interrupted\""), "{}", listed.stdout);
    world.write("go", "");
    let resumed = world.run(&["resume"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (0, "{\n  \"said\": \"done\"\n}\n"),
        "{}",
        resumed.stderr
    );
    assert_eq!(witness(&world), "first second second third");
}

#[test]
fn a_second_owner_is_refused_by_name() {
    let world = World::with(WAITING);
    let child = start(&world);
    let refused = world.run(&["resume"]);
    assert_eq!(refused.code, 6, "{}", refused.stderr);
    assert!(refused.stderr.contains(&format!("process {}", child.id())), "{}", refused.stderr);
    world.write("go", "");
    assert_eq!(end(child).0, 0);
}

#[test]
fn another_process_stops_a_run() {
    let world = World::with(WAITING);
    let child = start(&world);
    let run = world.newest();
    let asked = world.run(&["stop", &run, "--now"]);
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let (code, text) = end(child);
    assert_eq!(code, 130, "{text}");
    let listed = world.run(&["runs", "--format", "json"]);
    assert!(listed.stdout.contains("\"cancelled\""), "{}", listed.stdout);
    world.write("go", "");
    let resumed = world.run(&["resume", &run]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}

#[test]
fn events_are_followed_to_the_end() {
    let world = World::with(WAITING);
    let child = start(&world);
    let follower = world.spawn(&["events", &world.newest(), "-f"]);
    world.write("go", "");
    assert_eq!(end(child).0, 0);
    let followed = world.said(follower.wait_with_output().unwrap());
    assert!(followed.stdout.lines().last().unwrap().contains("waiting succeeded"), "{}", followed.stdout);
}

#[test]
fn a_failed_run_may_be_resumed() {
    let world = World::with(
        "workflow: {name: f, entry_point: a}\nagents:\n  - {name: a, type: script, command: sh, args: [-c, 'echo a >> witness'], routes: [{to: b}]}\n  - {name: b, type: script, command: ./tool}\n",
    );
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    world.write("tool", "#!/bin/sh\necho b >> witness\n");
    std::fs::set_permissions(world.path("tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let resumed = world.run(&["resume", &world.newest()]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert_eq!(witness(&world), "a b");
}

#[test]
fn a_run_that_ended_well_gives_the_same_answer_again() {
    let world = World::with(GATED);
    let first = world.run(&["run", "w.yaml", "--skip-gates"]);
    let again = world.run(&["resume", &world.newest()]);
    assert_eq!((again.code, again.stdout), (0, first.stdout), "{}", again.stderr);
    assert!(again.stderr.contains("gated succeeded"), "{}", again.stderr);
}

#[test]
fn without_a_terminal_a_gate_parks_the_run_and_says_how_to_answer() {
    let world = World::with(GATED);
    let said = world.run(&["run", "w.yaml"]);
    assert_eq!((said.code, said.stdout.as_str()), (5, ""));
    assert_snapshot!(said.stderr, @r"
    [TIME] run [RUN] of gated (w.yaml)
    [TIME] approve waits for a person (approve~1)
    gated parked after [TOOK]: 0 steps (run [RUN])
    approve waits for a person:
      ship it?
      - yes: Yes
      - no: No  (asks for why)
      $ convoke answer [RUN] approve~1 yes --resume
      $ convoke answer [RUN] approve~1 no --input why=TEXT --resume
      (gate approve~1, shown 5e22b9b9c55f)
    hint: gates are asked where standard input and standard error are a terminal; --skip-gates takes the first option of every gate
    hint: convoke resume [RUN]
    ");
}

#[test]
fn an_answer_that_does_not_fit_is_refused() {
    let world = World::with(GATED);
    world.run(&["run", "w.yaml"]);
    let run = world.newest();
    for (args, words) in [
        (&["answer", &run, "approve", "maybe"][..], "`yes`, `no`"),
        (&["answer", &run, "approve", "no"], "--input why=TEXT"),
        (&["answer", &run, "aprove", "yes"], "it waits for `approve~1`"),
        (&["answer", "nothing", "approve", "yes"], "convoke runs"),
    ] {
        let said = world.run(args);
        assert_eq!(said.code, 2, "{}", said.stderr);
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
}

#[test]
fn gates_are_skipped_on_run_and_on_resume() {
    let world = World::with(GATED);
    let said = world.run(&["run", "w.yaml", "--skip-gates"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "{\n  \"said\": \"shipped\"\n}\n"));
    world.run(&["run", "w.yaml"]);
    let resumed = world.run(&["resume", "--skip-gates"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (0, "{\n  \"said\": \"shipped\"\n}\n"),
        "{}",
        resumed.stderr
    );
}

#[test]
fn a_changed_file_is_refused_with_the_difference_until_it_is_accepted() {
    let world = World::with(GATED);
    world.run(&["run", "w.yaml"]);
    world.write("w.yaml", GATED.replace("value: shipped", "value: gone"));
    let refused = world.run(&["resume"]);
    assert_eq!(refused.code, 3);
    assert_snapshot!(refused.stderr, @r#"
    error: the workflow changed since run `[RUN]` was started
    w.yaml:
      …
              - {label: 'Yes', value: 'yes', route: ship}
              - {label: 'No', value: 'no', route: $end, prompt_for: why}
      -   - {name: ship, type: set, value: shipped, output_type: string}
      +   - {name: ship, type: set, value: gone, output_type: string}
        output: {said: '{{ ship.output if ship is defined else 0 }}'}
    hint: convoke resume [RUN] --accept-changes goes on with the file as it is now: 0 finished tasks would run again
    "#);
    let accepted = world.run(&["resume", "--accept-changes", "--skip-gates"]);
    assert_eq!(
        (accepted.code, accepted.stdout.as_str()),
        (0, "{\n  \"said\": \"gone\"\n}\n"),
        "{}",
        accepted.stderr
    );
}

#[test]
fn a_finished_step_that_must_now_wait_for_another_runs_again_behind_it() {
    let file = |needs: &str, fails: &str| {
        format!(
            "workflow: {{name: w}}\nagents:\n  - {{name: a, type: script, command: echo, args: [a]}}\n  \
             - {{name: d, type: script, command: test, args: [-n, '{fails}'], needs: [a]}}\n  \
             - {{name: c, type: script, command: echo, args: [c], needs: [{needs}]}}\n  \
             - {{name: z, type: terminate, status: failed, reason: no, needs: [{{step: c, requires: any}}, {{step: d, requires: any}}]}}\n"
        )
    };
    let world = World::with(&file("a", ""));
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    world.write("w.yaml", file("a, d", "x"));
    let run = world.newest();
    let refused = world.run(&["resume", &run]);
    assert!(refused.stderr.contains("3 finished tasks would run again"), "{}", refused.stderr);
    let accepted = world.run(&["resume", &run, "--accept-changes"]);
    assert!(!accepted.stderr.contains("cannot follow"), "{}", accepted.stderr);
    assert!(accepted.stderr.contains("terminated by step `z`"), "it came to its end: {}", accepted.stderr);
}

#[test]
fn what_follows_from_a_changed_first_step_runs_again() {
    let file = |says: &str| {
        format!(
            "workflow: {{name: w, runtime: {{provider: {{name: scripted, file: replies.yaml}}}}}}\nagents:\n  \
             - {{name: a, prompt: {says}}}\n  - {{name: b, prompt: b, needs: [a]}}\n  - {{name: d, prompt: d, needs: [b]}}\n"
        )
    };
    let world = World::with(&file("One."));
    world.write("replies.yaml", "replies: {d: [{fail: fatal, message: no}]}\ndefault: [fine]\n");
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    world.write("w.yaml", file("Two."));
    world.write("replies.yaml", "default: [fine]\n");
    let accepted = world.run(&["resume", &world.newest(), "--accept-changes"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
    assert!(accepted.stderr.contains("b done"), "what follows is done again: {}", accepted.stderr);
}

#[test]
fn what_follows_from_a_changed_first_phase_runs_again() {
    let file = |says: &str| {
        format!(
            "schemaVersion: \"1\"\nproject: false\nprovider: {{name: scripted, file: replies.yaml}}\npersonas:\n  \
             - {{id: p, displayName: P, systemPromptTemplate: {says}}}\n  - {{id: q, displayName: Q, systemPromptTemplate: Go.}}\n\
             pipeline:\n  entryNodeId: a\n  nodes:\n    - {{id: a, actorId: m, personaId: p}}\n    \
             - {{id: b, actorId: m, personaId: q}}\n    - {{id: d, actorId: m, personaId: q}}\n    \
             - {{id: n, actorId: m, personaId: q}}\n  \
             edges: [{{from: a, to: b}}, {{from: b, to: d}}, {{from: a, to: n, event: tasks_planned}}]\n"
        )
    };
    let world = World::with(&file("One."));
    let says = |status: &str, events: &str| {
        format!(
            "replies: {{a/try: [{{json: {{status: success, events: {events}}}}}], d/try: [{{json: {{status: {status}}}}}]}}\n\
             default: [{{json: {{status: success}}}}]\n"
        )
    };
    world.write("replies.yaml", says("failure", "[]"));
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    world.write("w.yaml", file("Two."));
    world.write("replies.yaml", says("success", "[{type: tasks_planned}]"));
    let accepted = world.run(&["resume", &world.newest(), "--accept-changes"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
    let result: serde_json::Value = serde_json::from_str(&accepted.stdout).unwrap();
    assert_eq!(result["phases"]["n"]["status"], "success", "what was skipped is decided anew: {result:#}");
}

const HOOKED: &str = "  entry_point: a
  runtime: {provider: {name: scripted, file: replies.yaml}}
  hooks:
    on_start: {command: echo, args: [begins]}
    on_error: {command: echo, args: [failed]}
    on_complete: {command: echo, args: [done]}
";

#[test]
fn a_failed_run_with_hooks_can_be_resumed() {
    let world =
        World::with(&format!("workflow:\n  name: w\n{HOOKED}agents:\n  - {{name: a, prompt: Go.}}\n"));
    world.write("replies.yaml", "default: [{fail: fatal, message: down}]\n");
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    world.write("replies.yaml", "default: [fine]\n");
    let resumed = world.run(&["resume", &world.newest()]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}

#[test]
fn a_goal_behind_hooks_of_a_sub_workflow_can_be_resumed() {
    let world = World::with(
        "workflow: {name: w, entry_point: sub}\nagents:\n  - {name: sub, type: workflow, workflow: ./sub.yaml, routes: [{to: after}]}\n  \
         - {name: after, type: script, command: echo, args: [after]}\n",
    );
    let goal = "agents:\n  - {name: a, type: goal, goal: Do it.}\n";
    world.write("sub.yaml", format!("workflow:\n  name: sub\n{HOOKED}{goal}"));
    let task = |id: &str, skip: u32| {
        format!(
            "{{id: {id}, description: do {id}, inputs: [], tools: [], skip_probability: {skip}, skip_reason: no way}}"
        )
    };
    let replies = format!(
        "replies:\n  a/plan: [{{json: {{tasks: [{}, {}]}}}}]\n  a/classify: [{{json: {{done: true, reason: x, tasks: []}}}}]\n  \
         a/execute: [{{json: {{result: x, summary: s, goal_achieved: true, reason: r}}}}]\n  \
         a/finalise: [{{json: {{message: m, next_steps: '', issues: '', reason: r}}}}]\n",
        task("one", 0),
        task("two", 90)
    );
    world.write("replies.yaml", replies);
    let partial = world.run(&["run", "w.yaml"]);
    assert_eq!(partial.code, 1, "{}", partial.stderr);
    let resumed = world.run(&["resume", &world.newest()]);
    assert!(!resumed.stderr.contains("does not fit"), "{}", resumed.stderr);
    assert_eq!(resumed.code, 0, "what was thought impossible was tried: {}", resumed.stderr);
}

#[test]
fn a_step_that_runs_again_has_its_summary_written_again() {
    let file = |says: &str| {
        format!(
            "workflow:\n  name: w\n  entry_point: a\n  context: {{max_tokens: 60, trim_strategy: summarize}}\n  \
             runtime: {{provider: {{name: scripted, file: replies.yaml}}}}\nagents:\n  \
             - {{name: a, prompt: Begin., routes: [{{to: b}}]}}\n  - {{name: b, prompt: {says}, routes: [{{to: c}}]}}\n  \
             - {{name: c, prompt: End.}}\n"
        )
    };
    let world = World::with(&file("One."));
    let long = "word ".repeat(400);
    world.write(
        "replies.yaml",
        format!("replies: {{a: [{long}], c: [{{fail: fatal, message: no}}]}}\ndefault: [short]\n"),
    );
    assert_eq!(world.run(&["run", "w.yaml"]).code, 1);
    world.write("w.yaml", file("Two."));
    world.write("replies.yaml", "default: [short]\n");
    let accepted = world.run(&["resume", &world.newest(), "--accept-changes"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stderr);
}

#[test]
fn a_file_that_is_gone_does_not_keep_a_run_from_going_on() {
    let world = World::with(GATED);
    world.run(&["run", "w.yaml"]);
    std::fs::remove_file(world.path("w.yaml")).unwrap();
    let resumed = world.run(&["resume", "--skip-gates"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(resumed.stderr.contains("`w.yaml` is gone"), "{}", resumed.stderr);
}

#[test]
fn nothing_to_resume_is_a_usage_error() {
    let said = World::new().run(&["resume"]);
    assert_eq!(said.code, 2);
    assert_snapshot!(said.stderr, @r"
    error: no run of this folder is unfinished
    hint: `convoke runs` lists the runs of every folder
    ");
}

#[test]
fn an_answer_of_another_process_lets_the_run_go_on() {
    let world = World::with(GATED);
    world.run(&["run", "w.yaml"]);
    let answered = world.run(&["answer", &world.newest(), "approve", "yes", "--resume"]);
    assert_eq!(
        (answered.code, answered.stdout.as_str()),
        (0, "{\n  \"said\": \"shipped\"\n}\n"),
        "{}",
        answered.stderr
    );
}

#[test]
fn an_answer_waits_until_somebody_drives_the_run() {
    let world = World::with(GATED);
    world.run(&["run", "w.yaml"]);
    let answered = world.run(&["answer", &world.newest(), "approve", "no", "--input", "why=rain"]);
    assert_eq!((answered.code, answered.stdout.as_str()), (0, ""));
    assert_snapshot!(answered.stderr, @r"
    answered `approve`; no process drives run [RUN]
    hint: convoke resume [RUN]
    ");
    let resumed = world.run(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "{\n  \"said\": 0\n}\n"), "{}", resumed.stderr);
}

#[test]
fn a_run_that_was_killed_before_its_first_event_begins() {
    let world = World::with(GATED);
    let first = world.run(&["run", "w.yaml", "--skip-gates"]);
    let dir = common::only_folder(&world.state().join("runs"));
    rusqlite::Connection::open(dir.join("journal.db")).unwrap().execute_batch("DELETE FROM records").unwrap();
    std::fs::remove_file(dir.join("tip")).unwrap();
    let name = dir.file_name().unwrap().to_str().unwrap().to_owned();
    let resumed = world.run(&["resume", &name]);
    assert_eq!((resumed.code, resumed.stdout), (0, first.stdout), "{}", resumed.stderr);
}

/// What is refused when a run begins is refused when it goes on: a limit that the changed file cannot keep.
#[test]
fn a_run_that_cannot_stay_within_its_changed_limits_does_not_go_on() {
    let file = |limits: &str| {
        format!(
            "workflow: {{name: w, entry_point: all, {limits}input: {{items: {{type: array}}}}}}\nagents: []\nfor_each:\n  \
             - {{name: all, type: for_each, source: workflow.input.items, as: item, agent: {{name: one, type: script, command: ./tool}}}}\n"
        )
    };
    let world = World::with(&file(""));
    assert_eq!(world.run(&["run", "w.yaml", "--input", "items=[1, 2, 3]"]).code, 1);
    world.write("w.yaml", file("limits: {max_tasks: 3}, "));
    let refused = world.run(&["resume", &world.newest(), "--accept-changes"]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    let words = "the run needs at least 4 tasks, and its limit is 3 (limits.max_tasks); nothing was spent";
    assert!(refused.stderr.contains(words) && !refused.stderr.contains("reopened"), "{}", refused.stderr);
}
