//! A process and everything it started, as one thing that can be signalled and that ends as a whole.
//!
//! Its leader is the supervisor of the command: it does what it is told by signals, ends when no member lives, and ends as
//! the command did. A variable in the environment marks all members, in case another process kills the supervisor.
//! Signals are sent only while the leader is not reaped: until then its id cannot be used again.

use crate::hurry;
use crate::process::{Process, kill_marked};
use crate::spawner::Spawner;
use crate::supervisor;
use crate::tree::Guard;
use convoke_sandbox::proxy::Door;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, waitid};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};
use tokio::io::unix::AsyncFd;

/// How often a leader that has been asked to end is looked at by a thread.
const LOOK: Duration = Duration::from_millis(5);

/// What becomes of a group that is dropped before its leader was reaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDrop {
    /// Every member is killed at once.
    Kill,
    /// Every member is asked to end at once, and killed once the leader has ended or the grace is over, in the
    /// background.
    AskFirst {
        /// How long the leader may tidy up.
        grace: Duration,
    },
    /// Every member goes on.
    Leave,
}

/// A process group. Dropped early, it ends as [`OnDrop`] says.
pub struct Group {
    leader: Option<Child>,
    pid: Pid,
    /// Readable once the leader has ended; it stays unreaped until we say so.
    exit: AsyncFd<OwnedFd>,
    mark: String,
    on_drop: OnDrop,
    /// The thread that started the leader: where it ends, the leader does.
    spawner: Arc<Spawner>,
    /// What its sandbox keeps in the engine, to the end of the last member.
    guard: Option<Box<Guard>>,
}

impl Group {
    /// The group that `leader` leads. If it cannot be watched, it is killed.
    pub(crate) fn new(
        leader: Child,
        mark: String,
        on_drop: OnDrop,
        spawner: Arc<Spawner>,
        guard: Option<Guard>,
    ) -> io::Result<Group> {
        let pid = Pid::from_child(&leader);
        match watch(pid) {
            Ok(exit) => {
                let guard = guard.map(|guard| Box::new(guard.watching(pid)));
                Ok(Group { leader: Some(leader), pid, exit, mark, on_drop, spawner, guard })
            }
            Err(error) => {
                kill_and_let_go(leader, pid, guard.map(Box::new));
                Err(error)
            }
        }
    }

    /// With a way to listed hosts.
    pub(crate) fn behind(mut self, door: Option<Door>) -> Group {
        if let (Some(guard), Some(door)) = (&mut self.guard, door) {
            guard.open(door);
        }
        self
    }

    /// Which bound all members together went over, if they were ended for that.
    pub fn overran(&self) -> Option<&'static str> {
        self.guard.as_ref()?.overran()
    }

    /// The supervisor's id, and when it was started, as the kernel counts.
    pub fn identity(&self) -> (u32, u64) {
        let start = Process::find(self.pid).map_or(0, |process| process.start);
        (self.pid.as_raw_nonzero().get().unsigned_abs(), start)
    }

    /// The command's own process id, while it lives.
    pub fn command(&self) -> Option<u32> {
        let pid = self.pid.as_raw_nonzero();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        // The supervisor's first child; orphans that it has adopted follow.
        children.split_whitespace().next()?.parse().ok()
    }

    /// Waits until the command and everything that it started have ended.
    pub async fn leader_ends(&self) {
        // An error would mean that the descriptor is not one, and then waiting has no sense either.
        let _ = self.exit.readable().await;
    }

    /// How the command ended, once no member lives. It is not reaped by that.
    pub fn leader_status(&self) -> Option<WaitIdStatus> {
        look(self.pid).ok().flatten()
    }

    /// Whether no member lives.
    pub fn is_gone(&self) -> bool {
        has_ended(self.pid)
    }

    /// Waits until no member lives, but no longer than this: what cannot be killed hangs in the kernel.
    pub async fn gone(&self, within: Duration) {
        let _ = tokio::time::timeout(within, self.leader_ends()).await;
    }

    /// Asks every member to end, and waits until all have, but no longer than the grace. Neither where all is to end at once.
    pub async fn ask_to_end(&self, grace: Duration) {
        if hurry::is_told() {
            return;
        }
        self.leader.iter().for_each(|_| supervisor::ask(self.pid));
        hurry::within(grace, self.leader_ends()).await;
    }

    /// Ends every member.
    pub fn kill(&self) {
        self.leader.iter().for_each(|_| supervisor::end(self.pid));
    }

    /// Ends descendants whose supervisor was killed.
    pub fn kill_escaped(&self) {
        kill_marked(&self.mark);
    }

    /// Collects the leader's exit status. Call it once the leader has ended, or it blocks.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        let status = self.leader.take().and_then(|mut leader| leader.wait().ok());
        // What it made under protected names is put aside when its end is told.
        self.guard.iter_mut().for_each(|guard| guard.release());
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        match self.on_drop {
            OnDrop::Kill => kill_and_let_go(leader, self.pid, self.guard.take()),
            OnDrop::Leave => leave(leader, self.guard.take()),
            OnDrop::AskFirst { grace } => {
                ask_and_let_go(leader, grace, (self.spawner.clone(), self.guard.take()))
            }
        }
    }
}

fn kill_and_let_go(mut leader: Child, pid: Pid, guard: Option<Box<Guard>>) {
    supervisor::end(pid);
    // Dying may take the kernel a moment, and this code may not wait.
    thread::spawn(move || {
        let _ = leader.wait();
        drop(guard);
    });
}

/// Should it end while this process lives, it is reaped.
fn leave(mut leader: Child, guard: Option<Box<Guard>>) {
    let wait = move || {
        let _ = leader.wait();
        drop(guard);
    };
    // A machine without another thread leaves it to the end of the engine.
    drop(thread::Builder::new().spawn(wait));
}

fn ask_and_let_go(mut leader: Child, grace: Duration, kept: (Arc<Spawner>, Option<Box<Guard>>)) {
    let pid = Pid::from_child(&leader);
    // All of them get the signal before this code can be cancelled; only waiting for them can be.
    if !hurry::is_told() {
        supervisor::ask(pid);
    }
    thread::spawn(move || {
        let deadline = Instant::now() + grace;
        while !has_ended(pid) && Instant::now() < deadline && !hurry::is_told() {
            thread::sleep(LOOK);
        }
        supervisor::end(pid);
        let _ = leader.wait();
        drop(kept);
    });
}

fn watch(pid: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    let exit = pidfd_open(pid, PidfdFlags::empty())?;
    // SAFETY: the descriptor is owned by the `AsyncFd` and stays the same for as long as that lives.
    Ok(unsafe { AsyncFd::register(exit) }?)
}

/// Looks without burying it, which keeps its id from being used again.
fn look(pid: Pid) -> rustix::io::Result<Option<WaitIdStatus>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    waitid(WaitId::Pid(pid), options)
}

/// Whether the leader has ended; one that cannot be looked at has.
fn has_ended(pid: Pid) -> bool {
    !matches!(look(pid), Ok(None))
}
