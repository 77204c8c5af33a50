//! Runs one command from its start to the end of everything it started.
//!
//! A command has ended when its process has; children that it left behind do not hold up the step, they are ended
//! with it. On cancellation the whole group is asked to end, then made to, and is gone before the caller goes on.

use crate::capture::{Capture, LIMIT};
use crate::environment::Environment;
use crate::group::{Group, Process};
use crate::spawn::{Spawner, command, refusal};
use convoke_agent::{Commands, Report, ScriptResult, Sink};
use convoke_model::{Class, Failure, ScriptCall};
use futures::future::{BoxFuture, FusedFuture, FutureExt, join, join3};
use rustix::process::{PidfdFlags, pidfd_open};
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

/// How long a cancelled command has to tidy up.
const GRACE: Duration = Duration::from_secs(2);

/// How long output that is still on its way is waited for once the command has ended.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// How long the kernel may take to end what was killed.
const DYING: Duration = Duration::from_secs(1);

/// Runs commands as processes of this machine.
pub struct Processes {
    environment: Environment,
    spawner: Spawner,
    /// Tells this engine's commands from those of others.
    origin: String,
    started: AtomicU64,
}

impl Processes {
    /// Commands see this environment.
    pub fn new(environment: Environment) -> Processes {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let origin = format!("{}-{now:x}", std::process::id());
        Processes { environment, spawner: Spawner::new(), origin, started: AtomicU64::new(0) }
    }

    async fn perform(
        &self,
        call: &ScriptCall,
        cancel: CancellationToken,
        sink: &dyn Sink,
    ) -> Result<ScriptResult, Failure> {
        if cancel.is_cancelled() {
            return Err(cancelled(call));
        }
        let mut running = self.start(call).await.map_err(|error| refusal(call, &error))?;
        running.announce(sink);
        let (mut stdout, mut stderr) = (Capture::new(LIMIT), Capture::new(LIMIT));
        let pipes = running.pipes.take().expect("taken only here");
        let streams = pipes.exchange(call.stdin.as_deref(), &mut stdout, &mut stderr);
        let end = running.attend(streams, &cancel).await;
        match end {
            Some(status) => Ok(ScriptResult {
                stdout: stdout.into_text(),
                stderr: stderr.into_text(),
                exit_code: exit_code(status),
            }),
            None => Err(cancelled(call)),
        }
    }

    async fn start(&self, call: &ScriptCall) -> io::Result<Running> {
        let mark = format!("{}-{}", self.origin, self.started.fetch_add(1, Ordering::Relaxed));
        let mut child = self.spawner.start(command(call, &self.environment, &mark)).await?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Group::new(child, mark);
        let exit = pidfd_open(group.pid(), PidfdFlags::empty())?;
        // SAFETY: the descriptor is owned by the `AsyncFd` and stays the same for as long as that lives.
        let exit = unsafe { AsyncFd::register(exit) }?;
        Ok(Running { group, exit, pipes: Some(Pipes::new(pipes)?) })
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

fn cancelled(call: &ScriptCall) -> Failure {
    Failure::new(Class::Cancelled, format!("command `{}` was cancelled", call.command))
}

/// As a shell would say it: 128 + n for signal n.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// A command that has been started.
struct Running {
    group: Group,
    /// Readable once the leader has ended; it stays unreaped until we say so.
    exit: AsyncFd<OwnedFd>,
    pipes: Option<Pipes>,
}

impl Running {
    fn announce(&self, sink: &dyn Sink) {
        let pid = self.group.pid().as_raw_nonzero().get().unsigned_abs();
        let start = Process::find(self.group.pid()).map_or(0, |process| process.start);
        sink.report(Report::ProcessStarted { pid, start });
    }

    /// Moves the streams until everything has ended; `None` if it was cancelled.
    async fn attend(
        &mut self,
        streams: impl Future<Output = ()>,
        cancel: &CancellationToken,
    ) -> Option<ExitStatus> {
        let mut streams = pin!(streams.fuse());
        let ended = alongside(streams.as_mut(), async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => false,
                () = self.leader_ends() => true,
            }
        })
        .await;
        if !ended {
            self.group.terminate();
            let tidied = async {
                let all_end = join(self.leader_ends(), self.group.gone(GRACE));
                let _ = tokio::time::timeout(GRACE, all_end).await;
            };
            alongside(streams.as_mut(), tidied).await;
        }
        last_words(streams.as_mut()).await;
        self.group.kill();
        if !ended {
            self.group.kill_escaped();
        }
        self.leader_ends().await;
        let status = self.group.reap();
        self.group.gone(DYING).await;
        last_words(streams.as_mut()).await;
        status.filter(|_| ended)
    }

    async fn leader_ends(&self) {
        // An error would mean that the descriptor is not one, and then waiting has no sense either.
        let _ = self.exit.readable().await;
    }
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

/// Takes what is still on its way, but does not wait for those who keep the pipes open.
async fn last_words(streams: std::pin::Pin<&mut impl FusedFuture<Output = ()>>) {
    if !streams.is_terminated() {
        let _ = tokio::time::timeout(LAST_WORDS, streams).await;
    }
}

/// Our ends of the three streams.
struct Pipes {
    stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

type Ends =
    (Option<std::process::ChildStdin>, Option<std::process::ChildStdout>, Option<std::process::ChildStderr>);

impl Pipes {
    fn new((stdin, stdout, stderr): Ends) -> io::Result<Pipes> {
        let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
            return Err(io::Error::other("its output is not connected"));
        };
        Ok(Pipes {
            stdin: stdin.map(|end| pipe::Sender::from_owned_fd(end.into())).transpose()?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        })
    }

    async fn exchange(self, input: Option<&str>, stdout: &mut Capture, stderr: &mut Capture) {
        let feed = async {
            if let Some(mut stdin) = self.stdin {
                // A command that does not read its input to the end is free to do so.
                let _ = stdin.write_all(input.unwrap_or_default().as_bytes()).await;
            }
        };
        join3(feed, stdout.drain(self.stdout), stderr.drain(self.stderr)).await;
    }
}

#[cfg(test)]
mod tests;
