//! Starts processes, each with a mark of its own, and connects their streams.
//!
//! By the mark, what a process starts can be found even where it leaves the group.

use crate::group::{Group, OnDrop};
use crate::process::{MARK, Origin};
use crate::spawner::{Order, Spawner};
use crate::survivor::Slot;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::unix::pipe;

/// Tells the launchers of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Starts processes of one kind. They die with the engine, but not with their launcher.
pub struct Launcher {
    spawner: Arc<Spawner>,
    on_drop: OnDrop,
    /// Tells this launcher's processes from those of others.
    origin: String,
    started: AtomicU64,
}

impl Launcher {
    /// Starts processes of the kind `name`, a short word for the thread that starts them.
    pub fn new(name: &str, on_drop: OnDrop) -> Launcher {
        let origin = Origin::ours().mark(name, NEXT.fetch_add(1, Ordering::Relaxed));
        Launcher { spawner: Arc::new(Spawner::new(name)), on_drop, origin, started: AtomicU64::new(0) }
    }

    /// Starts a process. Its output is connected to us; whether its input is, `command` says.
    pub async fn start(&self, command: Command) -> io::Result<(Group, Pipes)> {
        let started = self.start_unless(command, None, std::future::pending(), |_| {}).await?;
        Ok(started.expect("nobody takes it back"))
    }

    /// The same, not later than `until`, and until it is taken back; `None` if the process was not started, and never will be. `waits`
    /// is told once if the machine has no room for it.
    pub async fn start_unless(
        &self,
        mut command: Command,
        until: Option<Instant>,
        taken_back: impl Future<Output = ()>,
        waits: impl FnOnce(&io::Error),
    ) -> io::Result<Option<(Group, Pipes)>> {
        let mark = format!("{}-{}", self.origin, self.started.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, &mark).stdout(Stdio::piped()).stderr(Stdio::piped());
        let order = Order { command, recording: None, outlives: false, until };
        let Some(mut child) = self.spawner.start_unless(order, taken_back, waits).await? else {
            return Ok(None);
        };
        let pipes = Pipes::take(&mut child);
        // From here on, whatever fails, the group ends.
        let group = Group::new(child, mark, self.on_drop, self.spawner.clone())?;
        Ok(Some((group, pipes?)))
    }
}

impl Launcher {
    /// Starts a program that goes on when the engine ends, and of which nothing is read or recorded; `None` if it was taken back first.
    /// What is given back is its supervisor.
    pub async fn start_beside(
        &self,
        mut command: Command,
        taken_back: impl Future<Output = ()>,
    ) -> io::Result<Option<Child>> {
        let mark = format!("{}-{}", self.origin, self.started.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, mark);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let order = Order { command, recording: None, outlives: true, until: None };
        self.spawner.start_unless(order, taken_back, |_| {}).await
    }
}

/// A command that outlives the engine, to be started.
pub struct Surviving<'a> {
    /// Where it is recorded.
    pub slot: &'a Slot,
    /// What it reads.
    pub stdin: Option<&'a str>,
    /// Bytes that are kept of each stream; half of them from its beginning.
    pub kept: u64,
    /// How long it may run.
    pub limit: Duration,
    /// It is not started later than this.
    pub until: Option<Instant>,
}

impl Launcher {
    /// Starts a command that outlives the engine, until it is taken back; `None` if it was not started, and never will be. What it
    /// writes is recorded, and not connected to us.
    pub async fn start_surviving(
        &self,
        mut command: Command,
        surviving: Surviving<'_>,
        taken_back: impl Future<Output = ()>,
        waits: impl FnOnce(&io::Error),
    ) -> io::Result<Option<Group>> {
        let Surviving { slot, stdin, kept, limit, until } = surviving;
        let (recording, stdin) = slot.prepare(stdin, kept / 2, limit)?;
        command.env(MARK, slot.mark()).stdout(Stdio::null()).stderr(Stdio::null());
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let order = Order { command, recording: Some(recording), outlives: true, until };
        let child = self.spawner.start_unless(order, taken_back, waits).await?;
        child.map(|child| Group::new(child, slot.mark(), OnDrop::Leave, self.spawner.clone())).transpose()
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

impl Pipes {
    fn take(child: &mut Child) -> io::Result<Pipes> {
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("its output is not connected"));
        };
        Ok(Pipes {
            stdin: child.stdin.take().map(|end| pipe::Sender::from_owned_fd(end.into())).transpose()?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
        })
    }
}

#[cfg(test)]
mod tests;
