//! Runs one command from its start to the end of everything it started.
//!
//! A command has ended when its process has; children that it left behind do not hold up the step, they are ended
//! with it. On cancellation the whole group is asked to end, then made to, and is gone before the caller goes on.

use crate::capture::{Capture, LIMIT};
use crate::environment::Environment;
use crate::launch::{Launcher, refusal};
use crate::silence::Silence;
use crate::surviving::Surviving;
use convoke_agent::{Commands, Report, ScriptResult, Sink};
use convoke_failpoint::failpoint;
use convoke_model::{Class, Failure, ScriptCall, reason};
use convoke_process::{Group, Pipes};
use futures::future::{BoxFuture, FusedFuture, FutureExt, join3};
use std::future::Future;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

/// How long a cancelled command has to tidy up.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How long output that is still on its way is waited for once the command has ended.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// How long the kernel may take to end what was killed.
pub(crate) const DYING: Duration = Duration::from_secs(1);

/// Runs commands as processes of this machine.
pub struct Processes {
    launcher: Launcher,
    /// Where commands are recorded that outlive the engine, once that is known.
    records: OnceLock<PathBuf>,
}

impl Processes {
    /// Commands see this environment.
    pub fn new(environment: Environment) -> Processes {
        Processes { launcher: Launcher::new(environment), records: OnceLock::new() }
    }

    /// Records commands that outlive the engine in this folder. Only the first folder counts.
    pub fn record_in(&self, folder: PathBuf) {
        let _ = self.records.set(folder);
    }

    async fn perform(
        &self,
        call: &ScriptCall,
        cancel: CancellationToken,
        sink: &dyn Sink,
    ) -> Result<ScriptResult, Failure> {
        if let Some(survival) = &call.survival {
            let Some(folder) = self.records.get() else { return Err(unrecorded(call)) };
            let command =
                Surviving { launcher: &self.launcher, call, survival, folder, cancel: &cancel, sink };
            return command.perform().await;
        }
        let started = match cancel.is_cancelled() {
            true => None,
            false => self
                .launcher
                .start_unless(call, &cancel, sink)
                .await
                .map_err(|error| refusal(call, &error))?,
        };
        let Some((mut group, pipes)) = started else {
            return Err(cancelled(call).reason(reason::NEVER_STARTED));
        };
        let (pid, start) = group.identity();
        failpoint!("tools.command.started");
        sink.report(Report::ProcessStarted { pid, start });
        failpoint!("tools.command.reported");
        let (mut stdout, mut stderr) = (Capture::new(LIMIT), Capture::new(LIMIT));
        let silence = Silence::new(call.idle);
        let streams = exchange(pipes, call.stdin.as_deref(), &mut stdout, &mut stderr, &silence);
        let ended = attend(&mut group, streams, &cancel, &silence).await;
        failpoint!("tools.command.ended");
        match ended {
            Ended::Itself(status) => Ok(ScriptResult {
                stdout: stdout.into_text(),
                stderr: stderr.into_text(),
                exit_code: exit_code(status),
            }),
            Ended::Silent(limit) => Err(silent(call, limit)),
            Ended::Cancelled => Err(cancelled(call)),
        }
    }
}

impl Commands for Processes {
    fn run<'a>(
        &'a self,
        call: &'a ScriptCall,
        cancel: CancellationToken,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<ScriptResult, Failure>> {
        Box::pin(self.perform(call, cancel, sink))
    }
}

fn unrecorded(call: &ScriptCall) -> Failure {
    let message = format!("command `{}` cannot be recorded here, so it cannot survive", call.command);
    Failure::new(Class::Fatal, message).reason("cannot_survive")
}

pub(crate) fn cancelled(call: &ScriptCall) -> Failure {
    Failure::new(Class::Cancelled, format!("command `{}` was cancelled", call.command))
}

pub(crate) fn silent(call: &ScriptCall, limit: Duration) -> Failure {
    let message =
        format!("command `{}` wrote nothing for {} s (timeouts.idle)", call.command, limit.as_secs_f64());
    Failure::new(Class::Timeout, message)
        .reason("idle_timeout")
        .hint("have it write a line now and then, also to standard error, or give it more time")
}

/// How a command came to its end.
enum Ended {
    Itself(ExitStatus),
    /// It was made to, after so long a silence.
    Silent(Duration),
    Cancelled,
}

/// As a shell would say it: 128 + n for signal n.
pub(crate) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Moves the streams until everything has ended.
async fn attend(
    group: &mut Group,
    streams: impl Future<Output = ()>,
    cancel: &CancellationToken,
    silence: &Silence,
) -> Ended {
    let mut streams = pin!(streams.fuse());
    let stopped = alongside(streams.as_mut(), async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Some(Ended::Cancelled),
            () = group.leader_ends() => None,
            limit = silence.lasts() => Some(Ended::Silent(limit)),
        }
    })
    .await;
    if stopped.is_some() {
        alongside(streams.as_mut(), group.ask_to_end(GRACE)).await;
    }
    last_words(streams.as_mut()).await;
    group.kill();
    if stopped.is_some() {
        group.kill_escaped();
    }
    group.leader_ends().await;
    failpoint!("tools.command.before_reap");
    let status = group.reap();
    group.gone(DYING).await;
    last_words(streams.as_mut()).await;
    // A process whose exit status cannot be read has ended all the same, from outside, like after a cancellation.
    stopped.unwrap_or_else(|| status.map_or(Ended::Cancelled, Ended::Itself))
}

/// Waits for something while the streams move; they may end before it.
async fn alongside<T>(
    streams: std::pin::Pin<&mut impl FusedFuture<Output = ()>>,
    wanted: impl Future<Output = T>,
) -> T {
    let mut wanted = pin!(wanted);
    tokio::select! {
        biased;
        value = &mut wanted => value,
        () = streams => wanted.await,
    }
}

/// Takes what is still on its way. Processes that keep the pipes open are given `LAST_WORDS` and no more.
async fn last_words(streams: std::pin::Pin<&mut impl FusedFuture<Output = ()>>) {
    if !streams.is_terminated() {
        convoke_process::within(LAST_WORDS, streams).await;
    }
}

async fn exchange(
    pipes: Pipes,
    input: Option<&str>,
    stdout: &mut Capture,
    stderr: &mut Capture,
    silence: &Silence,
) {
    let feed = async {
        if let Some(mut stdin) = pipes.stdin {
            // A command that does not read its input to the end is free to do so.
            let _ = stdin.write_all(input.unwrap_or_default().as_bytes()).await;
        }
    };
    join3(feed, stdout.drain(pipes.stdout, silence), stderr.drain(pipes.stderr, silence)).await;
}

#[cfg(test)]
mod tests;
