//! What whole-program tests share: a world of its own for each test, and the `convoke` binary in it.
//!
//! Nothing of the machine reaches the program: its environment is made here, its state and home lie in a folder that
//! goes away with the test.
#![allow(dead_code, reason = "each test program uses its part of this")]

pub mod disk;
pub mod front_ends;
pub mod goals;
pub mod journal;
pub mod model;
pub mod process;
pub mod random;
pub mod receiver;

use process::Process;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder with work, state and home in it.
pub struct World {
    folder: TempDir,
    env: Vec<(String, String)>,
}

impl World {
    /// An empty world.
    pub fn new() -> World {
        let folder = tempfile::Builder::new().prefix("convoke-").tempdir().expect("a temporary folder");
        for name in ["work", "state", "home"] {
            std::fs::create_dir(folder.path().join(name)).expect("a new folder");
        }
        World { folder, env: Vec::new() }
    }

    /// A world whose work folder holds a copy of a folder of `tests/`.
    pub fn with_copy_of(folder: &str) -> World {
        let world = World::new();
        copy(&in_tests(folder), &world.work());
        world
    }

    /// A world with one workflow file, `w.yaml`.
    pub fn with_workflow(text: &str) -> World {
        let world = World::new();
        world.write("w.yaml", text);
        world
    }

    /// Sets a variable for every command.
    pub fn env(mut self, name: &str, value: &str) -> World {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where commands run.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where runs are kept.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Puts a file into the work folder.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.work().join(name), text).expect("the work folder can be written");
    }

    /// Reads a file of the work folder; empty if it is not there.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// The command, ready to be changed further.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.prepared(Command::new(binary()));
        command.args(args);
        command
    }

    /// Any program, in this world.
    pub fn prepared(&self, mut command: Command) -> Command {
        command.current_dir(self.work()).env_clear();
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let home = self.folder.path().join("home").display().to_string();
        let state = self.state().display().to_string();
        let work = self.work().display().to_string();
        // What a test writes into its work folder is its own; tests of trust take this back.
        let own = ("CONVOKE_TRUSTED_FOLDERS", work.as_str());
        let fixed = [("PATH", path.as_str()), ("HOME", &home), ("CONVOKE_STATE_DIR", &state), own];
        let looks = [("NO_COLOR", "1"), ("TERM", "dumb"), ("COLUMNS", "200"), ("LANG", "C.UTF-8")];
        command.envs(fixed).envs(looks).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub fn convoke(&self, args: &[&str]) -> Said {
        Said::from(self.command(args).output().expect("the binary starts"))
    }

    /// Runs a command that was changed to its end.
    pub fn said_by(&self, mut command: Command) -> Said {
        Said::from(command.output().expect("the binary starts"))
    }

    /// Starts a command and leaves it running.
    pub fn start(&self, args: &[&str]) -> Process {
        Process::start(self.command(args))
    }

    /// The names of the runs, newest first.
    pub fn runs(&self) -> Vec<String> {
        let said = self.convoke(&["runs", "--format", "json"]);
        assert_eq!(said.code, Some(0), "`convoke runs` works in every state\n{said}");
        let rows = said.json();
        let ids = rows.as_array().expect("a list of runs").iter().map(|row| row["id"].as_str());
        ids.map(|id| id.expect("a run has a name").to_owned()).collect()
    }

    /// The name of the only run.
    pub fn run(&self) -> String {
        let mut runs = self.runs();
        assert_eq!(runs.len(), 1, "there is one run");
        runs.remove(0)
    }

    /// The status word of the newest run.
    pub fn status(&self) -> String {
        let rows = self.convoke(&["runs", "--format", "json"]).json();
        rows[0]["status"].as_str().expect("a run has a status").to_owned()
    }
}

impl Drop for World {
    /// What a failed test leaves behind is kept to be looked at.
    #[allow(clippy::print_stderr, reason = "whoever reads the failure needs the place")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("its files are kept in {}", self.folder.path().display());
        }
        process::end_those_in(self.folder.path());
    }
}

/// The program that is tried: the one that cargo built with the tests, or the one that `CONVOKE_BINARY` names.
pub fn binary() -> PathBuf {
    let named = std::env::var_os("CONVOKE_BINARY").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_convoke")))
}

/// What a command said and how it ended.
pub struct Said {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("convoke speaks UTF-8");
        Said { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Said {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{self}"))
    }

    /// Fails unless the command ended with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Said {
        assert_eq!(self.code, Some(code), "\n{self}");
        self
    }

    /// Fails unless standard error mentions each of these, whatever the case of letters.
    #[track_caller]
    pub fn mentions(self, words: &[&str]) -> Said {
        for word in words {
            assert!(said(&self.stderr, word), "does not mention `{word}`\n{self}");
        }
        self
    }

    /// Fails if something is on standard output.
    #[track_caller]
    pub fn prints_nothing(self) -> Said {
        assert_eq!(self.stdout, "", "\n{self}");
        self
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Said { code, stdout, stderr } = self;
        write!(f, "exit: {code:?}\nstdout: {}\nstderr: {}", cut(stdout), cut(stderr))
    }
}

/// Whether a text holds a word, whatever the case of letters and however lines were broken.
pub fn said(text: &str, word: &str) -> bool {
    let flat = |text: &str| text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    flat(text).contains(&flat(word))
}

/// The beginning of a text; a test that fails must not drown its message.
fn cut(text: &str) -> &str {
    text.char_indices().nth(4000).map_or(text, |(at, _)| &text[..at])
}

/// A path below `tests/`.
pub fn in_tests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(path)
}

/// Copies a folder with everything in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("a folder can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}
