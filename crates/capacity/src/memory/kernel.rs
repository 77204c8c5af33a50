//! What the kernel knows about processes: the identity of this one, and whether another one lives.
//!
//! A process is its id, its start time and the pid namespace in which both mean something. A file descriptor for the process
//! (pidfd) becomes readable when all of its threads have ended, also while its parent has not collected its exit status.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};
use rustix::time::Timespec;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// What tells a process from every other of this boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its id, in its own namespace.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// Inode of its pid namespace.
    pub namespace: u64,
    /// Shift of its boot clock.
    pub clock_offset: i64,
}

impl Facts {
    /// This process.
    pub fn own(clock_offset: i64) -> Self {
        let pid = std::process::id();
        let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino());
        Self { pid, start_time: start_time(pid).unwrap_or(0), namespace, clock_offset }
    }

    /// Whether ids and start times mean the same to both. An unknown namespace is like no other.
    pub fn comparable(&self, other: &Self) -> bool {
        self.namespace == other.namespace && self.namespace != 0 && self.clock_offset == other.clock_offset
    }
}

/// Whether the process has certainly ended. Doubt is "no".
pub fn has_ended(facts: &Facts) -> bool {
    let Some(pid) = i32::try_from(facts.pid).ok().and_then(Pid::from_raw) else { return false };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::SRCH) => true,
        // Not allowed here, or too old a kernel: the signal that is none answers as well, but not for the uncollected.
        Err(_) => test_kill_process(pid) == Err(Errno::SRCH),
        Ok(handle) => {
            let mut handles = [PollFd::new(&handle, PollFlags::IN)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut handles, Some(&at_once)) == Ok(1) || is_another(facts)
        }
    }
}

/// Whether the id belongs to another process by now.
fn is_another(facts: &Facts) -> bool {
    facts.start_time != 0 && start_time(facts.pid).is_some_and(|time| time != facts.start_time)
}

/// Whether the process is stopped, by a signal or a debugger. Doubt is "no".
pub fn is_stopped(facts: &Facts) -> bool {
    let state = after_the_name(facts.pid, 0);
    !is_another(facts) && matches!(state.as_deref(), Some("T" | "t"))
}

/// Field 22 of `/proc/PID/stat`.
fn start_time(pid: u32) -> Option<u64> {
    after_the_name(pid, 19)?.parse().ok()
}

/// A field of `/proc/PID/stat`. The name in field 2 may hold anything, so fields are counted after its last `)`. Nothing, if the
/// mounted `/proc` is another namespace's, in which the id is another process's.
fn after_the_name(pid: u32, field: usize) -> Option<String> {
    let this = fs::read_link("/proc/self").ok()?;
    if this.to_str() != Some(&std::process::id().to_string()) {
        return None;
    }
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(field).map(str::to_owned)
}

/// The id of this boot.
pub fn boot_id() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    Some([(number >> 64) as u64, number as u64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn this_process_lives_and_an_ended_one_does_not() {
        let own = Facts::own(0);
        assert!(own.start_time > 0 && own.namespace > 0);
        assert!(!has_ended(&own));
        assert!(has_ended(&Facts { start_time: own.start_time + 1, ..own }), "the id was used again");
        let mut child = Command::new("true").spawn().unwrap();
        let facts = Facts { pid: child.id(), start_time: 0, ..own };
        child.wait().unwrap();
        assert!(has_ended(&facts));
    }

    #[test]
    fn a_process_that_nobody_collected_has_ended() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let facts = Facts { pid: child.id(), start_time: start_time(child.id()).unwrap(), ..Facts::own(0) };
        assert!(!has_ended(&facts));
        child.kill().unwrap();
        // The kill is under way: its end is what the kernel reports, and it comes soon.
        while !has_ended(&facts) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn the_boot_has_an_id() {
        assert!(boot_id().is_some());
        assert_eq!(boot_id(), boot_id());
    }
}
