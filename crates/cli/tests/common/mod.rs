//! A folder of its own for each test, and the program run in it.
//!
//! What differs from run to run (names, times, paths, numbers of processes) is replaced before it is compared.

#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The user's configuration, from the folder that a program works in.
pub const USER_FILE: &str = "../home/.config/convoke/config.toml";

/// A folder with a state folder and a home of its own.
pub struct World {
    dir: tempfile::TempDir,
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    /// Standard output, as it was.
    pub stdout: String,
    /// Standard error, made comparable.
    pub stderr: String,
    /// The exit code.
    pub code: i32,
}

impl World {
    /// An empty one.
    pub fn new() -> World {
        World { dir: tempfile::tempdir().expect("a folder for the test") }
    }

    /// One with a workflow file `w.yaml`.
    pub fn with(workflow: &str) -> World {
        let world = World::new();
        world.write("w.yaml", workflow);
        world
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    /// The state folder.
    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }

    /// The program, ready to run in the folder with nothing of our own environment.
    pub fn command(&self, args: &[&str]) -> Command {
        let work = self.path("");
        std::fs::create_dir_all(&work).expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_convoke"));
        command
            .args(args)
            .current_dir(work)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path().join("home"))
            .env("CONVOKE_STATE_DIR", self.state())
            // What a test writes into its folder is its own.
            .env("CONVOKE_TRUSTED_FOLDERS", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Said {
        self.said(self.command(args).output().expect("the program runs"))
    }

    /// Starts the program.
    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs")
    }

    /// What a program said.
    pub fn said(&self, output: Output) -> Said {
        Said {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: self.comparable(&String::from_utf8_lossy(&output.stderr)),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// The newest run's name.
    pub fn newest(&self) -> String {
        let runs: serde_json::Value =
            serde_json::from_str(&self.run(&["runs", "--format", "json"]).stdout).unwrap();
        runs[0]["id"].as_str().expect("a run").to_owned()
    }

    /// The text without what differs from run to run.
    pub fn comparable(&self, text: &str) -> String {
        let root = self.dir.path().display().to_string();
        let text = text.replace(&root, "[DIR]");
        let lines: Vec<_> = text.lines().map(plain_line).collect();
        lines.join("\n")
    }
}

fn plain_line(line: &str) -> String {
    let is_clock = |word: &str| {
        word.len() == 8
            && word.bytes().enumerate().all(|(i, b)| if i % 3 == 2 { b == b':' } else { b.is_ascii_digit() })
    };
    let words: Vec<_> = line
        .split(' ')
        .map(|word| if is_clock(word) { "[TIME]".to_owned() } else { plain_word(word) })
        .collect();
    without_durations(&words.join(" "))
}

/// Names of runs become `[RUN]`.
fn plain_word(word: &str) -> String {
    let core = word.trim_matches(['`', '(', ')', ':', ';', ',']);
    let parts: Vec<_> = core.split('-').collect();
    let is_run = parts.len() == 3
        && parts[0].len() == 8
        && parts[1].len() == 6
        && parts[2].len() == 4
        && parts[..2].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    if is_run { word.replace(core, "[RUN]") } else { word.to_owned() }
}

/// `in 12 ms` and the like become `in [TOOK]`.
fn without_durations(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let unit = words.get(at + 1).map(|word| word.trim_end_matches([':', ',', ';']));
        let number = words[at].parse::<f64>().is_ok();
        if number && matches!(unit, Some("ms" | "s")) {
            let tail = words[at + 1].trim_start_matches(char::is_alphabetic);
            out.push(format!("[TOOK]{tail}"));
            at += 2;
        } else {
            out.push(words[at].to_owned());
            at += 1;
        }
    }
    out.join(" ")
}

/// The only folder inside a folder.
pub fn only_folder(dir: &Path) -> PathBuf {
    let mut entries: Vec<_> =
        std::fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}
