//! What this process holds of what attempts need of the machine, and what it asks for. Pure: the table itself is asked by
//! `client`.
//!
//! Attempts that need the same are of one kind. A kind is a resource of the governor of which there is as much as leases are
//! held, so who starts with a lease is decided where everything else is: by rank, and by what else is free. Nobody holds
//! anything of this process while a lease is waited for. Leases are asked for only as far as nothing else is missing; one
//! whose attempt has ended serves the next of its kind within the turn, unless another process waits, and else goes back.

use crate::capacity::leases::Wants;
use crate::capacity::terms::{Fence, RequestNo, Return};
use crate::core::Effect;
use convoke_govern::{Governor, Lack, ResourceId, Spec};
use convoke_schedule::TaskIx;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

#[derive(Debug, Default)]
pub(crate) struct Holdings {
    kinds: Vec<Kind>,
    /// By what they need, as one text.
    by_name: HashMap<String, usize>,
    /// Who waits for a lease, with a place in the governor's queue.
    waiting: HashMap<TaskIx, usize>,
    of_task: HashMap<TaskIx, (usize, Fence)>,
    asked: HashMap<RequestNo, usize>,
    /// Leases that ran out while they were held.
    lost: HashSet<Fence>,
}

/// Leases of one kind.
#[derive(Debug)]
struct Kind {
    resource: ResourceId,
    wants: Wants,
    /// Held, and of no attempt.
    idle: Vec<Fence>,
    /// All that are held.
    held: u64,
    /// Requests that have not been answered, oldest first.
    asked: VecDeque<RequestNo>,
    /// The machine has said that one has to wait.
    queued: bool,
}

impl Holdings {
    /// The governor's resource that an attempt with these needs must have one of; `None` if it needs nothing that is shared.
    pub fn demand(&mut self, task: TaskIx, wants: Wants, governor: &mut Governor) -> Option<ResourceId> {
        if wants.is_empty() {
            return None;
        }
        let kind = self.kind(wants, governor);
        self.waiting.insert(task, kind);
        Some(self.kinds[kind].resource)
    }

    fn kind(&mut self, wants: Wants, governor: &mut Governor) -> usize {
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
        let (idle, asked) = (Vec::new(), VecDeque::new());
        self.kinds.push(Kind { resource, wants, idle, held: 0, asked, queued: false });
        self.by_name.insert(name, self.kinds.len() - 1);
        self.kinds.len() - 1
    }

    /// A task has its permit: it takes a lease, if it needs one.
    pub fn take(&mut self, task: TaskIx) {
        let Some(kind) = self.waiting.remove(&task) else { return };
        let fence = self.kinds[kind].idle.pop().expect("there are as many permits as leases");
        self.of_task.insert(task, (kind, fence));
    }

    /// A task no longer waits.
    pub fn forget(&mut self, task: TaskIx) {
        self.waiting.remove(&task);
    }

    /// How much of each shared limit this process uses. What the governor says of a kind is about its leases, of which there are
    /// never more than are needed.
    pub fn utilisation(&self, governor: &Governor, known: &mut BTreeMap<String, f64>) {
        let mut used: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (ix, kind) in self.kinds.iter().enumerate() {
            known.remove(governor.name(kind.resource));
            let attempts = self.of_task.values().filter(|(of, _)| *of == ix).count() as u64;
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

    /// The lease of an attempt.
    pub fn fence(&self, task: TaskIx) -> Option<Fence> {
        self.of_task.get(&task).map(|(_, fence)| *fence)
    }

    /// An attempt has ended. Its lease serves the next one, or goes back if another process waits or it ran out.
    pub fn end(&mut self, task: TaskIx, crowded: bool, governor: &mut Governor, effects: &mut Vec<Effect>) {
        let Some((kind, fence)) = self.of_task.remove(&task) else { return };
        if self.lost.remove(&fence) || crowded {
            self.give_up(kind, fence, governor, effects);
        } else {
            self.kinds[kind].idle.push(fence);
        }
    }

    /// An attempt has ended, and its lease may still be in use: it stays where it is.
    pub fn orphan(&mut self, task: TaskIx) -> Option<(usize, Fence)> {
        self.of_task.remove(&task)
    }

    /// A lease goes back.
    pub fn give_up(&mut self, kind: usize, fence: Fence, governor: &mut Governor, effects: &mut Vec<Effect>) {
        self.kinds[kind].held -= 1;
        self.share(kind, governor);
        effects.push(give_back(fence));
    }

    fn share(&self, kind: usize, governor: &mut Governor) {
        governor.set_share(self.kinds[kind].resource, Some(self.kinds[kind].held));
    }

    /// The machine has granted a request. False if it was none of these.
    pub fn granted(&mut self, request: RequestNo, fence: Fence, governor: &mut Governor) -> bool {
        let Some(kind) = self.answered(request) else { return false };
        let held = &mut self.kinds[kind];
        (held.held, held.queued) = (held.held + 1, false);
        held.idle.push(fence);
        self.share(kind, governor);
        true
    }

    /// The machine has nothing free for a request.
    pub fn queued(&mut self, request: RequestNo) {
        if let Some(kind) = self.asked.get(&request) {
            self.kinds[*kind].queued = true;
        }
    }

    /// How many leases of a kind are there to start with, once the machine has said that a further one has to wait.
    pub fn room(&self, resource: ResourceId) -> Option<u64> {
        let kind = self.kinds.iter().find(|kind| kind.resource == resource)?;
        kind.queued.then_some(kind.idle.len() as u64)
    }

    /// Whether waiting for a resource is worth telling: a lease that was only just asked for is not.
    pub fn is_worth_telling(&self, resource: ResourceId) -> bool {
        self.kinds.iter().find(|kind| kind.resource == resource).is_none_or(|kind| kind.queued)
    }

    /// A request can never be granted: who waits for it. `None` if it was none of these.
    pub fn refused(&mut self, request: RequestNo) -> Option<Vec<TaskIx>> {
        let kind = self.answered(request)?;
        let mut tasks: Vec<_> =
            self.waiting.iter().filter(|(_, waits)| **waits == kind).map(|(task, _)| *task).collect();
        tasks.sort_unstable();
        Some(tasks)
    }

    /// What a request is for.
    pub fn wants(&self, request: RequestNo) -> Option<Wants> {
        self.asked.get(&request).map(|kind| self.kinds[*kind].wants.clone())
    }

    fn answered(&mut self, request: RequestNo) -> Option<usize> {
        let kind = self.asked.remove(&request)?;
        self.kinds[kind].asked.retain(|waiting| *waiting != request);
        Some(kind)
    }

    /// Ends a turn: what nobody has taken goes back, and what would let somebody start is asked for.
    pub fn settle(
        &mut self,
        governor: &mut Governor,
        lacks: impl FnOnce(&mut Governor) -> Vec<Lack>,
        mut number: impl FnMut() -> RequestNo,
        effects: &mut Vec<Effect>,
    ) {
        for kind in 0..self.kinds.len() {
            let idle = std::mem::take(&mut self.kinds[kind].idle);
            if !idle.is_empty() {
                self.kinds[kind].held -= idle.len() as u64;
                self.share(kind, governor);
                effects.extend(idle.into_iter().map(give_back));
            }
        }
        let lacks = lacks(governor);
        for kind in 0..self.kinds.len() {
            let resource = self.kinds[kind].resource;
            let lack = lacks.iter().find(|lack| lack.resource == resource).map_or(0, |lack| lack.count);
            self.ask(kind, lack, &mut number, effects);
        }
    }

    /// Has as many requests open as are of use.
    fn ask(
        &mut self,
        kind: usize,
        lack: u64,
        number: &mut impl FnMut() -> RequestNo,
        effects: &mut Vec<Effect>,
    ) {
        while (self.kinds[kind].asked.len() as u64) < lack {
            let request = number();
            self.asked.insert(request, kind);
            self.kinds[kind].asked.push_back(request);
            effects.push(Effect::RequestLease { request, wants: self.kinds[kind].wants.to_vec() });
        }
        while self.kinds[kind].asked.len() as u64 > lack {
            let request = self.kinds[kind].asked.pop_back().expect("there are more than are of use");
            self.asked.remove(&request);
            effects.push(Effect::WithdrawRequest(request));
        }
    }

    /// Leases ran out: whose they were.
    pub fn lose(&mut self, fences: &[u64]) -> Vec<(TaskIx, Fence)> {
        let held = self.of_task.iter().map(|(task, (_, fence))| (*task, *fence));
        let mut lost: Vec<_> = held.filter(|(_, fence)| fences.contains(&fence.0)).collect();
        lost.sort_unstable();
        self.lost.extend(lost.iter().map(|(_, fence)| *fence));
        lost
    }
}

/// More leases than a table has.
const MOST: u64 = 1_000_000_000;

fn give_back(fence: Fence) -> Effect {
    Effect::GiveBack(Return { fence, used: Vec::new() })
}
