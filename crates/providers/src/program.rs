//! Coding agents are programs of this machine: started here, ended here.
//!
//! A program sees the environment that it was given and no credential besides those that its settings name. Dropping
//! [`Running`] ends it and all that it started: asked first, then killed. How processes are started and ended is
//! `convoke_process`'s; what is said on its streams is the business of `acp` and `headless`.

mod given;
mod last_words;
mod lines;

pub use given::Given;
pub use lines::Lines;

use crate::reference::Lookup;
use crate::trouble::away;
use convoke_agent::{Report, Sink};
use convoke_model::{Class, Failure, Program, TRACEPARENT, reason};
use convoke_process::{Group, Launcher, NO_ROOM_HINT, OnDrop, Pipes, is_shortage};
use convoke_sandbox::Ground;
use last_words::LastWords;
use secrecy::{ExposeSecret, SecretString};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;

/// How long a program that is told to end may tidy up.
const GRACE: Duration = Duration::from_secs(2);

/// A value shorter than this is a word, not a secret.
const SECRET_LENGTH: usize = 8;

/// Starts programs.
pub struct Programs {
    /// The variables that every program inherits; the caller has left out what is secret.
    inherited: Vec<(OsString, OsString)>,
    lookup: Lookup,
    /// What they are confined to.
    ground: Option<Ground>,
    /// Made late: most runs start no program.
    launcher: OnceLock<Launcher>,
}

impl Programs {
    /// Programs inherit these variables; what their settings refer to is looked up so.
    pub fn new(inherited: Vec<(OsString, OsString)>, lookup: Lookup) -> Programs {
        Programs { inherited, lookup, ground: None, launcher: OnceLock::new() }
    }

    /// The same, confined as the ground has it.
    pub fn on(self, ground: Ground) -> Programs {
        Programs { ground: Some(ground), ..self }
    }

    /// What a program is started with; a variable that is not set is named.
    pub fn given(&self, provider: &str, program: &Program) -> Result<Given, Failure> {
        Given::new(provider, program, &self.lookup)
    }

    /// Starts a program with what it is given in a folder, not later than a time; it is told the span that its work belongs to.
    pub async fn start(
        &self,
        provider: &str,
        program: &Program,
        given: Given,
        folder: &Path,
        (trace, until): (Option<&str>, Option<Instant>),
    ) -> Result<Running, Failure> {
        let mut command = Command::new(&program.command);
        command.args(&given.args).current_dir(folder).env_clear();
        command.envs(self.inherited.iter().map(|(name, value)| (name, value)));
        command.envs(trace.map(|trace| (TRACEPARENT, trace)));
        command.envs(given.env()).stdin(Stdio::piped());
        let refused = |error: io::Error| refusal(provider, program, folder, &error);
        let started = self.launcher().start_unless(command, until, std::future::pending(), |_| {}).await;
        let (group, pipes) = started.map_err(refused)?.expect("nobody takes it back");
        Ok(Running::new(group, pipes, given.into_secrets()))
    }

    fn launcher(&self) -> &Launcher {
        self.launcher.get_or_init(|| {
            let launcher = Launcher::new("agents", OnDrop::AskFirst { grace: GRACE });
            match &self.ground {
                Some(ground) => launcher.on(ground.clone()),
                None => launcher,
            }
        })
    }

    /// Says why a program cannot be started, if it is not there at all.
    pub fn find(&self, provider: &str, program: &Program) -> Result<(), Failure> {
        let command = Path::new(&program.command);
        let folders = self.inherited.iter().find(|(name, _)| name == "PATH").map(|(_, folders)| folders);
        let is_there = match command.components().count() {
            1 => folders.is_some_and(|all| std::env::split_paths(all).any(|one| one.join(command).is_file())),
            _ => command.is_file(),
        };
        match is_there {
            true => Ok(()),
            false => Err(refusal(provider, program, Path::new("."), &io::ErrorKind::NotFound.into())),
        }
    }
}

/// The folder that a program works in: the one that was asked for, or else the engine's own.
pub fn folder(asked: Option<&str>) -> PathBuf {
    let asked = Path::new(asked.unwrap_or("."));
    // Only a folder that is gone cannot be made absolute, and then starting says so.
    std::fs::canonicalize(asked).or_else(|_| std::path::absolute(asked)).unwrap_or_else(|_| asked.to_owned())
}

/// A program that has been started.
pub struct Running {
    /// Its processes.
    pub group: Group,
    stdin: Option<pipe::Sender>,
    stdout: Option<pipe::Receiver>,
    stderr: LastWords,
    secrets: Vec<SecretString>,
}

impl Running {
    fn new(group: Group, pipes: Pipes, secrets: Vec<SecretString>) -> Running {
        let Pipes { stdin, stdout, stderr } = pipes;
        Running { group, stdin, stdout: Some(stdout), stderr: LastWords::listen(stderr), secrets }
    }

    /// Its input and its output. They can be taken once.
    pub fn streams(&mut self) -> (pipe::Sender, pipe::Receiver) {
        let streams = self.stdin.take().zip(self.stdout.take());
        streams.expect("whoever started it takes them, once")
    }

    /// Tells that it runs, so that what a crash leaves of it can be found.
    pub fn announce(&self, sink: &dyn Sink) {
        let (pid, start) = self.group.identity();
        sink.report(Report::ProcessStarted { pid, start });
    }

    /// Waits until it has ended, and says how: `exit status: 1`, and what it last wrote to standard error.
    pub async fn end(&mut self) -> End {
        self.group.leader_ends().await;
        // Processes that an agent leaves behind are of no use any more, wherever they went.
        self.group.kill();
        self.group.kill_escaped();
        let status = self.group.reap();
        let words = self.stderr.heard().await;
        End { status, words: self.scrub(words) }
    }

    /// A failure that does not tell what the program was given. Programs like to repeat it.
    pub fn without_secrets(&self, failure: Failure) -> Failure {
        Failure { message: self.scrub(failure.message), ..failure }
    }

    fn scrub(&self, mut text: String) -> String {
        let secrets = self.secrets.iter().map(ExposeSecret::expose_secret);
        for secret in secrets.filter(|secret| secret.len() >= SECRET_LENGTH) {
            text = text.replace(secret, "***");
        }
        text
    }
}

/// How a program ended.
#[derive(Debug)]
pub struct End {
    status: Option<std::process::ExitStatus>,
    /// The last lines of its standard error.
    pub words: String,
}

impl End {
    /// Whether it says that all went well.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The status and the last words, for a message.
    pub fn told(&self) -> String {
        let status = self.status.map_or_else(|| "ended".to_owned(), |status| status.to_string());
        if self.words.is_empty() { status } else { format!("{status}: {}", self.words) }
    }
}

/// Why a program could not be started, said so that its author can act.
fn refusal(provider: &str, program: &Program, folder: &Path, error: &io::Error) -> Failure {
    let command = &program.command;
    let fatal = |reason: &str, what: String| {
        Failure::new(Class::Fatal, format!("provider {provider}: {what}")).reason(reason)
    };
    match error.kind() {
        _ if !folder.is_dir() => {
            fatal("bad_working_dir", format!("there is no folder `{}`", folder.display()))
        }
        io::ErrorKind::NotFound => fatal("not_found", format!("program `{command}` was not found"))
            .hint(format!("install `{command}`, or say where it is with `command`")),
        io::ErrorKind::PermissionDenied => {
            fatal("not_executable", format!("program `{command}` is not executable"))
        }
        io::ErrorKind::TimedOut => away(),
        _ if is_shortage(error) => {
            let message = format!("provider {provider}: no room to start program `{command}`: {error}");
            Failure::new(Class::Capacity, message).reason(reason::NO_ROOM).hint(NO_ROOM_HINT)
        }
        _ => fatal("cannot_start", format!("program `{command}` cannot start: {error}")),
    }
}
