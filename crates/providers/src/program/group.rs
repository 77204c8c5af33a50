//! A program and everything it started, as one thing that ends as a whole.
//!
//! The program leads a process group, and a variable in its environment marks descendants that leave the group. Signals
//! go to the group only while its leader is not reaped: until then its id cannot be given to anybody else.

use super::spawner::Spawner;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open, waitid,
};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};
use tokio::io::unix::AsyncFd;

/// The variable that marks a program's descendants; the same as for scripts, so that one sweep finds both.
pub const MARK: &str = "CONVOKE_COMMAND";

/// How long a program that is told to end may tidy up.
const GRACE: Duration = Duration::from_secs(2);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// How often a process that forks as fast as it is killed is chased.
const MOST_ROUNDS: usize = 20;

/// A program's process group. Dropped, it ends: asked first, then killed.
pub struct Group {
    leader: Option<Child>,
    pid: Pid,
    /// Readable once the leader has ended; it stays unreaped until we say so.
    exit: AsyncFd<OwnedFd>,
    mark: String,
    /// The thread that started the leader: where it ends, the leader does.
    spawner: Arc<Spawner>,
}

impl Group {
    /// The group that `leader` leads.
    pub fn new(leader: Child, mark: String, spawner: Arc<Spawner>) -> io::Result<Group> {
        let pid = Pid::from_child(&leader);
        let watched = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from).and_then(|exit| {
            // SAFETY: the descriptor is owned by the `AsyncFd` and stays the same for as long as that lives.
            unsafe { AsyncFd::register(exit) }.map_err(io::Error::from)
        });
        match watched {
            Ok(exit) => Ok(Group { leader: Some(leader), pid, exit, mark, spawner }),
            Err(error) => {
                finish(leader, pid, &mark);
                Err(error)
            }
        }
    }

    /// The leader's id and when it was started, as the kernel counts.
    pub fn identity(&self) -> (u32, u64) {
        (self.pid.as_raw_nonzero().get().unsigned_abs(), started(self.pid).unwrap_or(0))
    }

    /// Waits until the leader has ended.
    pub async fn leader_ends(&self) {
        // An error would mean that the descriptor is not one, and then waiting has no sense either.
        let _ = self.exit.readable().await;
    }

    /// Ends what the leader left behind, and collects its exit status. Call it once the leader has ended.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.leader.take().and_then(|leader| finish(leader, self.pid, &self.mark))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        // All of them are told before anybody could stop us; only the patience is somebody else's.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let (pid, mark, spawner) = (self.pid, std::mem::take(&mut self.mark), self.spawner.clone());
        thread::spawn(move || {
            let deadline = Instant::now() + GRACE;
            while !has_ended(pid) && Instant::now() < deadline {
                thread::sleep(LOOK);
            }
            finish(leader, pid, &mark);
            drop(spawner);
        });
    }
}

/// Kills the group and whoever left it, and reaps the leader.
fn finish(mut leader: Child, pid: Pid, mark: &str) -> Option<ExitStatus> {
    // The only error is that nobody is left.
    let _ = kill_process_group(pid, Signal::KILL);
    kill_marked(mark);
    leader.wait().ok()
}

/// Whether the leader has ended, without reaping it.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
}

/// Ends all processes with the mark, and what they start meanwhile.
fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    for _ in 0..MOST_ROUNDS {
        let found: Vec<Pid> = living().filter(|pid| has_variable(*pid, &wanted)).collect();
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
        // The signal is delivered before the process runs again; let it.
        thread::yield_now();
    }
}

fn living() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Pid::from_raw);
    ids.filter(|pid| {
        !matches!(stat(*pid).as_deref().map(|fields| fields[0].as_str()), None | Some("Z" | "X"))
    })
}

fn has_variable(pid: Pid, wanted: &str) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
}

fn started(pid: Pid) -> Option<u64> {
    stat(pid)?.get(19)?.parse().ok()
}

/// What the kernel tells of a process, from its state on. The name before it may itself hold brackets and blanks.
fn stat(pid: Pid) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let fields: Vec<_> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().map(str::to_owned).collect();
    (!fields.is_empty()).then_some(fields)
}
