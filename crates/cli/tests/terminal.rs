//! What a person at a terminal sees and types: the live view, gates, Ctrl-C.

use crate::common;
use crate::serving::slow_service_saying;

use common::{USER_FILE, World};
use rustix::fs::{OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

/// A program whose standard input and standard error are a terminal.
struct Session {
    terminal: File,
    child: Child,
    seen: String,
}

impl Session {
    fn start(world: &World, args: &[&str]) -> Session {
        Session::start_with(world, args, &[])
    }

    fn start_with(world: &World, args: &[&str], env: &[(&str, &str)]) -> Session {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("a terminal");
        let slave = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, rustix::fs::Mode::empty())
            .expect("a terminal");
        tcsetwinsize(&slave, Winsize { ws_row: 30, ws_col: 90, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
        let other: OwnedFd = slave.try_clone().expect("a copy");
        let mut command = world.command(args);
        command
            .env("TERM", "xterm")
            .envs(env.iter().copied())
            .stdin(Stdio::from(slave))
            .stderr(Stdio::from(other))
            .stdout(Stdio::piped());
        let child = command.spawn().expect("the program runs");
        Session { terminal: File::from(master), child, seen: String::new() }
    }

    /// Reads until these words are on the terminal.
    fn wait_for(&mut self, words: &str) {
        while !self.seen.contains(words) {
            assert!(self.read(), "it ended without {words:?}: {}", self.seen);
        }
    }

    fn read(&mut self) -> bool {
        let mut piece = [0; 4096];
        // A terminal whose other side is gone gives an error, not an end.
        match self.terminal.read(&mut piece) {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.seen.push_str(&String::from_utf8_lossy(&piece[..count]));
                true
            }
        }
    }

    fn type_line(&mut self, line: &str) {
        writeln!(self.terminal, "{line}").expect("it can be typed");
    }

    /// Everything it said, its output and its exit code.
    fn end(mut self) -> (String, String, i32) {
        while self.read() {}
        let output = self.child.wait_with_output().expect("it ends");
        (self.seen, String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code().unwrap_or(-1))
    }
}

const GATED: &str = "\
workflow: {name: gated, entry_point: work}
agents:
  - {name: work, type: script, command: echo, args: [hi], routes: [{to: approve}]}
  - name: approve
    type: human_gate
    prompt: ship it?
    options:
      - {label: 'Yes', value: 'yes', route: ship}
      - {label: 'No', value: 'no', route: $end, prompt_for: why}
  - {name: ship, type: set, value: shipped, output_type: string}
output: {said: '{{ ship.output if ship is defined else approve.output.additional_input.why }}'}
";

#[test]
fn a_gate_is_asked_at_the_terminal() {
    let world = World::with(GATED);
    let mut session = Session::start(&world, &["run", "w.yaml"]);
    session.wait_for("2. No");
    session.type_line("maybe");
    session.wait_for("`maybe` is not among the options");
    session.type_line("2");
    session.wait_for("why:");
    session.type_line("too early");
    let (seen, stdout, code) = session.end();
    assert_eq!((code, stdout.as_str()), (0, "{\n  \"said\": \"too early\"\n}\n"), "{seen}");
    assert!(seen.contains("\x1b[") && seen.contains("succeeded"), "{seen}");
}

#[test]
fn nobody_is_asked_when_the_user_says_so() {
    let world = World::with(GATED);
    let session = Session::start(&world, &["run", "w.yaml", "--no-interactive"]);
    assert_eq!(session.end().2, 5);
}

#[test]
fn leaving_a_question_is_said_and_parks_the_run() {
    let world = World::with(GATED);
    let mut session = Session::start(&world, &["run", "w.yaml"]);
    session.wait_for("2. No");
    session.terminal.write_all(b"\x04").unwrap();
    let (seen, stdout, code) = session.end();
    assert_eq!((code, stdout.as_str()), (5, ""), "{seen}");
    assert!(seen.contains("the input was closed (Ctrl-D): `approve` stays unanswered"), "{seen}");
    assert!(seen.contains("convoke answer") && seen.contains("convoke resume"), "{seen}");
    assert!(!seen.contains("no terminal is attached"), "{seen}");
    let mut session = Session::start(&world, &["resume"]);
    session.wait_for("2. No");
    session.type_line("yes");
    let (seen, stdout, code) = session.end();
    assert_eq!((code, stdout.as_str()), (0, "{\n  \"said\": \"shipped\"\n}\n"), "{seen}");
}

#[test]
fn without_colours_nothing_is_lost() {
    let world = World::with(GATED);
    let session = Session::start(&world, &["run", "w.yaml", "--skip-gates", "--color", "never"]);
    let (seen, _, code) = session.end();
    assert_eq!(code, 0);
    assert!(!seen.contains("\x1b[3") && seen.contains("work done"), "{seen}");
}

#[test]
fn a_plan_is_looked_at_changed_and_approved_at_the_terminal() {
    let world = World::new();
    world.write("convoke.toml", "[provider]\nname = \"scripted\"\nfile = \"replies.yaml\"\n");
    let task = "{id: a, description: count words, inputs: [], tools: [], skip_probability: 0}";
    let done = "{result: 3, summary: three, goal_achieved: true, reason: counted}";
    let answer = "{message: Three., next_steps: '', issues: '', reason: done}";
    let replies = format!(
        "goal/plan: {{json: {{tasks: [{task}]}}}}\ngoal/execute: {{json: {done}}}\ngoal/finalise: {{json: {answer}}}\n"
    );
    world.write("replies.yaml", replies);
    let mut session =
        Session::start_with(&world, &["goal", "count"], &[("VISUAL", "sed -i s/words/letters/")]);
    session.wait_for("change it first");
    session.type_line("2");
    session.wait_for("count letters");
    session.type_line("1");
    let (seen, stdout, code) = session.end();
    assert_eq!(code, 0, "{seen}");
    let output: serde_json::Value =
        serde_json::from_str(&stdout).expect("standard output is no terminal here");
    assert_eq!(output["tasks"][0]["description"], "count letters");
    let mut session = Session::start(&world, &["goal", "count"]);
    session.wait_for("do not");
    session.type_line("3");
    let (seen, _, code) = session.end();
    assert_ne!(code, 0, "{seen}");
    let session = Session::start(&world, &["goal", "count", "--yes"]);
    let (seen, _, code) = session.end();
    assert!(code == 0 && !seen.contains("change it first"), "{seen}");
}

/// Starts a run in the background at a terminal: its name, and the terminal, which stays open.
fn detached(world: &World, more: &[&str]) -> (String, Session) {
    let args = [&["run", "w.yaml", "--detach"], more].concat();
    let mut session = Session::start(world, &args);
    session.wait_for("convoke attach");
    let mut stdout = String::new();
    session.child.stdout.take().expect("it is piped").read_to_string(&mut stdout).expect("it ends");
    assert_eq!(session.child.wait().expect("it ends").code(), Some(0), "{}", session.seen);
    (stdout.trim().to_owned(), session)
}

/// Waits until the run has come to its gate.
fn wait_for_gate(world: &World, run: &str) {
    let is_open = || world.run(&["events", run, "--format", "json"]).stdout.contains("\"gate_opened\"");
    while !is_open() {
        std::thread::yield_now();
    }
}

#[test]
fn a_detached_run_outlives_its_terminal_and_its_gate_waits() {
    let world = World::with(GATED);
    let (run, session) = detached(&world, &[]);
    drop(session);
    wait_for_gate(&world, &run);
    let listed = world.run(&["runs", "--format", "json"]).stdout;
    assert!(listed.contains("\"running\""), "it waits and is not parked: {listed}");
    assert_eq!(world.run(&["answer", &run, "approve", "yes"]).code, 0);
    let ended = world.run(&["attach", &run]);
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (0, "{\n  \"said\": \"shipped\"\n}\n"),
        "{}",
        ended.stderr
    );
    let log = world.state().join("runs").join(&run).join("log");
    // Its last words come after the run's last event, which is what `attach` waits for.
    while !std::fs::read_to_string(&log).expect("a log").contains("succeeded") {
        std::thread::yield_now();
    }
}

#[test]
fn a_detached_run_can_be_resumed_as_soon_as_its_name_is_printed() {
    let world = World::with(GATED);
    for _ in 0..10 {
        let said = world.run(&["run", "w.yaml", "--detach"]);
        let (run, pid) = (said.stdout.trim(), said.stderr.split("process ").nth(1).expect("it is named"));
        let pid: i32 = pid.split(')').next().and_then(|pid| pid.parse().ok()).expect("a process id");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is there");
        // A killed process owns the run until the system has ended it.
        let resumed = std::iter::repeat_with(|| world.run(&["resume", run, "--no-interactive"]))
            .find(|resumed| resumed.code != 6)
            .expect("it ends");
        assert_eq!(resumed.code, 5, "it comes to its gate: {}", resumed.stderr);
    }
}

#[test]
fn a_gate_of_a_detached_run_is_told_where_it_was_started_and_by_the_configured_command() {
    let world = World::with(GATED);
    let told = world.path("told");
    let script = format!("echo \"$CONVOKE_EVENT $CONVOKE_STEP $0\" >>'{}'", told.display());
    world.write(USER_FILE, format!("[notify]\ncommand = ['sh', '-c', \"\"\"{script}\"\"\"]\n"));
    let (run, mut session) = detached(&world, &[]);
    session.wait_for("`approve` waits for you: ship it?");
    assert!(session.seen.contains('\x07'), "{:?}", session.seen);
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    while said().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(said(), format!("gate approve run {run}: `approve` waits for you: ship it?\n"));
    world.run(&["answer", &run, "approve", "yes"]);
    assert_eq!(world.run(&["attach", &run]).code, 0);
    session.wait_for(&format!("run {run}: it succeeded"));
    while !said().contains("ended") {
        std::thread::yield_now();
    }
    assert!(said().ends_with(&format!("ended  run {run}: it succeeded\n")), "{}", said());
}

#[test]
fn a_notification_that_cannot_be_made_is_in_the_log() {
    let world = World::with(GATED);
    world.write(USER_FILE, "[notify]\ncommand = ['no-such-program-anywhere']\n");
    let said = world.run(&["run", "w.yaml", "--no-interactive"]);
    assert_eq!(said.code, 5, "{}", said.stderr);
    let complaint = "`notify.command`: `no-such-program-anywhere` cannot be started";
    assert_eq!(said.stderr.matches(complaint).count(), 1, "{}", said.stderr);
}

#[test]
fn who_attaches_is_asked_and_may_leave() {
    let world = World::with(GATED);
    let (run, terminal) = detached(&world, &[]);
    drop(terminal);
    let mut session = Session::start(&world, &["attach"]);
    session.wait_for("2. No");
    session.terminal.write_all(b"\x04").unwrap();
    let (seen, stdout, code) = session.end();
    assert_eq!((code, stdout.as_str()), (130, ""), "{seen}");
    assert!(seen.contains("which goes on"), "{seen}");
    let mut session = Session::start(&world, &["attach", "last"]);
    session.wait_for("2. No");
    session.type_line("1");
    let (seen, stdout, code) = session.end();
    assert_eq!((code, stdout.as_str()), (0, "{\n  \"said\": \"shipped\"\n}\n"), "{seen}");
    assert!(seen.contains(&run), "{seen}");
}

#[test]
fn who_attaches_reads_an_answer_while_it_grows() {
    let (url, go) = slow_service_saying(&["Once", " upon", " a time"]);
    let world = World::with(&format!(
        "workflow: {{name: w, entry_point: a, runtime: {{provider: {{name: vllm, base_url: '{url}'}}, default_model: m}}}}\nagents:\n  - {{name: a, prompt: tell}}\noutput: {{said: '{{{{ a.output.result }}}}'}}\n"
    ));
    let (run, terminal) = detached(&world, &[]);
    drop(terminal);
    let mut session = Session::start(&world, &["attach", &run]);
    session.wait_for("Once");
    assert!(!session.seen.contains("upon"), "it is shown as it comes: {}", session.seen);
    go.send(()).unwrap();
    session.wait_for("Once upon");
    assert!(!session.seen.contains("a time"), "{}", session.seen);
    go.send(()).unwrap();
    let (seen, stdout, code) = session.end();
    assert_eq!((code, stdout.as_str()), (0, "{\n  \"said\": \"Once upon a time\"\n}\n"), "{seen}");
}

#[test]
fn what_refuses_a_detached_run_is_told_at_once() {
    let world = World::with("workflow: {name: w, entry_point: nowhere}\nagents: []\n");
    let said = world.run(&["run", "w.yaml", "--detach"]);
    assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{}", said.stderr);
    assert!(said.stderr.contains("nowhere"), "{}", said.stderr);
    assert!(world.run(&["runs"]).stderr.contains("no runs yet"));
}

/// A title is set, the screen erased, a line written over, the reading direction turned.
const HOSTILE: &str = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\rover\u{202e}\u{2066}\x7f";

/// A double-quoted word of YAML or TOML.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match convoke_model::is_control(c) {
        true => format!("\\u{:04x}", c as u32),
        false => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Everything in it that can come from elsewhere is hostile: names, prompts, answers, what commands print, messages.
fn hostile_world() -> World {
    let (bad, name) = (quoted(HOSTILE), quoted(&format!("w{HOSTILE}")));
    let world = World::with(&format!(
        "\
workflow: {{name: {name}, description: {bad}, entry_point: work, metadata: {{note: {bad}}}, input: {{topics: {{type: array, default: [{{name: {bad}}}, {{name: b}}]}}}}}}
agents:
  - {{name: work, description: {bad}, type: script, command: printf, args: ['%s', {bad}], routes: [{{to: many}}]}}
  - {{name: speak, prompt: {bad}, routes: [{{to: approve}}]}}
  - name: approve
    type: human_gate
    prompt: {bad}
    options:
      - {{label: {bad}, value: 'yes', route: fail}}
      - {{label: 'No', value: {bad}, route: $end}}
  - {{name: fail, prompt: {bad}}}
for_each:
  - name: many
    type: for_each
    source: workflow.input.topics
    as: one
    key_by: name
    agent: {{name: item, type: set, value: '{{{{ one.name }}}}', output_type: string}}
    routes: [{{to: speak}}]
output: {{said: '{{{{ speak.output.result }}}}'}}
"
    ));
    world.write("replies.yaml", format!("speak: {bad}\nfail: {{fail: fatal, message: {bad}}}\n"));
    world
}

fn assert_shown(command: &[&str], stream: &str, text: &str) {
    let raw = text.chars().find(|c| convoke_model::is_control(*c) && !matches!(c, '\n' | '\t'));
    assert_eq!(raw, None, "{command:?} lets {raw:?} reach {stream}: {text:?}");
}

#[test]
fn nothing_from_elsewhere_reaches_an_output_raw() {
    let world = hostile_world();
    let bad_file = format!("broken{HOSTILE}.yaml");
    world.write(
        &bad_file,
        format!("workflow: {{name: w, entry_point: {0}}}\n{0}: 1\nagents: []\n", quoted(HOSTILE)),
    );
    let asked = |args: &[&str]| {
        let output = world.command(args).output().expect("the program runs");
        for (stream, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
            assert_shown(args, stream, &String::from_utf8_lossy(bytes));
        }
        output.status.code().unwrap_or(-1)
    };
    for args in
        [&["check", "w.yaml"][..], &["plan", "w.yaml"], &["run", "w.yaml", "--dry-run", "-p", "scripted"]]
    {
        assert_eq!(asked(args), 0, "{args:?}");
    }
    let parked = ["run", "w.yaml", "--replies", "replies.yaml"];
    assert_eq!(asked(&parked), 5);
    let run = world.newest();
    assert_eq!(asked(&["answer", &run, "approve", HOSTILE, HOSTILE]), 2);
    assert_eq!(asked(&["answer", &run, "approve", "yes", "--resume"]), 1);
    for format in ["text", "json"] {
        let commands: [&[&str]; 9] = [
            &["runs"],
            &["show", &run],
            &["show", &run, "work"],
            &["show", &run, "approve"],
            &["show", &run, "fail"],
            &["events", &run],
            &["verify", &run],
            &["plan", "w.yaml"],
            &["check", "w.yaml", &bad_file],
        ];
        for command in commands {
            asked(&[command, &["--format", format]].concat());
        }
    }
    for format in ["mermaid", "dot"] {
        assert_eq!(asked(&["plan", "w.yaml", "--format", format]), 0);
    }
    let words: [&[&str]; 8] = [
        &["show", HOSTILE],
        &["show", &run, HOSTILE],
        &["run", HOSTILE],
        &["run", "w.yaml", "-i", &format!("{HOSTILE}=1")],
        &["run", "w.yaml", &format!("--{HOSTILE}")],
        &["presets", HOSTILE],
        &["capacity", "set", &format!("{HOSTILE}=1")],
        &["goal", HOSTILE, "--print-workflow"],
    ];
    for words in words {
        assert_ne!(asked(words), -1, "{words:?}");
    }
    world.write("convoke.toml", format!("[provider]\nname = {0}\n[{0}]\nx = 1\n", quoted(HOSTILE)));
    assert_eq!(asked(&["config", "show"]), 2);
}

#[test]
fn json_that_was_made_safe_is_the_same_value() {
    let world = hostile_world();
    let said = world.run(&["run", "w.yaml", "--replies", "replies.yaml", "--skip-gates"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    let work = world.run(&["show", &world.newest(), "work", "--format", "json"]);
    let work: serde_json::Value = serde_json::from_str(&work.stdout).expect("it is JSON");
    assert_eq!(work["output"]["stdout"], HOSTILE);
}

#[test]
fn a_terminal_obeys_nothing_from_elsewhere() {
    let world = hostile_world();
    // Our own bell aside, which rings where a person is asked.
    world.write("convoke.toml", "[notify]\nbell = false\n");
    let mut session =
        Session::start(&world, &["run", "w.yaml", "--replies", "replies.yaml", "--color", "always"]);
    session.wait_for("2. No");
    session.type_line("1");
    let (seen, _, code) = session.end();
    assert_eq!(code, 1, "{seen:?}");
    assert!(seen.contains("\\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{9b}31m\\rover\\u{202e}"), "{seen:?}");
    // The bell before a question is ours.
    for raw in ["\x1b]", "owned\x07", "\x1b[2J", "\u{9b}", "\rover", "\u{202e}", "\u{2066}", "\x7f"] {
        assert!(!seen.contains(raw), "{raw:?} in {seen:?}");
    }
}
