//! Ends what a crashed engine left running, before its step is tried again.
//!
//! Processes die with the engine (parent-death signal), but what they started may not. A process is known by its id
//! *and* its start time, so that a stranger that was given the same id later is never touched.

use crate::process::{Process, is_gone, kill_marked, processes};
use rustix::process::{Pid, Signal, kill_process_group};

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

/// Ends the process group that the process `pid`, started at `start`, led, and its marked descendants.
///
/// Blocks for as long as the dying take, at most a second; call it where blocking is allowed.
pub fn end_leftovers(pid: u32, start: u64) -> Leftovers {
    let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Leftovers::None };
    let marks = match Process::find(group) {
        Some(leader) if leader.start != start => return Leftovers::None,
        Some(leader) if leader.is_alive() => vec![leader.mark()],
        // A leader that is gone, or dead and not yet buried, no longer says its mark; its members do.
        _ => members(group, start).map(|member| member.mark()).collect(),
    };
    // While a group has members its id is given to nobody else, and a marked member is one of ours.
    let marks: Vec<String> = marks.into_iter().flatten().collect();
    if marks.is_empty() && Process::find(group).is_none_or(|leader| !leader.is_alive()) {
        return Leftovers::None;
    }
    let _ = kill_process_group(group, Signal::KILL);
    marks.iter().for_each(|mark| kill_marked(mark));
    if dies(group) { Leftovers::Ended } else { Leftovers::Alive }
}

fn members(group: Pid, start: u64) -> impl Iterator<Item = Process> {
    let group = group.as_raw_nonzero().get();
    processes().filter(move |process| process.group == group && process.start >= start && process.is_alive())
}

fn dies(group: Pid) -> bool {
    for _ in 0..500 {
        if is_gone(group) {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    false
}

#[cfg(test)]
mod tests;
