//! Processes as the kernel tells of them, and the mark by which ours are known.

use crate::supervisor::NAME;
use convoke_model::process_start;
use rustix::process::{Pid, Signal, getpid, kill_process};
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Duration;

/// The variable that marks a process and its descendants, whatever it was started for, so that one sweep finds all.
pub const MARK: &str = "CONVOKE_COMMAND";

/// How many ancestors are looked at.
const MOST_ANCESTORS: usize = 10_000;

/// How often a process that forks as fast as it is killed is chased.
const MOST_ROUNDS: usize = 20;

/// How the time namespace of this process shifts clocks. A process cannot change the one it is in.
static OFFSETS: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default());

/// One process, as the kernel tells it.
pub struct Process {
    /// Its id.
    pub pid: Pid,
    /// Its group.
    pub group: i32,
    /// When it was started, in clock ticks since the machine was; the same for readers in every time namespace.
    pub start: u64,
    parent: i32,
    state: char,
    /// A thread of the kernel, which has no program.
    is_kernel: bool,
}

/// What the flags of a process say of a thread of the kernel.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// How often the environment of a process that is becoming another program is looked for, and how long between.
const LOOKS: usize = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

impl Process {
    /// The process with this id.
    pub fn find(pid: Pid) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        // The name, in brackets, may itself hold brackets and blanks.
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let is_kernel = fields.nth(3)?.parse::<u32>().ok()? & KERNEL_THREAD != 0;
        let start = process_start(fields.nth(12)?.parse().ok()?, &OFFSETS);
        Some(Process { pid, group, start, parent, state, is_kernel })
    }

    /// Whether it still runs: the dead stay listed until they are reaped.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Its mark, if it is one of ours or a descendant of one.
    pub fn mark(&self) -> Option<String> {
        let environment = self.environment()?;
        let prefix = format!("{MARK}=");
        let entry =
            environment.split(|byte| *byte == 0).find(|entry| entry.starts_with(prefix.as_bytes()))?;
        String::from_utf8(entry[prefix.len()..].to_vec()).ok()
    }

    /// Whether it is a supervisor of ours, by its name, which every process may read.
    fn is_supervisor(&self) -> bool {
        let name = fs::read(format!("/proc/{}/comm", self.pid.as_raw_nonzero())).unwrap_or_default();
        name.trim_ascii_end() == NAME.to_bytes()
    }

    fn mark_is(&self, wanted: &str) -> bool {
        self.environment().is_some_and(|environment| {
            environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        })
    }

    /// Its environment. While a process becomes another program, others see none of it or its beginning; it is looked at again until all
    /// of it was read, so that no process is taken for one without a mark.
    fn environment(&self) -> Option<Vec<u8>> {
        if self.is_kernel {
            return None;
        }
        let mut empty_at = None;
        for _ in 0..LOOKS {
            let environment = match fs::read(format!("/proc/{}/environ", self.pid.as_raw_nonzero())) {
                Ok(environment) => environment,
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied) => {
                    return None;
                }
                // It went away under the reader.
                Err(_) => Vec::new(),
            };
            let place = self.place_of_environment()?;
            let is_whole = place.len() == environment.len();
            if is_whole && (!place.is_empty() || empty_at == Some(place.start)) {
                return Some(environment);
            }
            // It has none yet, or truly none.
            if place.is_empty() {
                empty_at = Some(place.start).filter(|start| *start != 0);
                std::thread::sleep(BETWEEN_LOOKS);
            }
        }
        None
    }

    /// Where its environment is in its memory, each time elsewhere; at 0 for the moment in which it has none, and empty until it has all.
    /// Known of processes whose environment may be read.
    fn place_of_environment(&self) -> Option<Range<usize>> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero())).ok()?;
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        Some(fields.nth(47)?.parse().ok()?..fields.next()?.parse().ok()?)
    }
}

/// Whether an ancestor of this process is a command of a run or its supervisor: then a run has started this process, whatever
/// became of the mark in its own environment, and into whatever session or group it went. An orphan is handed to its supervisor.
pub fn has_marked_ancestor() -> bool {
    Process::find(getpid()).as_ref().and_then(parent).is_some_and(|parent| is_marked(&parent))
}

/// Whether a process or an ancestor of it is a command of a run or its supervisor.
pub(crate) fn is_marked(process: &Process) -> bool {
    // A chain of parents has no circle, but a process id may be given anew while it is followed.
    let mut ancestors = std::iter::successors(parent(process), parent).take(MOST_ANCESTORS);
    let is_ours = |process: &Process| process.is_supervisor() || process.mark().is_some();
    is_ours(process) || ancestors.any(|ancestor| is_ours(&ancestor))
}

fn parent(process: &Process) -> Option<Process> {
    Pid::from_raw(process.parent).and_then(Process::find)
}

/// All processes of the machine that can be seen.
pub fn processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter_map(Process::find)
}

/// The engine that a mark names: a process by its id and its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pid: Pid,
    start: u64,
}

impl Origin {
    /// This process.
    pub fn ours() -> Origin {
        let pid = getpid();
        Origin { pid, start: Process::find(pid).map_or(0, |process| process.start) }
    }

    /// The beginning of the marks of one launcher.
    pub fn mark(self, name: &str, launcher: u64) -> String {
        format!("{}.{}.{name}{launcher}", self.pid.as_raw_nonzero(), self.start)
    }

    /// The engine of a mark.
    pub fn of(mark: &str) -> Option<Origin> {
        let mut parts = mark.split('.');
        let pid = Pid::from_raw(parts.next()?.parse().ok()?)?;
        Some(Origin { pid, start: parts.next()?.parse().ok()? })
    }

    /// Whether it is gone.
    pub fn is_gone(self) -> bool {
        Process::find(self.pid).is_none_or(|found| found.start != self.start || !found.is_alive())
    }
}

/// Ends all processes whose engine is gone; whether there were any.
pub fn kill_orphans() -> bool {
    let is_orphan = |process: &Process| {
        let mark = process.mark().filter(|_| process.is_alive());
        mark.and_then(|mark| Origin::of(&mark)).is_some_and(Origin::is_gone)
    };
    kill_while_found(is_orphan)
}

/// Ends all processes with the mark, and what they start meanwhile.
pub fn kill_marked(mark: &str) {
    let wanted = format!("{MARK}={mark}");
    kill_while_found(|process| process.is_alive() && process.mark_is(&wanted));
}

fn kill_while_found(is_one: impl Fn(&Process) -> bool) -> bool {
    for round in 0..MOST_ROUNDS {
        let found: Vec<Pid> = processes().filter(&is_one).map(|process| process.pid).collect();
        if found.is_empty() {
            return round > 0;
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
        // The signal is delivered before the process runs again; let it.
        std::thread::yield_now();
    }
    true
}

#[cfg(test)]
mod tests;
