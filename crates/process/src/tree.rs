//! Looks after a confined process and everything below it: its bounds as a whole, its way to listed hosts, and what is put right
//! when it has ended.
//!
//! The kernel bounds each process; what all of them use together it bounds for control groups alone, which an ordinary user has
//! no say in. So it is looked up, and a tree over its bounds is ended.

use crate::supervisor;
use convoke_sandbox::proxy::Door;
use convoke_sandbox::{Bounds, Kept};
use rustix::process::Pid;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::task::AbortHandle;

/// How often it is looked up.
const LOOK: Duration = Duration::from_millis(100);

const MEMORY: u8 = 1;
const PROCESSES: u8 = 2;

/// What the engine does for one confined process. Dropped when all of it has ended.
pub struct Guard {
    kept: Option<Kept>,
    bounds: Bounds,
    verdict: Arc<AtomicU8>,
    tasks: Vec<AbortHandle>,
}

impl Guard {
    /// Of what was kept when it was prepared.
    pub fn new(kept: Kept) -> Guard {
        let bounds = kept.bounds.clone();
        Guard { kept: Some(kept), bounds, verdict: Arc::default(), tasks: Vec::new() }
    }

    /// Looks after the tree below this supervisor.
    pub fn watching(mut self, supervisor: Pid) -> Guard {
        let Bounds { memory, processes, .. } = self.bounds;
        if memory.is_some() || processes.is_some() {
            let verdict = self.verdict.clone();
            let watch = async move {
                loop {
                    tokio::time::sleep(LOOK).await;
                    let used = Used::of(supervisor);
                    let is_over = |used: u64, bound: Option<u64>| bound.is_some_and(|bound| used > bound);
                    let over = match () {
                        () if is_over(used.memory, memory) => MEMORY,
                        () if is_over(used.processes, processes) => PROCESSES,
                        () => continue,
                    };
                    verdict.store(over, Ordering::Release);
                    supervisor::end(supervisor);
                    return;
                }
            };
            self.tasks.push(tokio::spawn(watch).abort_handle());
        }
        self
    }

    /// Serves its way to listed hosts.
    pub fn open(&mut self, door: Door) {
        self.tasks.push(tokio::spawn(door.serve()).abort_handle());
    }

    /// Which bound it went over.
    pub fn overran(&self) -> Option<&'static str> {
        match self.verdict.load(Ordering::Acquire) {
            MEMORY => Some("memory"),
            PROCESSES => Some("processes"),
            _ => None,
        }
    }

    /// All of it has ended.
    pub fn release(&mut self) {
        self.tasks.drain(..).for_each(|task| task.abort());
        drop(self.kept.take());
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.release();
    }
}

/// What a tree uses at one moment.
#[derive(Default)]
struct Used {
    memory: u64,
    processes: u64,
}

impl Used {
    /// Of everything below this process, without itself.
    fn of(root: Pid) -> Used {
        let page = page_size();
        let mut used = Used::default();
        let mut left = children(root.as_raw_nonzero().get());
        while let Some(pid) = left.pop() {
            used.processes += 1;
            let resident = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
            let pages = resident.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
            used.memory += pages.unwrap_or(0) * page;
            left.extend(children(pid));
        }
        used
    }
}

/// The children of all threads of a process.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn page_size() -> u64 {
    // SAFETY: a call without pointers.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}
