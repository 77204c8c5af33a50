//! A process and everything it started, as one thing that can be signalled and that ends as a whole.
//!
//! The process leads a process group, and a variable in its environment marks its descendants even where they leave
//! the group. Signals go to the group only while its leader is not reaped: until then its id cannot be used again.

use crate::process::{Process, is_gone, kill_marked};
use crate::spawner::Spawner;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open, waitid,
};
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
    /// Every member is asked to end at once, and killed once the leader has ended or the grace is over. Nobody waits
    /// for that.
    AskFirst {
        /// How long the leader may tidy up.
        grace: Duration,
    },
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
}

impl Group {
    /// The group that `leader` leads. If it cannot be watched, it is killed.
    pub(crate) fn new(
        leader: Child,
        mark: String,
        on_drop: OnDrop,
        spawner: Arc<Spawner>,
    ) -> io::Result<Group> {
        let pid = Pid::from_child(&leader);
        match watch(pid) {
            Ok(exit) => Ok(Group { leader: Some(leader), pid, exit, mark, on_drop, spawner }),
            Err(error) => {
                kill_and_let_go(leader, pid, &mark);
                Err(error)
            }
        }
    }

    /// The leader's id, which is the group's too, and when it was started, as the kernel counts.
    pub fn identity(&self) -> (u32, u64) {
        let start = Process::find(self.pid).map_or(0, |process| process.start);
        (self.pid.as_raw_nonzero().get().unsigned_abs(), start)
    }

    /// Waits until the leader has ended.
    pub async fn leader_ends(&self) {
        // An error would mean that the descriptor is not one, and then waiting has no sense either.
        let _ = self.exit.readable().await;
    }

    /// How the leader ended, if it has. It is not reaped by that.
    pub fn leader_status(&self) -> Option<WaitIdStatus> {
        look(self.pid).ok().flatten()
    }

    /// Whether no member lives.
    pub fn is_gone(&self) -> bool {
        is_gone(self.pid)
    }

    /// Waits until no member lives, but no longer than this: what cannot be killed hangs in the kernel.
    pub async fn gone(&self, within: Duration) {
        let mut pause = Duration::from_millis(1);
        let dying = async {
            while !self.is_gone() {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(50));
            }
        };
        let _ = tokio::time::timeout(within, dying).await;
    }

    /// Asks every member to end, and waits until all have, but no longer than the grace.
    pub async fn ask_to_end(&self, grace: Duration) {
        self.signal(Signal::TERM);
        let all_end = async { tokio::join!(self.leader_ends(), self.gone(grace)) };
        let _ = tokio::time::timeout(grace, all_end).await;
    }

    /// Ends every member.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if self.leader.is_some() {
            // The only error is that nobody is left.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Ends descendants that have left the group.
    pub fn kill_escaped(&self) {
        kill_marked(&self.mark);
    }

    /// Collects the leader's exit status. Call it once the leader has ended, or it blocks.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.leader.take().and_then(|mut leader| leader.wait().ok())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        let mark = std::mem::take(&mut self.mark);
        match self.on_drop {
            OnDrop::Kill => kill_and_let_go(leader, self.pid, &mark),
            OnDrop::AskFirst { grace } => ask_and_let_go(leader, mark, grace, self.spawner.clone()),
        }
    }
}

/// Kills the group and whoever left it.
fn kill_all(pid: Pid, mark: &str) {
    // The only error is that nobody is left.
    let _ = kill_process_group(pid, Signal::KILL);
    kill_marked(mark);
}

fn kill_and_let_go(mut leader: Child, pid: Pid, mark: &str) {
    kill_all(pid, mark);
    // Dying may take the kernel a moment, and nobody may wait for it here.
    thread::spawn(move || leader.wait());
}

fn ask_and_let_go(mut leader: Child, mark: String, grace: Duration, spawner: Arc<Spawner>) {
    let pid = Pid::from_child(&leader);
    // All of them are told before anybody could stop us; only the patience is somebody else's.
    let _ = kill_process_group(pid, Signal::TERM);
    thread::spawn(move || {
        let deadline = Instant::now() + grace;
        while !has_ended(pid) && Instant::now() < deadline {
            thread::sleep(LOOK);
        }
        kill_all(pid, &mark);
        let _ = leader.wait();
        drop(spawner);
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
