//! Starts processes, each with a mark of its own, and connects their streams.
//!
//! By the mark, what a process starts can be found even where it leaves the group.

use crate::group::{Group, OnDrop};
use crate::process::{MARK, Origin};
use crate::spawner::{Order, Spawner};
use crate::survivor::Slot;
use crate::tree::Guard;
use convoke_sandbox::{Confinement, Ground, Kept, Level, Prepared, proxy};
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
    /// What every process of it is confined to, as a file that a person trusts has it.
    ground: Option<Ground>,
}

impl Launcher {
    /// Starts processes of the kind `name`, a short word for the thread that starts them.
    pub fn new(name: &str, on_drop: OnDrop) -> Launcher {
        let origin = Origin::ours().mark(name, NEXT.fetch_add(1, Ordering::Relaxed));
        Launcher {
            spawner: Arc::new(Spawner::new(name)),
            on_drop,
            origin,
            started: AtomicU64::new(0),
            ground: None,
        }
    }

    /// From here on, processes are confined as the ground has it: those that are started without a word of their own as what a
    /// trusted file starts, and those of an agent with what holds for all.
    pub fn on(self, ground: Ground) -> Launcher {
        Launcher { ground: Some(ground), ..self }
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
        command: Command,
        until: Option<Instant>,
        taken_back: impl Future<Output = ()>,
        waits: impl FnOnce(&io::Error),
    ) -> io::Result<Option<(Group, Pipes)>> {
        let confinement = self.of_file(&command);
        self.begin(command, confinement, until, taken_back, waits).await
    }

    /// The same for a command that an agent chose, in a sandbox of its own. A sandbox that cannot be had is an error
    /// ([`convoke_sandbox::Missing`]), unless the person gave sandboxes up.
    pub async fn start_confined(
        &self,
        command: Command,
        confinement: &Confinement,
        until: Option<Instant>,
        taken_back: impl Future<Output = ()>,
        waits: impl FnOnce(&io::Error),
    ) -> io::Result<Option<(Group, Pipes)>> {
        let confinement = match &self.ground {
            None => Some(confinement.clone()),
            Some(ground) => ground.level.map(|_| ground.apply(confinement.clone())),
        };
        self.begin(command, confinement, until, taken_back, waits).await
    }

    async fn begin(
        &self,
        mut command: Command,
        confinement: Option<Confinement>,
        until: Option<Instant>,
        taken_back: impl Future<Output = ()>,
        waits: impl FnOnce(&io::Error),
    ) -> io::Result<Option<(Group, Pipes)>> {
        let (sandbox, mut kept) = prepared(&mut command, confinement.as_ref())?.unzip();
        let mark = format!("{}-{}", self.origin, self.started.fetch_add(1, Ordering::Relaxed));
        command.env(MARK, &mark).stdout(Stdio::piped()).stderr(Stdio::piped());
        let order = Order { command, sandbox, recording: None, outlives: false, until };
        let started = self.spawner.start_unless(order, taken_back, waits).await;
        let Some(mut child) = started.map_err(|error| explained(error, kept.as_ref()))? else {
            return Ok(None);
        };
        let pipes = Pipes::take(&mut child);
        let door = kept.as_mut().map_or(Ok(None), Kept::door);
        // From here on, whatever fails, the group ends.
        let group = Group::new(child, mark, self.on_drop, self.spawner.clone(), kept.map(Guard::new))?;
        let group = group.behind(door?);
        Ok(Some((group, pipes?)))
    }

    fn of_file(&self, command: &Command) -> Option<Confinement> {
        self.ground.as_ref()?.of_file(&folder(command))
    }
}

/// What a process needs to be confined. A trusted one runs without a sandbox where there is none.
fn prepared(
    command: &mut Command,
    confinement: Option<&Confinement>,
) -> io::Result<Option<(Prepared, Kept)>> {
    let Some(confinement) = confinement else { return Ok(None) };
    let prepared = match Prepared::new(confinement, &folder(command)) {
        Ok(prepared) => prepared,
        Err(_) if confinement.level == Level::Trusted => return Ok(None),
        Err(missing) => return Err(io::Error::new(io::ErrorKind::Unsupported, missing)),
    };
    let kept_back: Vec<_> = command
        .get_envs()
        .filter(|(name, _)| !name.to_str().is_some_and(|name| confinement.passes(name)))
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in kept_back {
        command.env_remove(name);
    }
    if matches!(confinement.network, convoke_sandbox::Network::Hosts(_)) {
        command.envs(proxy::variables());
    }
    Ok(Some(prepared))
}

fn folder(command: &Command) -> std::path::PathBuf {
    command.get_current_dir().map_or_else(|| ".".into(), std::path::Path::to_owned)
}

/// An error of the sandbox, told from one of the command.
fn explained(error: io::Error, kept: Option<&Kept>) -> io::Error {
    match kept.and_then(|kept| kept.explain(&error)) {
        Some(missing) => io::Error::new(io::ErrorKind::Unsupported, missing),
        None => error,
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
        let order = Order { command, sandbox: None, recording: None, outlives: true, until: None };
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
        let confinement = self.of_file(&command);
        let (sandbox, held) = prepared(&mut command, confinement.as_ref())?.unzip();
        let (recording, stdin) = slot.prepare(stdin, kept / 2, limit)?;
        command.env(MARK, slot.mark()).stdout(Stdio::null()).stderr(Stdio::null());
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        let order = Order { command, sandbox, recording: Some(recording), outlives: true, until };
        let child = self.spawner.start_unless(order, taken_back, waits).await;
        let child = child.map_err(|error| explained(error, held.as_ref()))?;
        let group =
            |child| Group::new(child, slot.mark(), OnDrop::Leave, self.spawner.clone(), held.map(Guard::new));
        child.map(group).transpose()
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
