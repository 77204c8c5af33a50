//! What the table looks like: for `convoke capacity` and `convoke instances`, and for tests.
//!
//! Reads only, and without the lock, so it can be had while the table is stuck, and by a process that takes no part. A
//! picture that a change ran into is taken again; if changes never pause, it says that it may be torn.

use crate::capacity::Capacity;
use crate::cells::Vector;
use crate::clock::{BootClock, Clock};
use crate::error::Error;
use crate::kernel::Facts;
use crate::layout::{LeaseState, ProcessKey, RESOURCES, Standing, WaiterState};
use crate::liveness::{Judge, Liveness};
use crate::mapping::Mapping;
use crate::table::Relaxed;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

/// How often a picture is taken again before a torn one is shown.
const TRIES: u32 = 100;

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
    /// Whether somebody set it for the whole machine; then it stays so until the machine boots.
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
    /// Time until its door opens, if it is shut.
    pub shut_for: Option<Duration>,
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
    /// Process id of who waits.
    pub pid: u32,
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
    /// Who takes part.
    pub instances: Vec<Instance>,
    /// Every resource in use.
    pub resources: Vec<ResourceView>,
    /// Every lease that is out.
    pub leases: Vec<LeaseView>,
    /// The queue, first to last.
    pub waiters: Vec<WaiterView>,
    /// What happened so far.
    pub counters: Counters,
    /// Process id of who holds the tables at this moment.
    pub held_by: Option<u32>,
    /// Whether a change ran into it, so that parts may not fit together.
    pub torn: bool,
}

impl Capacity {
    /// The whole table at this moment.
    pub fn snapshot(&self) -> Snapshot {
        Camera { judge: self.judge(), now: self.clock.now() }.take()
    }

    /// Who takes part.
    pub fn instances(&self) -> Vec<Instance> {
        Camera { judge: self.judge(), now: self.clock.now() }.instances()
    }

    /// The table at this path, seen by a process that takes no part; `None` if there is none of this boot.
    pub fn observe(path: &Path) -> Result<Option<Snapshot>, Error> {
        let Some(mapping) = Mapping::look(path)? else { return Ok(None) };
        let clock = BootClock::new(Clock::Boot);
        let facts = Facts::own(clock.offset());
        let judge = Judge { mapping: &mapping, own: None, facts: &facts };
        Ok(Some(Camera { judge, now: clock.now() }.take()))
    }
}

impl ResourceView {
    pub(crate) fn of(table: &Mapping, index: u32, now: u64) -> Self {
        let (slot, buckets) = (&table.resources[index as usize], &table.lingering[index as usize]);
        let left =
            |time: u64| Some(Duration::from_nanos(time.checked_sub(now)?)).filter(|left| !left.is_zero());
        let lingering = buckets.after(now);
        Self {
            name: slot.name.read(),
            limit: slot.limit.load(Relaxed),
            origin: slot.origin.read(),
            by_hand: slot.by_hand.load(Relaxed) != 0,
            window: Some(Duration::from_nanos(slot.window.load(Relaxed))).filter(|window| !window.is_zero()),
            in_use: slot.in_use.load(Relaxed),
            quarantined: slot.quarantined.load(Relaxed),
            lingering,
            eases_in: if lingering == 0 { None } else { left(buckets.next_end(now)) },
            shut_for: left(slot.shut_until.load(Relaxed)),
            waiting: slot.waiting.load(Relaxed),
        }
    }
}

struct Camera<'a> {
    judge: Judge<'a>,
    now: u64,
}

impl<'a> Camera<'a> {
    fn table(&self) -> &'a Mapping {
        self.judge.mapping
    }

    fn take(&self) -> Snapshot {
        let instances = self.instances();
        let lock = &self.table().header.lock;
        for _ in 0..TRIES {
            let turn = lock.turns.load(Ordering::Acquire);
            let quiet = lock.dirty.load(Ordering::Acquire) == 0;
            let picture = self.picture();
            fence(Ordering::Acquire);
            if quiet && lock.turns.load(Ordering::Acquire) == turn {
                return Snapshot { instances, ..picture };
            }
            std::thread::yield_now();
        }
        Snapshot { instances, torn: true, ..self.picture() }
    }

    fn picture(&self) -> Snapshot {
        Snapshot {
            instances: Vec::new(),
            resources: self.resources(),
            leases: self.leases(),
            waiters: self.waiters(),
            counters: self.counters(),
            held_by: self.held_by(),
            torn: false,
        }
    }

    fn instances(&self) -> Vec<Instance> {
        self.judge.taken().map(|key| self.instance(key)).collect()
    }

    fn instance(&self, key: ProcessKey) -> Instance {
        let slot = &self.table().processes[key.index as usize];
        Instance {
            pid: slot.pid.load(Relaxed),
            label: slot.label.read(),
            run: slot.run.read(),
            working_dir: slot.working_dir.load(Relaxed),
            age: self.since(slot.joined_at.load(Relaxed)),
            silent_for: self.since(slot.heartbeat.load(Relaxed)),
            liveness: self.judge.judge(key),
        }
    }

    fn resources(&self) -> Vec<ResourceView> {
        let top = self.table().header.derived.resources_top.load(Relaxed).min(RESOURCES as u32);
        let defined = (0..top).filter(|index| self.table().resources[*index as usize].is_defined());
        defined.map(|index| ResourceView::of(self.table(), index, self.now)).collect()
    }

    fn leases(&self) -> Vec<LeaseView> {
        let top = self.table().header.derived.leases_top.load(Relaxed) as usize;
        let out = self.table().leases[..top].iter().filter(|slot| slot.state() != LeaseState::Free);
        out.map(|slot| {
            let state = slot.state();
            let quarantined = state == LeaseState::Quarantined;
            let end = if quarantined { slot.quarantine_ends() } else { slot.expires_at.load(Relaxed) };
            LeaseView {
                token: slot.token.load(Relaxed),
                pid: self.pid(slot.owner.load(Relaxed)),
                amounts: self.names(&slot.amounts.read()),
                state,
                age: self.since(slot.granted_at.load(Relaxed)),
                left: Duration::from_nanos(end.saturating_sub(self.now)),
            }
        })
        .collect()
    }

    fn waiters(&self) -> Vec<WaiterView> {
        let top = self.table().header.derived.waiters_top.load(Relaxed) as usize;
        let waits = |state| matches!(state, WaiterState::Waiting | WaiterState::Granted);
        let mut waiters: Vec<WaiterView> = self.table().waiters[..top]
            .iter()
            .filter(|slot| waits(slot.state()))
            .map(|slot| WaiterView {
                ticket: slot.ticket.load(Relaxed),
                pid: self.pid(slot.owner.load(Relaxed)),
                amounts: self.names(&slot.amounts.read()),
                age: self.since(slot.since.load(Relaxed)),
                granted: slot.state() == WaiterState::Granted,
            })
            .collect();
        waiters.sort_by_key(|waiter| waiter.ticket);
        waiters
    }

    fn counters(&self) -> Counters {
        let words = &self.table().header.counters;
        Counters {
            grants: words.grants.load(Relaxed),
            releases: words.releases.load(Relaxed),
            double_releases: words.double_releases.load(Relaxed),
            late_releases: words.late_releases.load(Relaxed),
            stale_tokens: words.stale_tokens.load(Relaxed),
            double_consumes: words.double_consumes.load(Relaxed),
            lost_leases: words.lost_leases.load(Relaxed),
            quarantined: words.quarantined.load(Relaxed),
            reclaimed: words.reclaimed.load(Relaxed),
            takeovers: words.takeovers.load(Relaxed),
            recoveries: words.recoveries.load(Relaxed),
            stuck: words.stuck.load(Relaxed),
        }
    }

    fn held_by(&self) -> Option<u32> {
        let key = crate::lock::holder(self.table())?;
        Some(self.table().processes[key.index as usize].pid.load(Relaxed))
    }

    fn pid(&self, owner: u64) -> u32 {
        let key = ProcessKey::unpack(owner);
        let slot = &self.table().processes[key.index as usize];
        let (generation, standing) = slot.standing();
        let is_there = generation == key.generation && standing != Standing::Free;
        if is_there { slot.pid.load(Relaxed) } else { 0 }
    }

    fn names(&self, amounts: &Vector) -> Vec<(String, u32)> {
        amounts.iter().map(|(index, amount)| (self.name(index), amount)).collect()
    }

    fn name(&self, index: u32) -> String {
        self.table().resources.get(index as usize).map_or_else(String::new, |slot| slot.name.read())
    }

    fn since(&self, time: u64) -> Duration {
        Duration::from_nanos(self.now.saturating_sub(time))
    }
}
