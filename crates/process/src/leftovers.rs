//! Ends what a crashed engine left running, before its step is tried again.
//!
//! A supervisor ends its command when the engine dies, so there is something left only for a moment, or where another process
//! killed the supervisor too, or where the engine is not dead but stopped and another one takes its run over. A supervisor
//! is known by its id *and* its start time, so that a stranger that was given the same id later is never touched.

use crate::process::{Process, kill_orphans};
use crate::supervisor;
use convoke_failpoint::failpoint;
use rustix::process::Pid;
use std::time::Duration;

/// What was found of a lost attempt's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    /// Nothing was running any more.
    None,
    /// It, or something it started, was still running and has been ended.
    Ended,
    /// Something is still running and cannot be ended by us.
    Alive,
}

/// Ends everything that the supervisor `pid`, started at `start`, is there for, and whatever of engines that are gone is
/// left without a supervisor.
///
/// Blocks for as long as the dying take, at most two seconds; call it where blocking is allowed.
pub fn end_leftovers(pid: u32, start: u64) -> Leftovers {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let alive = |pid: &Pid| Process::find(*pid).is_some_and(|found| found.start == start && found.is_alive());
    let mut was_there = false;
    if let Some(pid) = pid.filter(alive) {
        was_there = true;
        failpoint!("process.leftovers.found");
        supervisor::end(pid);
        if !dies(|| !alive(&pid)) {
            return Leftovers::Alive;
        }
    }
    match kill_orphans() || was_there {
        true => Leftovers::Ended,
        false => Leftovers::None,
    }
}

fn dies(is_dead: impl Fn() -> bool) -> bool {
    for _ in 0..1000 {
        if is_dead() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

#[cfg(test)]
mod tests;
