//! Runs that are interrupted, stopped, parked and answered from outside: they can go on, and leave no process behind.

mod support;

use rustix::process::Signal;
use serde_json::json;
use support::World;
use support::journal::Events;
use support::process::{Process, is_alive, pids_in, until};

/// A script with a family: a child in its group and one in a session of its own. It ends when `go` appears.
const FAMILY: &str = r#"
workflow: {name: family, entry_point: parent}
agents:
  - name: parent
    type: script
    command: sh
    on_unknown: retry
    args:
      - -c
      - |
        setsid sh -c 'echo $$ >>pids; while [ ! -e go ]; do sleep 0.02; done' &
        sh -c 'echo $$ >>pids; while [ ! -e go ]; do sleep 0.02; done' &
        echo $$ >parent
        echo $$ >>pids
        while [ ! -e go ]; do sleep 0.02; done
    routes: [{to: after}]
  - {name: after, type: script, command: sh, args: [-c, 'echo x >>after.log; printf done']}
output: {after: '{{ after.output.stdout }}'}
"#;

/// The workflow above, begun, with all three processes there.
fn begun() -> (World, Process) {
    let world = World::with_workflow(FAMILY);
    let process = world.start(&["run", "w.yaml"]);
    until("the family is there", || family(&world).len() == 3);
    (world, process)
}

fn family(world: &World) -> Vec<i32> {
    pids_in(&world.work().join("pids"))
}

/// Nobody of the family is left, and the run can go on to its end.
#[track_caller]
fn gone_and_resumable(world: &World) {
    until("no process is left behind", || !family(world).into_iter().any(is_alive));
    world.write("go", "");
    let run = world.run();
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"after": "done"}));
    world.convoke(&["verify", &run]).exits(0);
}

#[test]
fn the_first_ctrl_c_lets_what_runs_end() {
    let (world, process) = begun();
    process.signal(Signal::INT);
    process.await_words("Ctrl-C again");
    world.write("go", "");
    let said = process.wait().exits(130).prints_nothing().mentions(&["convoke resume", &world.run()]);
    assert!(said.stderr.contains("parent done"), "what ran may end\n{said}");
    assert_eq!(world.read("after.log"), "", "nothing new begins");
    assert_eq!(world.status(), "interrupted");
    let run = world.run();
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"after": "done"}));
    let attempts = Events::of(&world, &run).attempts("attempt_started");
    assert_eq!(attempts, [("parent".to_owned(), 1), ("after".to_owned(), 1)]);
}

#[test]
fn the_second_ctrl_c_ends_everything_at_once() {
    let (world, process) = begun();
    process.signal(Signal::INT);
    process.await_words("Ctrl-C again");
    process.signal(Signal::INT);
    process.wait().exits(130).prints_nothing().mentions(&["convoke resume"]);
    assert_eq!(world.status(), "interrupted");
    gone_and_resumable(&world);
}

#[test]
fn sigterm_ends_everything_at_once() {
    let (world, process) = begun();
    process.signal(Signal::TERM);
    process.wait().exits(143).prints_nothing().mentions(&["convoke resume"]);
    assert_eq!(world.status(), "interrupted");
    gone_and_resumable(&world);
}

/// A server that never gets ready and hears no signal but the last.
#[test]
fn a_server_that_is_starting_does_not_hold_up_the_end() {
    let agent = "{name: reader, prompt: Read.}";
    let tool = "{name: reader, type: tool, server: slow, tool: t, idempotent: true}";
    for step in [agent, tool] {
        let world = World::with_workflow(&format!(
            r#"
workflow:
  name: starts
  entry_point: reader
  runtime:
    provider: {{name: scripted}}
    mcp_servers: {{slow: {{command: sh, args: [-c, "trap '' TERM INT; echo $$ >>pids; sleep 1000"]}}}}
agents: [{step}]
output: {{done: 'yes'}}
"#
        ));
        let process = world.start(&["run", "w.yaml"]);
        until("the server has been started", || !family(&world).is_empty());
        let begun = std::time::Instant::now();
        process.signal(Signal::TERM);
        process.wait().exits(143).prints_nothing().mentions(&["convoke resume"]);
        assert!(begun.elapsed() < std::time::Duration::from_secs(25), "{:?}", begun.elapsed());
        until("the server is gone", || !family(&world).into_iter().any(is_alive));
    }
}

#[test]
fn what_a_kill_left_behind_is_ended_before_the_next_attempt() {
    let (world, mut process) = begun();
    process.kill();
    let parent = pids_in(&world.work().join("parent"))[0];
    until("the script dies with the engine", || !is_alive(parent));
    let left = family(&world);
    let resumed = world.start(&["resume", &world.run()]);
    until("the next attempt has begun", || family(&world).len() == 6);
    let alive: Vec<_> = left.into_iter().filter(|pid| is_alive(*pid)).collect();
    assert_eq!(alive, [0; 0], "leftovers of the first attempt");
    world.write("go", "");
    assert_eq!(resumed.wait().exits(0).json(), json!({"after": "done"}));
}

#[test]
fn stop_from_another_process_ends_the_run() {
    let (world, process) = begun();
    let run = world.run();
    world.convoke(&["stop", &run, "--now"]).exits(0).mentions(&[&run]);
    process.wait().exits(130).prints_nothing().mentions(&["stopped", "convoke resume"]);
    assert_eq!(world.status(), "cancelled");
    world.convoke(&["stop", &run]).exits(0).mentions(&["not driven"]);
    gone_and_resumable(&world);
}

#[test]
fn a_run_that_is_driven_is_refused_to_a_second_owner_by_name() {
    let (world, process) = begun();
    let run = world.run();
    let owner = process.pid().as_raw_nonzero().to_string();
    world.convoke(&["resume", &run]).exits(6).prints_nothing().mentions(&["driven by", &owner]);
    world.write("go", "");
    process.wait().exits(0);
}

/// A gate with a text to ask for, and questions after it.
const GATES: &str = r#"
workflow: {name: gates, entry_point: ship}
agents:
  - name: ship
    type: human_gate
    prompt: Ship version 2?
    options:
      - {label: Ship it, value: yes_ship, route: survey}
      - {label: Not now, value: later, route: $end, prompt_for: why}
  - name: survey
    type: questions
    questions:
      - {id: city, text: Where?, choices: [Lyon, Oslo], allow_free_text: false, required: true}
      - {id: remark, text: Anything else?}
output:
  ship: '{{ ship.output.selected }}'
  why: '{{ ship.output.additional_input.why | default("") }}'
  city: '{{ survey.output.answers.city if survey is defined else "" }}'
"#;

#[test]
fn a_gate_without_a_terminal_parks_the_run_and_says_how_to_answer() {
    let world = World::with_workflow(GATES);
    let said = world.convoke(&["run", "w.yaml"]).exits(5).prints_nothing();
    let run = world.run();
    said.mentions(&[
        "Ship version 2?",
        "yes_ship",
        "later",
        &format!("convoke answer {run} ship"),
        "--skip-gates",
    ]);
    assert_eq!(world.status(), "parked");
    world.convoke(&["resume", &run]).exits(5).mentions(&["convoke answer"]);
}

#[test]
fn an_answer_and_resume_go_on_with_a_parked_run() {
    let world = World::with_workflow(GATES);
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    world.convoke(&["answer", &run, "ship", "perhaps"]).exits(2).mentions(&["perhaps", "yes_ship", "later"]);
    world.convoke(&["answer", &run, "shop", "later"]).exits(2).mentions(&["shop", "ship"]);
    world.convoke(&["answer", &run, "ship", "yes_ship"]).exits(0).mentions(&["convoke resume"]);
    world.convoke(&["resume", &run]).exits(5).mentions(&["survey", "Oslo"]);
    world.convoke(&["answer", &run, "survey", "city=Paris"]).exits(2).mentions(&["Paris", "Lyon"]);
    world.convoke(&["answer", &run, "survey", "remark=none"]).exits(2).mentions(&["city"]);
    let said = world.convoke(&["answer", &run, "survey", "city=Oslo", "--skip-rest", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({"ship": "yes_ship", "why": "", "city": "Oslo"}));
    world.convoke(&["answer", &run, "ship", "later"]).exits(2).mentions(&["does not wait"]);
}

#[test]
fn an_option_that_asks_for_a_text_gets_it() {
    let world = World::with_workflow(GATES);
    world.convoke(&["run", "w.yaml"]).exits(5);
    let run = world.run();
    let said = world.convoke(&["answer", &run, "ship", "later", "-i", "why=holiday", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({"ship": "later", "why": "holiday", "city": ""}));
}

#[test]
fn a_parked_run_survives_a_kill_and_keeps_its_siblings_results() {
    let world = World::with_workflow(
        "workflow: {name: side, entry_point: both}\n\
         agents:\n  - {name: ask, type: human_gate, prompt: Go?, options: [{label: Go, value: go}]}\n  \
           - {name: work, type: script, command: sh, args: [-c, 'echo x >>ran.log; echo \"{}\"']}\n\
         parallel: [{name: both, agents: [ask, work]}]\n\
         output: {ask: '{{ both.outputs.ask.selected }}'}\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(5);
    let said = world.convoke(&["answer", &world.run(), "both/ask", "go", "--resume"]).exits(0);
    assert_eq!(said.json(), json!({"ask": "go"}));
    assert_eq!(world.read("ran.log"), "x\n", "the sibling ran once");
}

/// A chain of steps that take no place and are decided on at once, each with a text that takes a while to render.
fn busy_deciding() -> String {
    let mut text = "workflow: {name: busy, entry_point: begin}\nagents:\n  \
                    - {name: begin, type: script, command: sh, args: [-c, 'touch begun'], routes: [{to: s0}]}\n"
        .to_owned();
    for number in 0..600 {
        let next = number + 1;
        text.push_str(&format!(
            "  - {{name: s{number}, type: set, value: '{{% for i in range(300000) %}}{{% endfor %}}x', routes: [{{to: s{next}}}]}}\n"
        ));
    }
    text + "  - {name: s600, type: script, command: sh, args: [-c, 'touch ended']}\n"
}

#[test]
fn a_signal_ends_a_process_that_is_busy_deciding() {
    let world = World::with_workflow(&busy_deciding());
    let process = world.start(&["run", "w.yaml"]);
    until("the script has run", || world.work().join("begun").exists());
    process.signal(Signal::TERM);
    process.wait().exits(143).mentions(&["convoke resume", &world.run()]);
    assert!(!world.work().join("ended").exists(), "it did not wait for the end of the chain");
}
