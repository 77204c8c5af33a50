//! What the table looks like: for `convoke capacity` and `convoke instances`, and for tests. `snapshot.rs` takes the picture.

use crate::layout::LeaseState;
use crate::liveness::Liveness;
use std::time::Duration;

/// A process that takes part, or did until a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its process id, in its own namespace.
    pub pid: u32,
    /// What it does.
    pub label: String,
    /// The run it drives.
    pub run: String,
    /// Key of its working directory.
    pub working_dir: u64,
    /// For how long it has taken part.
    pub age: Duration,
    /// Time since its last heartbeat.
    pub silent_for: Duration,
    /// Whether it lives.
    pub liveness: Liveness,
    /// Whether it is stopped (by a signal or a debugger), if that can be seen from here.
    pub stopped: bool,
    /// Leases of its that are out.
    pub leases: u32,
    /// Demands of its in the queue.
    pub waiting: u32,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceView {
    /// Its name.
    pub name: String,
    /// The limit in force.
    pub limit: u32,
    /// Where that came from.
    pub origin: String,
    /// Whether a person set it for the whole machine; then it stays so until the machine boots.
    pub by_hand: bool,
    /// For how long it counts what was used, if it is a rate.
    pub window: Option<Duration>,
    /// Granted and in time.
    pub in_use: u32,
    /// Expired, and not known to be over.
    pub quarantined: u32,
    /// Used, and counted by the provider still. May be more than the limit.
    pub lingering: u64,
    /// Time until some of that ends.
    pub eases_in: Option<Duration>,
    /// Time until it resumes, if it pauses.
    pub paused_for: Option<Duration>,
    /// Demands in the queue that name it.
    pub waiting: u32,
}

/// A lease that is out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseView {
    /// Its fencing token.
    pub token: u64,
    /// Process id of its holder; zero if that has gone.
    pub pid: u32,
    /// What its holder does.
    pub label: String,
    /// The run that its holder drives.
    pub run: String,
    /// What it holds.
    pub amounts: Vec<(String, u32)>,
    /// Whether work runs on it, or ran when it expired.
    pub state: LeaseState,
    /// For how long it has been out.
    pub age: Duration,
    /// Time until it expires, or until its quarantine ends.
    pub left: Duration,
}

/// A demand in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaiterView {
    /// Its place: smaller is earlier.
    pub ticket: u64,
    /// Process id of the waiting process.
    pub pid: u32,
    /// What that does.
    pub label: String,
    /// The run that it drives.
    pub run: String,
    /// What it wants.
    pub amounts: Vec<(String, u32)>,
    /// For how long.
    pub age: Duration,
    /// Whether it has been granted and not been fetched yet.
    pub granted: bool,
}

/// What was done and what went wrong since the machine booted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Leases made.
    pub grants: u64,
    /// Leases given back by their holders.
    pub releases: u64,
    /// Leases given back twice.
    pub double_releases: u64,
    /// Leases given back after they expired.
    pub late_releases: u64,
    /// Operations with a token that was not, or no longer, the process's.
    pub stale_tokens: u64,
    /// Leases consumed twice.
    pub double_consumes: u64,
    /// Leases that a heartbeat came too late for.
    pub lost_leases: u64,
    /// Leases put into quarantine.
    pub quarantined: u64,
    /// Leases freed by others than their holder.
    pub reclaimed: u64,
    /// Times the lock was taken from a dead process.
    pub takeovers: u64,
    /// Times the tables were computed anew.
    pub recoveries: u64,
    /// Times a process gave up on a stuck lock.
    pub stuck: u64,
}

/// The whole table at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The processes that take part.
    pub instances: Vec<Instance>,
    /// Every resource in use.
    pub resources: Vec<ResourceView>,
    /// Every lease that is out.
    pub leases: Vec<LeaseView>,
    /// The queue, first to last.
    pub waiters: Vec<WaiterView>,
    /// What happened so far.
    pub counters: Counters,
    /// Process id of the process that holds the tables at this moment.
    pub held_by: Option<u32>,
    /// Whether a change ran into it, so that parts may not fit together.
    pub torn: bool,
}

/// A process, as people know it. Empty, if it has gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub pid: u32,
    pub label: String,
    pub run: String,
}

/// How much of a resource one process holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Its process id; zero for all that have gone.
    pub pid: u32,
    /// What it does.
    pub label: String,
    /// The run it drives.
    pub run: String,
    /// Held or consumed.
    pub in_use: u32,
    /// Expired, and not known to be over.
    pub quarantined: u32,
}

impl Snapshot {
    /// The processes that hold a resource, and how much each, most first. Amounts that linger have no holder.
    pub fn holders(&self, resource: &str) -> Vec<Holding> {
        let mut holders: Vec<Holding> = Vec::new();
        for lease in &self.leases {
            let Some((_, amount)) = lease.amounts.iter().find(|(name, _)| name == resource) else { continue };
            let holding = match holders.iter().position(|h| (h.pid, &h.run) == (lease.pid, &lease.run)) {
                Some(place) => &mut holders[place],
                None => holders.push_mut(lease.nothing_held()),
            };
            let quarantined = lease.state == LeaseState::Quarantined;
            *(if quarantined { &mut holding.quarantined } else { &mut holding.in_use }) += amount;
        }
        holders.sort_by_key(|holding| std::cmp::Reverse(holding.in_use + holding.quarantined));
        holders
    }
}

impl LeaseView {
    fn nothing_held(&self) -> Holding {
        let (label, run) = (self.label.clone(), self.run.clone());
        Holding { pid: self.pid, label, run, in_use: 0, quarantined: 0 }
    }
}
