//! Takes pictures of the table (`views.rs`).
//!
//! Reads only, and without the lock, so it can be had while the table is stuck, and by a process that takes no part. A
//! picture that a change ran into is taken again; if changes never pause, it says that it may be torn.

use crate::capacity::Capacity;
use crate::cells::Vector;
use crate::clock::{Clock, MachineClock};
use crate::error::Error;
use crate::extents::Table;
use crate::kernel::{self, Facts};
use crate::layout::{LeaseSlot, LeaseState, ProcessKey, Standing, WaiterSlot, WaiterState};
use crate::liveness::{Judge, read_facts};
use crate::mapping::Mapping;
use crate::table::Relaxed;
use crate::views::{Counters, Instance, LeaseView, ResourceView, Snapshot, WaiterView, Who};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

/// How often a picture is taken again before a torn one is shown.
const TRIES: u32 = 100;

impl Capacity {
    /// The whole table at this moment.
    pub fn snapshot(&self) -> Snapshot {
        Camera { judge: self.judge(), now: self.clock.now() }.take()
    }

    /// The processes that take part.
    pub fn instances(&self) -> Vec<Instance> {
        Camera { judge: self.judge(), now: self.clock.now() }.instances()
    }

    /// The table at this path, seen by a process that takes no part; `None` if there is none of this boot.
    pub fn observe(path: &Path) -> Result<Option<Snapshot>, Error> {
        let Some(mapping) = Mapping::look(path)? else { return Ok(None) };
        let clock = MachineClock::new(Clock::Machine);
        let facts = Facts::own(clock.offset());
        let judge = Judge { mapping: &mapping, own: None, facts: &facts };
        Ok(Some(Camera { judge, now: clock.now() }.take()))
    }
}

impl ResourceView {
    pub(crate) fn of(table: &Mapping, index: u32, now: u64) -> Self {
        let (slot, buckets) = (table.resource(index), table.lingering(index));
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
            paused_for: left(slot.paused_until.load(Relaxed)),
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
        let mut leases: HashMap<u64, u32> = HashMap::new();
        self.leases_out().for_each(|slot| *leases.entry(slot.owner.load(Relaxed)).or_default() += 1);
        let of = |key: ProcessKey| leases.get(&key.pack()).copied().unwrap_or(0);
        self.judge.taken().map(|key| self.instance(key, of(key))).collect()
    }

    fn instance(&self, key: ProcessKey, leases: u32) -> Instance {
        let slot = &self.table().processes[key.index as usize];
        let facts = read_facts(slot);
        Instance {
            pid: slot.pid.load(Relaxed),
            label: slot.label.read(),
            run: slot.run.read(),
            working_dir: slot.working_dir.load(Relaxed),
            age: self.since(slot.joined_at.load(Relaxed)),
            silent_for: self.since(slot.heartbeat.load(Relaxed)),
            liveness: self.judge.judge(key),
            stopped: facts.comparable(self.judge.facts) && kernel::is_stopped(&facts),
            leases,
            waiting: slot.waiting.load(Relaxed),
        }
    }

    fn resources(&self) -> Vec<ResourceView> {
        let table = self.table();
        let top = table.header.derived.resources_top.load(Relaxed).min(table.slots(Table::Resources));
        let defined = (0..top).filter(|index| self.table().resource(*index).is_defined());
        defined.map(|index| ResourceView::of(self.table(), index, self.now)).collect()
    }

    fn leases_out(&self) -> impl Iterator<Item = &'a LeaseSlot> + use<'a> {
        let table = self.table();
        let top = table.header.derived.leases_top.load(Relaxed).min(table.slots(Table::Leases));
        (0..top).map(|index| table.lease(index)).filter(|slot| slot.state() != LeaseState::Free)
    }

    fn leases(&self) -> Vec<LeaseView> {
        self.leases_out().map(|slot| self.lease(slot)).collect()
    }

    fn lease(&self, slot: &LeaseSlot) -> LeaseView {
        let state = slot.state();
        let quarantined = state == LeaseState::Quarantined;
        let end = if quarantined { slot.quarantine_ends() } else { slot.expires_at.load(Relaxed) };
        let Who { pid, label, run } = self.who(slot.owner.load(Relaxed));
        LeaseView {
            token: slot.token.load(Relaxed),
            pid,
            label,
            run,
            amounts: self.names(&slot.amounts.read()),
            state,
            age: self.since(slot.granted_at.load(Relaxed)),
            left: Duration::from_nanos(end.saturating_sub(self.now)),
        }
    }

    fn waiters(&self) -> Vec<WaiterView> {
        let table = self.table();
        let top = table.header.derived.waiters_top.load(Relaxed).min(table.slots(Table::Waiters));
        let waits = |state| matches!(state, WaiterState::Waiting | WaiterState::Granted);
        let slots = (0..top).map(|index| table.waiter(index)).filter(|slot| waits(slot.state()));
        let mut waiters: Vec<WaiterView> = slots.map(|slot| self.waiter(slot)).collect();
        waiters.sort_by_key(|waiter| waiter.ticket);
        waiters
    }

    fn waiter(&self, slot: &WaiterSlot) -> WaiterView {
        let Who { pid, label, run } = self.who(slot.owner.load(Relaxed));
        WaiterView {
            ticket: slot.ticket.load(Relaxed),
            pid,
            label,
            run,
            amounts: self.names(&slot.amounts.read()),
            age: self.since(slot.since.load(Relaxed)),
            granted: slot.state() == WaiterState::Granted,
        }
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

    /// The process that a slot names, unless it has gone.
    fn who(&self, owner: u64) -> Who {
        let key = ProcessKey::unpack(owner);
        let slot = &self.table().processes[key.index as usize];
        let (generation, standing) = slot.standing();
        if generation != key.generation || standing == Standing::Free {
            return Who::default();
        }
        Who { pid: slot.pid.load(Relaxed), label: slot.label.read(), run: slot.run.read() }
    }

    fn names(&self, amounts: &Vector) -> Vec<(String, u32)> {
        amounts.iter().map(|(index, amount)| (self.name(index), amount)).collect()
    }

    fn name(&self, index: u32) -> String {
        let known = index < self.table().slots(Table::Resources);
        if known { self.table().resource(index).name.read() } else { String::new() }
    }

    fn since(&self, time: u64) -> Duration {
        Duration::from_nanos(self.now.saturating_sub(time))
    }
}
