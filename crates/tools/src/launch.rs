//! A started process with its streams and its end, whatever it was started for.
//!
//! Every process gets a mark of its own, so that what it starts can be found even where it leaves the group.

use crate::environment::Environment;
use crate::group::Group;
use crate::spawn::{Spawner, command};
use convoke_model::ScriptCall;
use rustix::process::{PidfdFlags, pidfd_open};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

/// Starts processes that see the same environment.
pub struct Launcher {
    environment: Environment,
    spawner: Spawner,
    /// Tells this engine's processes from those of others.
    origin: String,
    started: AtomicU64,
}

impl Launcher {
    /// Processes see this environment.
    pub fn new(environment: Environment) -> Launcher {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let origin = format!("{}-{now:x}", std::process::id());
        Launcher { environment, spawner: Spawner::new(), origin, started: AtomicU64::new(0) }
    }

    /// Starts the process that a call asks for.
    pub async fn start(&self, call: &ScriptCall) -> io::Result<Running> {
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

/// A process that has been started. Dropped early, it is killed.
pub struct Running {
    /// It and what it started.
    pub group: Group,
    /// Readable once the leader has ended; it stays unreaped until we say so.
    exit: AsyncFd<OwnedFd>,
    /// Its streams, until somebody takes them.
    pub pipes: Option<Pipes>,
}

impl Running {
    /// Waits until the process itself has ended.
    pub async fn leader_ends(&self) {
        // An error would mean that the descriptor is not one, and then waiting has no sense either.
        let _ = self.exit.readable().await;
    }
}

/// Our ends of the three streams.
pub struct Pipes {
    /// What it reads, if it reads from us.
    pub stdin: Option<pipe::Sender>,
    /// What it writes.
    pub stdout: pipe::Receiver,
    /// What it complains.
    pub stderr: pipe::Receiver,
}

type Ends = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

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
}
