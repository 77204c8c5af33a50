//! Ends an owner that is stopped when its run is taken over.
//!
//! A stopped process is fenced: it can append nothing when it goes on, and looks at its lease before it sends. But a call that was on its
//! way to the socket would be sent; and one that is stopped in the middle of a commit keeps SQLite's lock on the journal, so that
//! no process can write. So the one that takes the run over ends it. Only a process that is proved to be the silent owner is
//! ended: same machine and boot, same process id, same start time, and stopped (not running, not waiting for a disk, not held
//! by a debugger).

use crate::owner::Owner;
use convoke_model::process_start;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::Timespec;

/// How long a process that was killed may take to be gone. The kernel needs no help of it.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// When a process was started: clock ticks since the machine's boot.
pub fn start_of(pid: u32) -> Option<u64> {
    Facts::of(pid).map(|facts| facts.start)
}

/// Ends the process if it is stopped; whether it is gone now.
pub(crate) fn end_if_stopped(owner: &Owner) -> bool {
    let Some(pid) = i32::try_from(owner.pid).ok().and_then(Pid::from_raw) else { return false };
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(errno) => return errno == Errno::SRCH,
    };
    // The handle stays with one process, so what is looked at from here on is what is ended, or something else that has
    // another start.
    let is_owner = |facts: &Facts| Some(facts.start) == owner.start && facts.is_stopped;
    if !Facts::of(owner.pid).is_some_and(|facts| is_owner(&facts)) {
        return false;
    }
    let told = pidfd_send_signal(&process, Signal::KILL);
    let mut gone = [PollFd::new(&process, PollFlags::IN)];
    told.is_ok() && poll(&mut gone, Some(&PATIENCE)) == Ok(1)
}

/// What the kernel tells of a process.
struct Facts {
    is_stopped: bool,
    start: u64,
}

impl Facts {
    fn of(pid: u32) -> Option<Facts> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let is_stopped = words.next()? == "T";
        // The state is the third word of the line, the start the twenty-second.
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        let start = process_start(words.nth(18)?.parse().ok()?, &offsets);
        Some(Facts { is_stopped, start })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::kill_process;
    use std::process::{Child, Command};

    fn owner(child: &Child) -> Owner {
        Owner { pid: child.id(), start: start_of(child.id()), host: "here".into(), boot: "b".into() }
    }

    fn stopped(child: &Child) -> bool {
        Facts::of(child.id()).is_some_and(|facts| facts.is_stopped)
    }

    #[test]
    fn only_the_very_process_is_ended_and_only_if_it_is_stopped() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let owner = owner(&child);
        assert!(!end_if_stopped(&owner), "it runs");
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        while !stopped(&child) {
            std::thread::yield_now();
        }
        let another = Owner { start: owner.start.map(|start| start + 1), ..owner.clone() };
        assert!(!end_if_stopped(&another), "a process of that id that was started at another time");
        assert!(!end_if_stopped(&Owner { start: None, ..owner.clone() }), "nobody knows when it was started");
        assert!(child.try_wait().unwrap().is_none());
        assert!(end_if_stopped(&owner));
        child.wait().unwrap();
        assert!(end_if_stopped(&owner), "it is gone");
    }
}
