//! Runs a plan: pipelines one after the other, the commands of each at once, each in a sandbox of its own.
//!
//! Nothing of the command's text is given to a shell. The engine holds both ends of every pipe and opens every file of a redirect
//! beneath the root itself, so a program gets three streams and nothing else. All of it ends together: by itself, in time, or when
//! the call is cancelled.

use super::sinks::{Shown, Sink, Source};
use crate::capture::Capture;
use crate::process::{Ended, attend, exit_code};
use crate::silence::Silence;
use convoke_files::{Kind, Root};
use convoke_model::TRACEPARENT;
use convoke_policy::{CommandPlan, Join, PlannedCommand, PlannedPipeline, PlannedRedirect};
use convoke_process::{Group, Launcher, Pipes};
use convoke_sandbox::Confinement;
use futures::future::{join_all, join3};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Programs that are a shell for what no plan holds, the first that is there.
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];

/// The device that takes everything.
const NOWHERE: &str = "/dev/null";

/// Runs the commands of one call.
pub(super) struct Runner<'a> {
    pub root: &'a Root,
    pub launcher: &'a Launcher,
    pub variables: &'a [(OsString, OsString)],
    /// The span of the attempt, where runs are traced.
    pub trace: Option<&'a str>,
    pub confinement: Confinement,
    /// Bytes of output that are kept.
    pub kept: usize,
    pub stop: CancellationToken,
}

/// What came of a command line.
pub(super) struct Ran {
    pub output: String,
    /// The exit code of the last command; `None` if its time was over.
    pub code: Option<i32>,
}

/// What came of a start.
enum Started {
    Running(Box<Group>, Pipes),
    Missing(String),
    Cancelled,
}

/// A command with where its streams lead.
struct Wired {
    source: Source,
    out: Sink,
    err: Sink,
}

impl Runner<'_> {
    /// Runs a plan within a time. An error says why a command could not be started.
    pub async fn run(&self, plan: &CommandPlan, time: Duration) -> Result<Ran, String> {
        self.within(time, |shown| async move {
            let mut code = 0;
            for pipeline in &plan.pipelines {
                let is_due = match pipeline.join {
                    Join::Then => true,
                    Join::And => code == 0,
                    Join::Or => code != 0,
                };
                if is_due && !self.stop.is_cancelled() {
                    code = self.pipeline(pipeline, &shown).await?;
                }
            }
            Ok(code)
        })
        .await
    }

    /// Runs a text by a shell: a person has allowed it as it stands.
    pub async fn run_text(&self, text: &str, time: Duration) -> Result<Ran, String> {
        let shell = SHELLS.iter().find(|shell| Path::new(shell).exists()).ok_or("there is no shell here")?;
        let argv = [*shell, "-c", text].map(|word| word.to_owned().into()).to_vec();
        let cwd = self.root.path().display().to_string();
        let command = PlannedCommand { argv, cwd, ..PlannedCommand::default() };
        let pipeline = PlannedPipeline { join: Join::Then, commands: vec![command] };
        let pipeline = &pipeline;
        self.within(time, |shown| async move { self.pipeline(pipeline, &shown).await }).await
    }

    async fn within<F: Future<Output = Result<i32, String>>>(
        &self,
        time: Duration,
        work: impl FnOnce(Shown) -> F,
    ) -> Result<Ran, String> {
        let shown: Shown = Arc::new(Mutex::new(Capture::new(self.kept)));
        let mut working = Box::pin(work(shown.clone()));
        let code = match tokio::time::timeout(time, &mut working).await {
            Ok(code) => Some(code?),
            Err(_) => {
                self.stop.cancel();
                // What was started is gone when this comes back.
                let _ = working.as_mut().await;
                None
            }
        };
        drop(working);
        let capture =
            std::mem::replace(&mut *shown.lock().expect("a panic poisoned this lock"), Capture::new(1));
        Ok(Ran { output: capture.into_text(), code })
    }

    /// Runs the commands of a pipeline at once, and gives the exit code of the last.
    async fn pipeline(&self, pipeline: &PlannedPipeline, shown: &Shown) -> Result<i32, String> {
        let last = pipeline.commands.len().saturating_sub(1);
        let mut running = Vec::with_capacity(pipeline.commands.len());
        // The last is started first, so that there is somewhere to write to.
        let mut next: Option<Sink> = None;
        for (at, command) in pipeline.commands.iter().enumerate().rev() {
            let out = next.take().unwrap_or_else(|| Sink::Shown(shown.clone()));
            if let Some(folder) = &command.enters {
                next = Some(Sink::Nowhere);
                running.push((at, Err(self.enters(folder, shown))));
                continue;
            }
            let source = if at == 0 { Source::Nothing } else { Source::Previous };
            let wired = Wired { source, out, err: Sink::Shown(shown.clone()) };
            let wired = self.wire(command, wired)?;
            let is_fed = !matches!(wired.source, Source::Nothing);
            match self.start(command, is_fed).await? {
                Started::Cancelled => return Ok(130),
                // As a shell has it: the others of the pipeline go on.
                Started::Missing(program) => {
                    let words = format!("{program}: command not found\n");
                    shown.lock().expect("a panic poisoned this lock").take(words.as_bytes());
                    next = Some(Sink::Nowhere);
                    running.push((at, Err(127)));
                }
                Started::Running(group, mut pipes) => {
                    // Redirected input leaves the command before it without a reader.
                    next = Some(match (&wired.source, pipes.stdin.take()) {
                        (Source::Previous, sender) => Sink::Next(Arc::new(tokio::sync::Mutex::new(sender))),
                        (_, sender) => {
                            pipes.stdin = sender;
                            Sink::Next(Arc::default())
                        }
                    });
                    running.push((at, Ok((group, pipes, wired))));
                }
            }
        }
        drop(next);
        let attending = running.into_iter().map(|(at, started)| async move {
            match started {
                Ok((group, pipes, wired)) => (at, self.attend(group, pipes, wired).await),
                Err(code) => (at, code),
            }
        });
        let codes = join_all(attending).await;
        Ok(codes.into_iter().find(|(at, _)| *at == last).map_or(0, |(_, code)| code))
    }

    /// What `cd` comes to: the plan knows where the commands after it run.
    fn enters(&self, folder: &str, shown: &Shown) -> i32 {
        let is_folder = self.root.find(folder).is_ok_and(|found| found.kind == Kind::Folder);
        if !is_folder {
            let words = format!("cd: {folder}: no such folder\n");
            shown.lock().expect("a panic poisoned this lock").take(words.as_bytes());
        }
        i32::from(!is_folder)
    }

    /// Does the redirects, in their order.
    fn wire(&self, command: &PlannedCommand, mut wired: Wired) -> Result<Wired, String> {
        for redirect in &command.redirects {
            match redirect {
                PlannedRedirect::Read { fd: 0, path } => wired.source = self.source(path)?,
                PlannedRedirect::Text { fd: 0, text } => wired.source = Source::Text(text.clone()),
                PlannedRedirect::Close { fd: 0 } => wired.source = Source::Nothing,
                PlannedRedirect::Write { fd, path } => *wired.stream(*fd)? = self.sink(path, false)?,
                PlannedRedirect::Append { fd, path } => *wired.stream(*fd)? = self.sink(path, true)?,
                PlannedRedirect::Copy { fd, from } => *wired.stream(*fd)? = wired.stream(*from)?.clone(),
                PlannedRedirect::Close { fd } => *wired.stream(*fd)? = Sink::Nowhere,
                PlannedRedirect::Read { fd, .. } | PlannedRedirect::Text { fd, .. } => {
                    return Err(no_stream(*fd));
                }
            }
        }
        Ok(wired)
    }

    fn source(&self, path: &str) -> Result<Source, String> {
        if path == NOWHERE {
            return Ok(Source::Nothing);
        }
        let file = self.root.find(path).and_then(|found| found.open());
        file.map(Source::File).map_err(|refusal| refusal.to_string())
    }

    fn sink(&self, path: &str, appends: bool) -> Result<Sink, String> {
        if path == NOWHERE {
            return Ok(Sink::Nowhere);
        }
        let file = self.root.place(path).and_then(|place| self.root.open_to_write(&place, appends));
        file.map(|file| Sink::File(Arc::new(Mutex::new(file)))).map_err(|refusal| refusal.to_string())
    }

    async fn start(&self, planned: &PlannedCommand, is_fed: bool) -> Result<Started, String> {
        let [program, arguments @ ..] = &planned.argv[..] else {
            return Err("there is no command".to_owned());
        };
        let found = self.root.find(&planned.cwd).map_err(|refusal| refusal.to_string())?;
        if found.kind != Kind::Folder {
            return Err(format!("`{}` is not a folder", planned.cwd));
        }
        let mut command = Command::new(&**program);
        command.args(arguments.iter().map(|argument| &**argument)).env_clear().envs(self.environment());
        command.envs(self.trace.map(|trace| (TRACEPARENT, trace)));
        command.envs(planned.env.iter()).current_dir(self.root.path().join(found.place.as_str()));
        command.stdin(if is_fed { Stdio::piped() } else { Stdio::null() });
        let cancelled = self.stop.cancelled();
        let started = self.launcher.start_confined(command, &self.confinement, None, cancelled, |_| {}).await;
        match started {
            Ok(Some((group, pipes))) => Ok(Started::Running(Box::new(group), pipes)),
            Ok(None) => Ok(Started::Cancelled),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Started::Missing(program.to_string()))
            }
            Err(error) => Err(refused(program, &error)),
        }
    }

    /// The variables, with a path on which no folder of the root stands.
    fn environment(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| match name.to_str() {
            Some("PATH") => (name.clone(), self.safe_path(value)),
            _ => (name.clone(), value.clone()),
        })
    }

    fn safe_path(&self, path: &OsString) -> OsString {
        let is_safe =
            |folder: &std::path::PathBuf| folder.is_absolute() && !folder.starts_with(self.root.path());
        std::env::join_paths(std::env::split_paths(path).filter(is_safe)).unwrap_or_default()
    }

    async fn attend(&self, mut group: Box<Group>, pipes: Pipes, wired: Wired) -> i32 {
        let Wired { source, out, err } = wired;
        let streams = async {
            join3(source.feed(pipes.stdin), out.fill(pipes.stdout), err.fill(pipes.stderr)).await;
        };
        match attend(&mut group, streams, &self.stop, &Silence::new(None)).await {
            Ended::Itself(status) => exit_code(status),
            Ended::Silent(_) | Ended::Cancelled => 130,
        }
    }
}

impl Wired {
    fn stream(&mut self, fd: u8) -> Result<&mut Sink, String> {
        match fd {
            1 => Ok(&mut self.out),
            2 => Ok(&mut self.err),
            fd => Err(no_stream(fd)),
        }
    }
}

fn no_stream(fd: u8) -> String {
    format!("descriptor {fd} cannot be redirected here; use 0, 1 and 2")
}

/// Why a program could not be started.
fn refused(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::Unsupported => {
            format!("no command of an agent is run without a sandbox: {error}")
        }
        _ => format!("`{program}` cannot be started: {error}"),
    }
}
