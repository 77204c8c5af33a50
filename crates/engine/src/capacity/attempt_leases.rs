//! The leases that attempts run on. Pure: requests and leases are kept by the `ledger`.
//!
//! Attempts that need the same of the machine are of one kind. A kind is a resource of the governor of which there is as much as
//! leases are held, so the governor decides which attempt starts with a lease: by rank, and by what else is free. Nothing of
//! this process is held while a lease is waited for. Leases are requested only as far as nothing else is missing; one whose
//! attempt has ended serves the next of its kind within the turn, unless another process waits, and else goes back.

use crate::capacity::ledger::{Ledger, Purpose};
use crate::capacity::terms::{Fence, KindNo, Wants};
use crate::core::Effect;
use convoke_govern::{Governor, Lack, ResourceId, Spec};
use convoke_model::hash::HashMap;
use convoke_schedule::TaskIx;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct AttemptLeases {
    kinds: Vec<Kind>,
    /// By what they need, as one text.
    by_name: HashMap<String, KindNo>,
    /// Tasks that wait for a lease, with a place in the governor's queue.
    waiting: HashMap<TaskIx, KindNo>,
    of_task: HashMap<TaskIx, (KindNo, Fence)>,
}

/// Leases of one kind.
#[derive(Debug)]
struct Kind {
    resource: ResourceId,
    wants: Wants,
    /// Held, and of no attempt.
    idle: Vec<Fence>,
}

/// More leases than a table has.
const MOST: u64 = 1_000_000_000;

impl AttemptLeases {
    /// The governor's resource that an attempt with these needs must have one of; `None` if it needs nothing that is shared.
    pub fn demand(&mut self, task: TaskIx, wants: Wants, governor: &mut Governor) -> Option<ResourceId> {
        if wants.is_empty() {
            return None;
        }
        let kind = self.kind(wants, governor);
        self.waiting.insert(task, kind);
        Some(self.kinds[kind.0].resource)
    }

    fn kind(&mut self, wants: Wants, governor: &mut Governor) -> KindNo {
        let names = wants.iter().map(|want| match want.count {
            1 => want.of.name.clone(),
            count => format!("{count} {}", want.of.name),
        });
        let name = names.collect::<Vec<_>>().join(" + ");
        if let Some(known) = self.by_name.get(&name) {
            return *known;
        }
        // A resource that steps name has that name in the governor already.
        let own = if governor.resource(&name).is_none() { name.clone() } else { format!("lease of {name}") };
        let resource = governor.add(Spec::slots(own, MOST)).expect("a new name and a good number");
        governor.set_share(resource, Some(0));
        let kind = KindNo(self.kinds.len());
        self.kinds.push(Kind { resource, wants, idle: Vec::new() });
        self.by_name.insert(name, kind);
        kind
    }

    /// A task has its permit: it takes a lease, if it needs one.
    pub fn take(&mut self, task: TaskIx) {
        let Some(kind) = self.waiting.remove(&task) else { return };
        let fence = self.kinds[kind.0].idle.pop().expect("there are as many permits as leases");
        self.of_task.insert(task, (kind, fence));
    }

    /// A task no longer waits.
    pub fn forget(&mut self, task: TaskIx) {
        self.waiting.remove(&task);
    }

    /// The tasks that wait for a lease of a kind.
    pub fn waiting(&self, kind: KindNo) -> Vec<TaskIx> {
        let mut tasks: Vec<_> =
            self.waiting.iter().filter(|(_, waits)| **waits == kind).map(|(task, _)| *task).collect();
        tasks.sort_unstable();
        tasks
    }

    /// The lease of an attempt.
    pub fn fence(&self, task: TaskIx) -> Option<Fence> {
        self.of_task.get(&task).map(|(_, fence)| *fence)
    }

    /// The attempts that run on leases, in order.
    pub fn tasks_on(&self, fences: &[Fence]) -> Vec<(TaskIx, Fence)> {
        let held = self.of_task.iter().map(|(task, (_, fence))| (*task, *fence));
        let mut tasks: Vec<_> = held.filter(|(_, fence)| fences.contains(fence)).collect();
        tasks.sort_unstable();
        tasks
    }

    /// The machine has granted a lease.
    pub fn granted(&mut self, kind: KindNo, fence: Fence, ledger: &Ledger, governor: &mut Governor) {
        self.kinds[kind.0].idle.push(fence);
        self.share(kind, ledger, governor);
    }

    /// An attempt has ended. Its lease serves the next one, or goes back if another process waits or it ran out.
    pub fn end(
        &mut self,
        task: TaskIx,
        crowded: bool,
        (ledger, governor): (&mut Ledger, &mut Governor),
        effects: &mut Vec<Effect>,
    ) {
        let Some((kind, fence)) = self.of_task.remove(&task) else { return };
        if crowded || ledger.is_lost(fence) {
            self.give_back((kind, fence), (ledger, governor), effects);
        } else {
            self.kinds[kind.0].idle.push(fence);
        }
    }

    /// An attempt has ended, and its lease may still be in use: it stays where it is.
    pub fn orphan(&mut self, task: TaskIx) -> Option<(KindNo, Fence)> {
        self.of_task.remove(&task)
    }

    /// A lease goes back.
    pub fn give_back(
        &mut self,
        (kind, fence): (KindNo, Fence),
        (ledger, governor): (&mut Ledger, &mut Governor),
        effects: &mut Vec<Effect>,
    ) {
        effects.extend(ledger.give_back(fence).map(Effect::GiveBack));
        self.share(kind, ledger, governor);
    }

    fn share(&self, kind: KindNo, ledger: &Ledger, governor: &mut Governor) {
        governor.set_share(self.kinds[kind.0].resource, Some(ledger.held(Purpose::Attempts(kind))));
    }

    /// The kind whose leases a resource of the governor stands for.
    fn kind_of(&self, resource: ResourceId) -> Option<KindNo> {
        self.kinds.iter().position(|kind| kind.resource == resource).map(KindNo)
    }

    /// How many leases of a kind are there to start with, once the machine has said that a further one has to wait.
    pub fn room(&self, resource: ResourceId, ledger: &Ledger) -> Option<u64> {
        let kind = self.kind_of(resource)?;
        ledger.is_queued(Purpose::Attempts(kind)).then_some(self.kinds[kind.0].idle.len() as u64)
    }

    /// Whether waiting for a resource is worth telling: a lease that was only just requested is not.
    pub fn is_worth_telling(&self, resource: ResourceId, ledger: &Ledger) -> bool {
        self.kind_of(resource).is_none_or(|kind| ledger.is_queued(Purpose::Attempts(kind)))
    }

    /// Ends a turn: leases that no attempt has taken go back, and those that would let one start are requested.
    pub fn settle(
        &mut self,
        (ledger, governor): (&mut Ledger, &mut Governor),
        lacks: impl FnOnce(&mut Governor) -> Vec<Lack>,
        effects: &mut Vec<Effect>,
    ) {
        for kind in (0..self.kinds.len()).map(KindNo) {
            let idle = std::mem::take(&mut self.kinds[kind.0].idle);
            if !idle.is_empty() {
                let back = idle.into_iter().filter_map(|fence| ledger.give_back(fence));
                effects.extend(back.map(Effect::GiveBack));
                self.share(kind, ledger, governor);
            }
        }
        let lacks = lacks(governor);
        for (no, kind) in self.kinds.iter().enumerate() {
            let lack = lacks.iter().find(|lack| lack.resource == kind.resource).map_or(0, |lack| lack.count);
            request(Purpose::Attempts(KindNo(no)), &kind.wants, lack, ledger, effects);
        }
    }

    /// How much of each shared limit this process uses. What the governor says of a kind is about its leases, of which there are
    /// never more than are needed.
    pub fn utilisation(&self, governor: &Governor, known: &mut BTreeMap<String, f64>) {
        let mut used: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (no, kind) in self.kinds.iter().enumerate() {
            known.remove(governor.name(kind.resource));
            let attempts = self.of_task.values().filter(|(of, _)| of.0 == no).count() as u64;
            for want in kind.wants.iter() {
                let (count, limit) = used.entry(&want.of.name).or_insert((0, want.of.limit));
                (*count, *limit) = (*count + attempts * want.count, want.of.limit);
            }
        }
        let parts = used
            .into_iter()
            .map(|(name, (count, limit))| (name.to_owned(), count as f64 / limit.max(1) as f64));
        known.extend(parts);
    }
}

/// Has as many requests open as are of use.
fn request(purpose: Purpose, wants: &Wants, lack: u64, ledger: &mut Ledger, effects: &mut Vec<Effect>) {
    while ledger.open(purpose) < lack {
        effects.push(ledger.request(purpose, wants.clone()));
    }
    while ledger.open(purpose) > lack {
        effects.extend(ledger.withdraw(purpose));
    }
}
