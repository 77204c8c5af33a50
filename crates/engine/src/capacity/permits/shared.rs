//! What all processes share: leases that are requested, granted, queued, lost and given back, and changed limits.
//!
//! Requesting is an effect that the client carries out; every answer finds its purpose in the ledger, or its lease goes back.

use super::Permits;
use crate::capacity::ledger::Purpose;
use crate::capacity::run_slot::ORCHESTRATIONS;
use crate::capacity::terms::{CallNo, Fence, RequestNo, Return, Wants};
use crate::core::Effect;
use convoke_govern::{Governor, Origin, ResourceId};
use convoke_model::Timestamp;
use convoke_schedule::TaskIx;

impl Permits {
    /// Sees to it that a call has a lease, if it needs one; false if it has to wait for it.
    pub(crate) fn secure(&mut self, call: CallNo, wants: Wants, effects: &mut Vec<Effect>) -> bool {
        if wants.is_empty() {
            return true;
        }
        effects.push(self.ledger.request(Purpose::Call(call), wants));
        false
    }

    /// The machine has granted a request. The lease of one that was withdrawn goes back.
    pub(crate) fn leased(
        &mut self,
        request: RequestNo,
        fence: Fence,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        match self.ledger.granted(request, fence) {
            Ok(Purpose::Run) => self.run_slot.iter().for_each(|slot| slot.granted(&mut self.governor)),
            Ok(Purpose::Attempts(kind)) => {
                self.attempt_leases.granted(kind, fence, &self.ledger, &mut self.governor);
            }
            Ok(Purpose::Call(call)) => self.leased_call(call, now, effects),
            Err(back) => effects.push(Effect::GiveBack(back)),
        }
    }

    /// Leases ran out: the tasks whose attempts or calls they served, with the leases.
    pub(crate) fn lose(&mut self, fences: &[u64]) -> Vec<(TaskIx, Fence)> {
        let (mut of_attempts, mut of_calls) = (Vec::new(), Vec::new());
        for (purpose, fence) in self.ledger.lose(fences) {
            match purpose {
                Purpose::Run => self.run_slot.iter().for_each(|slot| slot.lost(&mut self.governor)),
                Purpose::Attempts(_) => of_attempts.push(fence),
                Purpose::Call(call) => of_calls.extend(self.calls.task_of(call).map(|task| (task, fence))),
            }
        }
        let mut tasks = self.attempt_leases.tasks_on(&of_attempts);
        tasks.append(&mut of_calls);
        tasks
    }

    /// Whether waiting for a resource is worth telling: what was only just requested is not.
    pub(crate) fn is_worth_telling(&self, resource: ResourceId) -> bool {
        match self.run_slot.as_ref().filter(|slot| slot.resource() == resource) {
            Some(slot) => slot.is_waited_for(&self.ledger),
            None => self.attempt_leases.is_worth_telling(resource, &self.ledger),
        }
    }

    /// This process is done with the run: its slot goes to the next one.
    pub fn leave(&mut self) -> Option<Return> {
        self.run_slot.as_ref()?.leave(&mut self.ledger)
    }

    /// A limit of the whole machine was changed; what this process counts by itself follows.
    pub(crate) fn set_limit(&mut self, name: &str, limit: u64, now: Timestamp) {
        let resource = match name {
            "machine" if self.follows_machine => Some(self.slots),
            // The table counts runs; what this process counts by that name is whether it may begin.
            "machine" | ORCHESTRATIONS => None,
            name => self.governor.resource(name),
        };
        if let Some(resource) = resource {
            let _ = self.governor.set_limit(resource, limit, Origin::Operator, now);
        }
    }

    /// The fencing token of an attempt's lease.
    pub(crate) fn lease_of(&self, task: TaskIx) -> Option<u64> {
        self.attempt_leases.fence(task).map(|fence| fence.0)
    }

    /// Ends a turn: gives back what no attempt has taken, and requests what would let one start.
    pub(crate) fn settle_turn(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        // Before anything is requested: a run that is told at once that a service pauses asks it nothing.
        let met = self.services.met.drain(..);
        effects.splice(0..0, met.map(|(service, remembered)| Effect::Subscribe { service, remembered }));
        let mut may_begin = true;
        if let Some(slot) = &self.run_slot {
            slot.settle(&mut self.ledger, &self.governor, effects);
            may_begin = slot.is_held(&self.ledger);
        }
        let lacks = |governor: &mut Governor| if may_begin { governor.lacks(now) } else { Vec::new() };
        self.attempt_leases.settle((&mut self.ledger, &mut self.governor), lacks, effects);
    }
}
