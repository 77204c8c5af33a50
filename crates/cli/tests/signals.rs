//! Runs that are interrupted, stopped, parked and answered from outside: they can go on, and leave no process behind.

use crate::support;

use rustix::process::Signal;
use serde_json::json;
use support::World;
use support::journal::Events;
use support::model::Model;
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

/// No process of the family is left, and the run can go on to its end.
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

/// A script, a server of tools and a coding agent that note when they are asked to end, and do not.
const DEAF: &str = "
workflow: {name: deaf, entry_point: all, runtime: {mcp_servers: {box: {command: sh, args: [server.sh]}}}}
agents:
  - {name: script, type: script, command: sh, args: [script.sh]}
  - {name: tool, type: tool, server: box, tool: act, arguments: {key: t0}}
  - {name: coder, provider: {name: acp, command: sh, args: [agent.sh]}, prompt: Write.}
parallel: [{name: all, agents: [script, tool, coder]}]
";

const SPEAKS_MCP: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"box","version":"1"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"act","description":"acts","inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
while :; do sleep 0.02; done
"#;

const SPEAKS_ACP: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{"loadSession":false,"promptCapabilities":{}}}' ;;
  *'"session/new"'*) result='{"sessionId":"s1"}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
while :; do sleep 0.02; done
"#;

/// At the first signal nothing is asked to end; at the second one nothing is asked any more, or waited for: it is ended.
#[test]
fn a_second_signal_gives_nothing_time_to_tidy_up() {
    for signal in [Signal::INT, Signal::TERM] {
        let world = World::with_workflow(DEAF);
        let deaf = |name: &str| format!("trap 'echo {name} >>asked' TERM HUP INT\n");
        world.write(
            "script.sh",
            deaf("script") + "echo script >>begun-script\nwhile :; do sleep 0.02; done\n",
        );
        world.write("server.sh", deaf("server") + "echo server >>begun-server\n" + SPEAKS_MCP);
        world.write("agent.sh", deaf("agent") + "echo agent >>begun-agent\n" + SPEAKS_ACP);
        let process = world.start(&["run", "w.yaml"]);
        let has_begun = |name: &str| !world.read(&format!("begun-{name}")).is_empty();
        until("all have begun", || ["script", "server", "agent"].into_iter().all(has_begun));
        process.signal(signal);
        process.await_words("stops at once");
        process.signal(signal);
        process.wait().prints_nothing().mentions(&["convoke resume"]);
        assert_eq!(world.status(), "interrupted");
        assert_eq!(world.read("asked"), "", "{signal:?}: it was asked, and waited for");
    }
}

/// A shutdown lets what runs come to its end, within a bound, and begins nothing new.
#[test]
fn sigterm_and_sighup_let_what_runs_end() {
    for signal in [Signal::TERM, Signal::HUP] {
        let (world, process) = begun();
        process.signal(signal);
        process.await_words("a second signal stops at once");
        world.write("go", "");
        process.wait().exits(143).prints_nothing().mentions(&["convoke resume"]);
        assert_eq!(world.read("after.log"), "", "nothing new begins");
        let run = world.run();
        assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"after": "done"}));
        let attempts = Events::of(&world, &run).attempts("attempt_started");
        assert_eq!(attempts, [("parent".to_owned(), 1), ("after".to_owned(), 1)]);
    }
}

#[test]
fn a_second_sigterm_or_sighup_ends_everything_at_once() {
    for signal in [Signal::TERM, Signal::HUP] {
        let (world, process) = begun();
        process.signal(signal);
        process.await_words("a second signal stops at once");
        process.signal(signal);
        process.wait().exits(143).prints_nothing().mentions(&["convoke resume"]);
        assert_eq!(world.status(), "interrupted");
        gone_and_resumable(&world);
    }
}

/// Under `nohup` a run outlives its terminal.
#[test]
fn a_hangup_that_is_to_be_ignored_is_ignored() {
    let world = World::with_workflow(FAMILY);
    let mut command = world.prepared(std::process::Command::new("sh"));
    command.args(["-c", "trap '' HUP; exec \"$0\" run w.yaml", env!("CARGO_BIN_EXE_convoke")]);
    let process = Process::start(command);
    until("the family is there", || family(&world).len() == 3);
    process.signal(Signal::HUP);
    process.signal(Signal::HUP);
    world.write("go", "");
    assert_eq!(process.wait().exits(0).json(), json!({"after": "done"}));
}

/// A step that may not be repeated: each beginning leaves a line, and it ends when `go` appears.
const ONCE: &str = r#"
workflow: {name: once, entry_point: pays}
agents:
  - name: pays
    type: script
    command: sh
    args: [-c, 'echo began >>witness; while [ ! -e go ]; do sleep 0.01; done; printf paid']
output: {said: '{{ pays.output.stdout }}'}
"#;

/// The workflow above, or its run, driven until the step has begun so many times.
fn paying(world: &World, args: &[&str], times: usize) -> Process {
    let process = world.start(args);
    until("the step has begun", || began(world) == times);
    process
}

fn began(world: &World) -> usize {
    world.read("witness").lines().count()
}

/// Nothing is repeated without a word: neither a resume nor one that skips gates begins the step again.
#[track_caller]
fn asks_first(world: &World, times: usize) {
    asks_as(world, times, 1);
}

/// The same, as the n-th question of the step.
fn asks_as(world: &World, times: usize, question: usize) {
    let run = world.run();
    let asks = ["run it again?", &format!("convoke answer {run} pays~{question} retry")];
    world.convoke(&["resume", &run]).exits(5).prints_nothing().mentions(&asks);
    world.convoke(&["resume", &run, "--skip-gates"]).exits(5).prints_nothing().mentions(&asks);
    assert_eq!(began(world), times);
}

#[test]
fn what_was_interrupted_is_asked_about_before_it_is_repeated() {
    let at_once: [(&[Signal], i32); 3] = [
        (&[Signal::INT, Signal::INT], 130),
        (&[Signal::TERM, Signal::TERM], 143),
        (&[Signal::HUP, Signal::HUP], 143),
    ];
    for (signals, code) in at_once {
        let world = World::with_workflow(ONCE);
        let process = paying(&world, &["run", "w.yaml"], 1);
        process.signal(signals[0]);
        process.await_words("stopping");
        signals[1..].iter().for_each(|signal| process.signal(*signal));
        process.wait().exits(code).prints_nothing();
        asks_first(&world, 1);
        world.write("go", "");
        let said = world.convoke(&["answer", &world.run(), "pays", "retry", "--resume"]).exits(0);
        assert_eq!((said.json(), began(&world)), (json!({"said": "paid"}), 2));
    }
}

#[test]
fn what_was_stopped_for_good_is_asked_about_when_it_is_resumed() {
    let world = World::with_workflow(ONCE);
    let process = paying(&world, &["run", "w.yaml"], 1);
    world.convoke(&["stop", &world.run(), "--now"]).exits(0);
    process.wait().exits(130);
    asks_first(&world, 1);
    world.convoke(&["answer", &world.run(), "pays", "fail", "--resume"]).exits(1).mentions(&["unknown"]);
    assert_eq!(began(&world), 1);
}

#[test]
fn one_retry_is_one_retry() {
    let world = World::with_workflow(ONCE);
    paying(&world, &["run", "w.yaml"], 1).kill();
    let run = world.run();
    for times in 1..4 {
        asks_as(&world, times, times);
        world.convoke(&["answer", &run, "pays", "retry"]).exits(0);
        paying(&world, &["resume", &run], times + 1).kill();
    }
    asks_as(&world, 4, 4);
    world.convoke(&["answer", &run, "pays", "retry"]).exits(0);
    world.write("go", "");
    assert_eq!(world.convoke(&["resume", &run]).exits(0).json(), json!({"said": "paid"}));
    assert_eq!(began(&world), 5);
}

/// A server that never gets ready and hears no signal but the last.
#[test]
fn a_server_that_is_starting_does_not_hold_up_the_end() {
    let agent = "{name: reader, prompt: Read.}";
    let tool = "{name: reader, type: tool, server: slow, tool: t, idempotent: true}";
    for step in [agent, tool] {
        // Only a server that a reply calls is started.
        let replies = "{reader: [{tool_calls: [{name: slow__t, arguments: {}}]}, done]}";
        let world = World::with_workflow(&format!(
            r#"
workflow:
  name: starts
  entry_point: reader
  runtime:
    provider: {{name: scripted, file: replies.yaml}}
    mcp_servers: {{slow: {{command: sh, args: [-c, "trap '' TERM INT; echo $$ >>pids; sleep 1000"]}}}}
agents: [{step}]
output: {{done: 'yes'}}
"#
        ));
        world.write("replies.yaml", replies);
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
    // Also those in sessions of their own, before the run is resumed.
    until("all of its family do", || !left.iter().copied().any(is_alive));
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
    world.convoke(&["answer", &run, "ship", "later"]).exits(20).mentions(&["answered already"]);
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
                    - {name: begin, type: script, command: sh, args: [-c, 'echo $$ >begun'], routes: [{to: s0}]}\n"
        .to_owned();
    for number in 0..600 {
        let next = number + 1;
        text.push_str(&format!(
            "  - {{name: s{number}, type: set, value: '{{% for i in range(300000) %}}{{% endfor %}}x', routes: [{{to: s{next}}}]}}\n"
        ));
    }
    text + "  - {name: s600, type: script, command: sh, args: [-c, 'touch ended']}\n"
}

/// For how many hundredths of a second a process has computed.
fn ticks(process: &Process) -> u64 {
    let pid = process.pid().as_raw_nonzero();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind_the_name = stat.rsplit(')').next().unwrap_or_default();
    behind_the_name.split_whitespace().nth(11).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// The decision is forgotten; what had happened before it is recorded, and the run is interrupted as any other.
#[test]
fn a_signal_interrupts_a_run_that_is_busy_deciding() {
    for (signal, code, by) in [(Signal::TERM, 143, "SIGTERM"), (Signal::INT, 130, "Ctrl-C")] {
        let world = World::with_workflow(&busy_deciding());
        let process = world.start(&["run", "w.yaml"]);
        until("the script has run", || {
            let pids = pids_in(&world.work().join("begun"));
            !pids.is_empty() && !pids.iter().any(|pid| is_alive(*pid))
        });
        let before = ticks(&process);
        until("the engine is deciding", || ticks(&process) > before + 50);
        process.signal(signal);
        let run = world.run();
        process.wait().exits(code).mentions(&["convoke resume", &run]);
        assert!(!world.work().join("ended").exists(), "it did not wait for the end of the chain");
        let events = Events::of(&world, &run);
        assert_eq!(events.count("attempt_finished"), 1, "the script's answer is kept");
        let interrupted = events.0.iter().find_map(|event| event["event"].get("run_interrupted"));
        assert_eq!(interrupted.expect("an orderly end")["by"], by);
        assert_eq!(events.count("task_failed"), 0, "nothing follows from a text that was cut off");
    }
}

/// Rounds of racing answers unless told otherwise. `CONVOKE_ANSWERS=1000` is the long version.
const ROUNDS: usize = 24;

/// Three people answer the same gate at the same moment, of a run with a driving process and of one without.
#[test]
fn of_three_racing_answers_one_is_accepted_and_heard() {
    let rounds = std::env::var("CONVOKE_ANSWERS").ok().map_or(ROUNDS, |text| text.parse().expect("a number"));
    for driven in [true, false] {
        let gates = rounds.div_ceil(2);
        let world = World::with_workflow(&many_gates(gates));
        let mut process = driven.then(|| world.start(&["run", "w.yaml"]));
        if process.is_none() {
            world.write("go", "");
            world.convoke(&["run", "w.yaml"]).exits(5);
        }
        until("all gates are open", || {
            let run = world.runs().pop();
            run.is_some_and(|run| Events::of(&world, &run).count("gate_opened") == gates)
        });
        let run = world.run();
        let accepted: Vec<String> = (1..=gates).map(|gate| race(&world, &run, gate)).collect();
        world.write("go", "");
        let said = match process.take() {
            Some(process) => process.wait(),
            None => world.convoke(&["resume", &run]),
        };
        let heard: Vec<String> =
            serde_json::from_value(said.exits(0).json()["heard"].clone()).expect("a list of words");
        assert_eq!(heard, accepted, "what was accepted is what was heard");
        let events = Events::of(&world, &run);
        assert_eq!(events.count("gate_answered"), gates);
        assert!(
            !events.0.iter().any(|event| event.to_string().contains("answer_refused")),
            "nobody is told too late"
        );
    }
}

/// Gates side by side, and a script that keeps the run going until `go` appears.
fn many_gates(count: usize) -> String {
    let names: Vec<String> = (1..=count).map(|gate| format!("g{gate}")).collect();
    let gate = |name: &String| {
        let option = |value: &str| format!("{{label: {value}, value: {value}}}");
        let options = ["one", "two", "three"].map(option).join(", ");
        format!("  - {{name: {name}, type: human_gate, prompt: Which?, options: [{options}]}}\n")
    };
    let heard: Vec<String> =
        names.iter().map(|name| format!("\"{{{{ all.outputs.{name}.selected }}}}\"")).collect();
    format!(
        "workflow: {{name: w, entry_point: all, limits: {{max_iterations: 10000}}}}\nagents:\n  - {{name: keep, type: script, command: sh, args: [-c, 'while [ ! -e go ]; do sleep 0.05; done']}}\n{}parallel:\n  - {{name: all, agents: [keep, {}]}}\noutput:\n  heard: '[{}]'\n",
        names.iter().map(gate).collect::<String>(),
        names.join(", "),
        heard.join(", "),
    )
}

/// Three answers at once; the one that was accepted. The others are refused by the name of the first.
fn race(world: &World, run: &str, gate: usize) -> String {
    let gate = format!("all/g{gate}");
    let racing = ["one", "two", "three"].map(|word| (word, world.start(&["answer", run, &gate, word])));
    let said = racing.map(|(word, process)| (word, process.wait()));
    let accepted: Vec<&str> =
        said.iter().filter(|(_, said)| said.code == Some(0)).map(|(word, _)| *word).collect();
    for (_, said) in said.iter().filter(|(_, said)| said.code != Some(0)) {
        assert_eq!(said.code, Some(20), "{said}");
        assert!(said.stderr.contains("is answered already, by"), "{said}");
    }
    assert_eq!(accepted.len(), 1, "{gate}: {accepted:?}");
    accepted[0].to_owned()
}

/// Two questions to a model, one after the other, and a script that keeps a witness.
fn two_questions(model: &Model) -> World {
    let world = World::with_workflow(
        "workflow: {name: w, entry_point: a}
agents:
  - {name: a, prompt: first, routes: [{to: s}]}
  - {name: s, type: script, command: sh, args: [-c, 'echo x >>witness'], routes: [{to: b}]}
  - {name: b, prompt: second}
output: {said: '{{ b.output.result }}'}
",
    );
    let provider =
        format!("[provider]\nname = \"openai\"\nbase_url = \"{}\"\napi_key = \"none\"\n", model.url());
    world.write("convoke.toml", format!("lease_seconds = 1\n\n{provider}model = \"m\"\n"));
    world
}

/// An owner that is stopped for longer than its lease: another process goes on with the run, and the old one, when it is let
/// go on, neither sends nor writes anything.
#[test]
fn a_run_is_taken_over_from_an_owner_that_is_stopped() {
    let model = Model::answering(|_| json!({ "say": "done", "delay_ms": 300 }));
    let world = two_questions(&model).env("CONVOKE_TEST_STOPPED_OWNER", "finds out");
    let stopped = world.start(&["run", "w.yaml"]);
    until("the first question is asked", || model.asked().len() == 1);
    stopped.signal(Signal::STOP);
    let run = world.run();
    let mut refused = 0;
    let said = loop {
        let said = world.convoke(&["resume", &run]);
        if said.code != Some(6) {
            break said;
        }
        said.mentions(&["driven by", &stopped.pid().as_raw_nonzero().to_string()]);
        refused += 1;
        assert!(refused < 10_000, "the run cannot be taken over");
    };
    assert_eq!(said.exits(0).mentions(&["taken over"]).json(), json!({"said": "done"}));
    let (asked, events) = (model.asked().len(), Events::of(&world, &run).0.len());
    assert_eq!((asked, world.read("witness").as_str()), (3, "x\n"), "the first question was asked again");
    stopped.signal(Signal::CONT);
    stopped.wait().exits(6).prints_nothing().mentions(&["was taken over"]);
    assert_eq!((model.asked().len(), world.read("witness").as_str()), (3, "x\n"));
    assert_eq!((Events::of(&world, &run).0.len(), world.status().as_str()), (events, "succeeded"));
    world.convoke(&["verify", &run]).exits(0);
}

/// A script of a stopped owner is ended before it is tried again elsewhere.
#[test]
fn what_a_stopped_owner_runs_is_ended_by_the_one_that_takes_over() {
    let world = World::with_workflow(FAMILY).env("CONVOKE_TEST_STOPPED_OWNER", "finds out");
    world.write("convoke.toml", "lease_seconds = 1\n");
    let stopped = world.start(&["run", "w.yaml"]);
    until("the family is there", || family(&world).len() == 3);
    let first = family(&world);
    let run = world.run();
    // An owner that is stopped in the middle of a commit keeps the journal locked.
    until("the script is on record", || Events::of(&world, &run).count("process_started") == 1);
    stopped.signal(Signal::STOP);
    let mut resumed = world.start(&["resume", &run]);
    until("another process has taken over and begun the script again", || {
        if resumed.has_ended() {
            resumed = world.start(&["resume", &run]);
        }
        family(&world).len() == 6
    });
    assert!(!first.into_iter().any(is_alive), "the first family still lives");
    world.write("go", "");
    assert_eq!(resumed.wait().exits(0).json(), json!({"after": "done"}));
    stopped.signal(Signal::CONT);
    stopped.wait().exits(6);
    assert_eq!(world.read("after.log"), "x\n");
}

/// Whether a process holds the lock that a commit to a run's journal takes: SQLite's bytes 120 (writing) to 122 of the
/// memory that its connections share.
fn is_committing(world: &World, run: &str, process: &Process) -> bool {
    use rustix::process::{Flock, FlockOffsetType, FlockType, fcntl_getlk};
    let path = world.state().join("runs").join(run).join("journal.db-shm");
    let Ok(memory) = std::fs::File::open(path) else { return false };
    let asked = Flock {
        start: 120,
        length: 3,
        pid: None,
        typ: FlockType::WriteLock,
        offset_type: FlockOffsetType::Set,
    };
    let held = fcntl_getlk(&memory, &asked).expect("locks can be asked for");
    held.is_some_and(|held| held.pid == Some(process.pid()))
}

/// Many steps that commit one after the other, with outputs that are worth a blob.
const COMMITS: &str = "
workflow: {name: w, entry_point: all, input: {items: {type: array}}, limits: {max_iterations: 100000}}
for_each:
  - name: all
    type: for_each
    source: workflow.input.items
    as: it
    max_concurrent: 1
    agent: {name: one, type: script, command: sh, on_unknown: retry, args: [-c, 'echo {{ it }} >>witness; head -c 200000 /dev/urandom | base64']}
    routes: [{to: last}]
agents: [{name: last, type: set, value: done}]
output: {items: '{{ all.outputs | length }}'}
";

/// An owner that is stopped in the middle of a commit keeps the journal locked. The process that takes the run over ends it.
#[test]
fn a_run_is_taken_over_from_an_owner_that_is_stopped_in_the_middle_of_a_commit() {
    let world = World::with_workflow(COMMITS);
    world.write("convoke.toml", "lease_seconds = 1\n");
    let items = 40;
    let list: Vec<usize> = (0..items).collect();
    let mut owner;
    loop {
        // Each stop is a throw of the dice; a run that ends before one hits is thrown again.
        owner = world.start(&["run", "w.yaml", "-i", &format!("items={}", json!(list))]);
        until("the run is there", || world.work().join("witness").exists());
        if stopped_while_committing(&world, &mut owner) {
            break;
        }
        owner.wait();
        std::fs::remove_dir_all(world.state()).expect("the run has ended");
        std::fs::remove_file(world.work().join("witness")).expect("it was there");
    }
    let run = world.run();
    let mut said = world.convoke(&["resume", &run]);
    while said.code == Some(6) {
        said = world.convoke(&["resume", &run]);
    }
    assert_eq!(said.exits(0).mentions(&["taken over", "so it was ended"]).json(), json!({ "items": items }));
    owner.signal(Signal::CONT);
    assert_eq!(owner.wait().code, None, "it was killed, and wrote nothing more");
    world.convoke(&["verify", &run]).exits(0);
    let witness = world.read("witness");
    let seen: std::collections::BTreeSet<&str> = witness.lines().collect();
    assert_eq!(seen.len(), items);
    assert!(witness.lines().count() <= items + 1, "one script at most was under way");
}

/// Stops a process again and again, until it is in the middle of a commit; false if it has ended before.
fn stopped_while_committing(world: &World, process: &mut Process) -> bool {
    let run = world.run();
    while !process.has_ended() {
        process.signal(Signal::STOP);
        until("it is stopped", || is_stopped(process));
        if is_committing(world, &run, process) {
            return true;
        }
        process.signal(Signal::CONT);
    }
    false
}

fn is_stopped(process: &Process) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid().as_raw_nonzero()));
    let state = stat.ok().and_then(|stat| stat.rsplit_once(')')?.1.trim_start().chars().next());
    matches!(state, Some('T' | 'Z') | None)
}
