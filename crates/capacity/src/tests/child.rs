//! Other processes for the tests: this very binary, started again with a part to play.

use super::Capacity;
use crate::failpoint;
use crate::{Identity, Options};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const PART: &str = "CONVOKE_CAPACITY_PART";
const FILE: &str = "CONVOKE_CAPACITY_FILE";
const AT: &str = "CONVOKE_CAPACITY_AT";
/// Lines for the parent begin with this; the test harness prints lines of its own.
const MARK: &str = "@@";

/// Times short enough for tests, and long enough for a slow machine.
pub fn options() -> Options {
    Options {
        stuck_after: Duration::from_millis(300),
        max_call_time: Duration::from_secs(20),
        margin: Duration::from_secs(1),
        ..Options::default()
    }
}

/// A process that plays a part.
pub struct Actor {
    pub process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Actor {
    /// Starts one. `at` is the step at which it gets the signal that its part is about; zero for none.
    pub fn start(part: &str, file: &Path, at: u32) -> Self {
        Self::start_by(Command::new(std::env::current_exe().unwrap()), part, file, at)
    }

    /// Starts one in a pid namespace and a time namespace of its own, in which the machine booted a day earlier. Only the
    /// superuser can.
    pub fn start_elsewhere(part: &str, file: &Path) -> Self {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--time", "--boottime", "86400", "--fork", "--kill-child"]);
        command.arg(std::env::current_exe().unwrap());
        Self::start_by(command, part, file, 0)
    }

    fn start_by(mut command: Command, part: &str, file: &Path, at: u32) -> Self {
        let mut process = command
            .args(["--exact", "tests::child::play", "--nocapture", "--test-threads=1"])
            .env(PART, part)
            .env(FILE, file)
            .env(AT, at.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, input, output: BufReader::new(output).lines() }
    }

    /// The next thing it says; `None` once it has ended.
    pub fn hear(&mut self) -> Option<String> {
        let lines = self.output.by_ref().map_while(Result::ok);
        // The harness may have begun the line with words of its own.
        lines.filter_map(|line| line.split_once(MARK).map(|(_, said)| said.to_owned())).next()
    }

    /// Lets it go on.
    pub fn tell(&mut self) {
        // It may have died in the meantime, which is what some tests are about.
        let _ = self.input.write_all(b"go\n");
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits for its end. Whether it ended on its own, and well; if not, it must have been killed.
    pub fn ended_well(&mut self) -> bool {
        let status = self.process.wait().unwrap();
        assert!(status.success() || status.signal().is_some(), "it failed: {status}");
        status.success()
    }

    /// Waits until it is stopped.
    pub fn wait_for_stop(&self) {
        let status = PathBuf::from(format!("/proc/{}/stat", self.process.id()));
        loop {
            let text = std::fs::read_to_string(&status).unwrap();
            if text.rsplit_once(')').unwrap().1.trim_start().starts_with('T') {
                return;
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Not a test: the stage on which actors play.
#[test]
fn play() {
    let Ok(part) = std::env::var(PART) else { return };
    let file = PathBuf::from(std::env::var(FILE).unwrap());
    let at = std::env::var(AT).unwrap().parse().unwrap();
    super::parts::play(&part, &file, at);
}

/// Says something to the parent.
#[allow(clippy::print_stdout, reason = "the parent reads it")]
pub fn say(text: impl std::fmt::Display) {
    println!("{MARK}{text}");
    std::io::stdout().flush().unwrap();
}

/// Waits until the parent says to go on.
pub fn wait_for_word() {
    let mut word = String::new();
    std::io::stdin().read_line(&mut word).unwrap();
}

/// From now on, a step inside the lock is this process's last, or where it stops.
pub fn arm(at: u32, signal: Signal) {
    failpoint::arm(at, signal);
}

pub fn open(file: &Path, label: &str) -> Capacity {
    Capacity::open(file, &Identity { label: label.into(), ..Identity::default() }, options()).unwrap()
}
