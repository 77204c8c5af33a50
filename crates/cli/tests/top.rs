//! The cockpit on a real terminal: tmux has one, and says what stands on it.
#![allow(clippy::print_stderr, reason = "a test that cannot run must say so")]

use crate::serving::slow_service;
use crate::support::World;
use crate::support::process::until;
use std::process::Command;

/// A terminal of 80 columns and 24 lines, of a tmux of its own.
struct Terminal {
    socket: String,
}

impl Terminal {
    /// Runs `convoke top` in it; `None` where there is no tmux.
    fn start(world: &World, args: &str) -> Option<Terminal> {
        let found = Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success());
        if !found {
            eprintln!("skipped: there is no tmux");
            return None;
        }
        let socket = world.work().join("tmux").display().to_string();
        let binary = crate::support::binary().display().to_string();
        let mut command = world.prepared(Command::new("tmux"));
        command.env("TERM", "xterm-256color").args(["-f", "/dev/null", "-S", &socket]);
        // What it says at its end stays to be read.
        let line = format!("{binary} {args}; echo \"ended with $?\"; cat");
        command.args(["new-session", "-d", "-x", "80", "-y", "24", &line]);
        let started = command.output().expect("tmux runs");
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(Terminal { socket })
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-S", &self.socket]).args(args).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn shown(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    #[track_caller]
    fn until_shown(&self, words: &str) -> String {
        let mut shown = String::new();
        until(&format!("`{words}` is on the screen"), || {
            shown = self.shown();
            shown.contains(words)
        });
        shown
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

const GATED: &str = "\
workflow: {name: gated, entry_point: ask}
agents:
  - {name: ask, type: human_gate, prompt: 'Shall it be sent?', options: [{label: Send, value: 'yes', route: after}, {label: Keep, value: 'no', route: $end}]}
  - {name: after, type: set, value: sent}
";

const WAITING: &str = "\
workflow: {name: waiting, entry_point: wait}
agents:
  - {name: wait, type: script, command: sh, args: [-c, 'while [ ! -e go ]; do sleep 0.02; done']}
";

fn writing(url: &str) -> String {
    format!(
        "workflow:\n  name: writing\n  entry_point: writer\n  runtime:\n    provider: {{name: vllm, base_url: \"{url}\"}}\n    default_model: m\nagents:\n  - {{name: writer, prompt: Tell me a story}}\n"
    )
}

#[test]
fn runs_of_other_processes_are_watched_answered_guided_and_stopped() {
    let (url, go) = slow_service();
    let world = World::with_workflow(GATED);
    world.write("waiting.yaml", WAITING);
    world.write("writing.yaml", writing(&url));
    let Some(terminal) = Terminal::start(&world, "top") else { return };
    terminal.until_shown("no run yet");
    // They are started after it, by processes of their own.
    let waits = world.start(&["run", "waiting.yaml"]);
    let writes = world.start(&["run", "writing.yaml"]);
    let asks = world.convoke(&["run", "w.yaml", "--detach"]).exits(0).stdout.trim().to_owned();
    let shown = terminal.until_shown("inbox (1)");
    assert!(shown.contains("gated") && shown.contains("waiting") && shown.contains("writing"), "{shown}");

    // The inbox: what is asked, whole, and an answer that is bound to it.
    terminal.keys(&["2"]);
    terminal.until_shown("Shall it be sent?");
    terminal.keys(&["a"]);
    terminal.until_shown("enter hands it in");
    until("the key is not too soon any more", || {
        terminal.keys(&["Enter"]);
        terminal.shown().contains("answered `ask~1`") || !terminal.shown().contains("enter hands it in")
    });
    until("it was answered", || world.convoke(&["events", &asks]).stdout.contains("answered by"));

    // A growing answer is followed while it is made.
    terminal.keys(&["1"]);
    open_run(&terminal, "writing");
    terminal.until_shown("writer");
    terminal.keys(&["Enter"]);
    terminal.until_shown("Once upon a time");
    // Words to its agent, which hears them before it may end.
    terminal.keys(&["g"]);
    terminal.until_shown("say to writer");
    terminal.keys(&["-l", "with a dragon"]);
    terminal.until_shown("with a dragon");
    terminal.keys(&["Enter"]);
    terminal.until_shown("said to `writer`");
    let run = run_of(&world, "writing");
    until("it is on disk", || world.convoke(&["events", &run]).stdout.contains("with a dragon"));
    go.send(()).unwrap();
    go.send(()).unwrap();
    writes.wait().exits(0);

    // Another size is drawn at once.
    terminal.tmux(&["resize-window", "-x", "100", "-y", "30"]);
    terminal.keys(&["q", "q"]);
    terminal.until_shown("STATUS");
    until("it is as wide as the window", || terminal.shown().lines().any(|line| line.chars().count() > 80));

    // A run of another process is stopped, after a yes.
    open_run(&terminal, "waiting");
    terminal.until_shown("wait");
    terminal.keys(&["S"]);
    terminal.until_shown("stop run");
    terminal.keys(&["y"]);
    terminal.until_shown("asked process");
    assert_ne!(waits.wait().code, Some(0));

    terminal.keys(&["C-c"]);
    terminal.until_shown("ended with 0");
}

/// Opens the run of a workflow, wherever it stands in the list.
fn open_run(terminal: &Terminal, workflow: &str) {
    terminal.keys(&["Home"]);
    let shown = terminal.until_shown(workflow);
    let rows = shown.lines().skip_while(|line| !line.contains("STATUS")).skip(1);
    let place = rows.take_while(|line| !line.contains(workflow)).count();
    (0..place).for_each(|_| terminal.keys(&["j"]));
    terminal.keys(&["Enter"]);
}

fn run_of(world: &World, workflow: &str) -> String {
    let rows = world.convoke(&["runs", "--format", "json"]).json();
    let rows = rows.as_array().expect("a list").iter();
    let row = rows.clone().find(|row| row["workflow"] == workflow).expect("it was started");
    row["id"].as_str().expect("a name").to_owned()
}

#[test]
fn one_damaged_journal_is_a_line_and_the_rest_goes_on() {
    let world = World::with_workflow(GATED);
    world.write(
        "waiting.yaml",
        "workflow: {name: damaged, entry_point: a}\nagents: [{name: a, type: set, value: '1'}]\n",
    );
    world.convoke(&["run", "waiting.yaml"]).exits(0);
    let run = world.run();
    std::fs::write(world.state().join("runs").join(&run).join("journal.db"), "no database").unwrap();
    world.convoke(&["run", "w.yaml", "--no-interactive"]).exits(5);
    let Some(terminal) = Terminal::start(&world, "top") else { return };
    terminal.until_shown("inbox (1)");
    terminal.until_shown("gated");
    terminal.keys(&["j", "Enter"]);
    until("why it cannot be read is said", || {
        let shown = terminal.shown();
        shown.contains("journal") || shown.contains("cannot be")
    });
    terminal.keys(&["q", "2"]);
    terminal.until_shown("Shall it be sent?");
    terminal.keys(&["q"]);
    terminal.until_shown("ended with 0");
}

#[test]
fn without_a_terminal_it_is_refused_in_one_line() {
    let world = World::new();
    world.convoke(&["top"]).exits(2).prints_nothing().mentions(&["needs a terminal", "convoke runs"]);
}

#[test]
fn no_escape_of_a_run_reaches_the_terminal_and_no_colour_where_none_is_wanted() {
    let world = World::with_workflow(
        "workflow: {name: hostile, entry_point: a}\nagents:\n  - {name: a, type: script, command: printf, args: ['\\033]0;owned\\007\\033[31mred']}\n",
    );
    world.convoke(&["run", "w.yaml"]).exits(0);
    let Some(terminal) = Terminal::start(&world, "top") else { return };
    terminal.until_shown("hostile");
    terminal.keys(&["Enter"]);
    terminal.until_shown("1 task");
    terminal.keys(&["Enter"]);
    terminal.until_shown("output");
    terminal.until_shown("u001b");
    // tmux gives colours as escapes with `-e`; NO_COLOR is set, so that only bold, dim and reversed are there.
    let drawn = terminal.tmux(&["capture-pane", "-p", "-e"]);
    let coloured = drawn.split("\u{1b}[").skip(1).any(|rest| {
        let codes = rest.split('m').next().unwrap_or_default();
        codes.split(';').any(|code| matches!(code.parse::<u32>(), Ok(30..=38 | 40..=48 | 90..=97)))
    });
    assert!(!coloured, "{drawn:?}");
    assert_ne!(terminal.tmux(&["display-message", "-p", "#{pane_title}"]).trim(), "owned");
    terminal.tmux(&["send-keys", "q", "q", "q"]);
    terminal.until_shown("ended with 0");
}
