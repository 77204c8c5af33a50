//! What all processes share: leases that are asked for, given, queued and given back, and limits that somebody changed.
//!
//! Asking is an effect that others carry out; every answer finds who asked, or goes back.

use super::Permits;
use crate::capacity::leases::Wants;
use crate::capacity::run_slot::ORCHESTRATIONS;
use crate::capacity::terms::{CallNo, Fence, RequestNo};
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
        let request = self.leases.ask(call, wants.clone());
        effects.push(Effect::RequestLease { request, wants: wants.to_vec() });
        false
    }

    /// The machine has given a lease. One that nobody wants any more goes back.
    pub(crate) fn leased(
        &mut self,
        request: RequestNo,
        fence: Fence,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let governor = &mut self.governor;
        if self.run_slot.as_mut().is_some_and(|run_slot| run_slot.granted(request, fence, governor)) {
            return;
        }
        if self.holdings.granted(request, fence, governor) {
            return;
        }
        match self.leases.granted(request, fence) {
            Ok(call) => self.admit_call(call, now, effects),
            Err(back) => effects.push(Effect::GiveBack(back)),
        }
    }

    /// A lease ran out before it could be used.
    pub(crate) fn ask_again(&mut self, request: RequestNo, effects: &mut Vec<Effect>) {
        let run_slot = self
            .run_slot
            .as_ref()
            .and_then(|run_slot| run_slot.wants(request))
            .map(|want| vec![want.clone()]);
        let others = || {
            self.holdings.wants(request).or_else(|| self.leases.wants(request)).map(|wants| wants.to_vec())
        };
        if let Some(wants) = run_slot.or_else(others) {
            effects.push(Effect::RequestLease { request, wants });
        }
    }

    /// The machine has nothing free for a request.
    pub(crate) fn queued(&mut self, request: RequestNo) {
        self.run_slot.iter_mut().for_each(|run_slot| run_slot.queued(request));
        self.holdings.queued(request);
    }

    /// Whether waiting for a resource is worth telling: what was only just asked for is not.
    pub(crate) fn is_worth_telling(&self, resource: ResourceId) -> bool {
        match self.run_slot.as_ref().filter(|run_slot| run_slot.resource() == resource) {
            Some(run_slot) => run_slot.is_waited_for(),
            None => self.holdings.is_worth_telling(resource),
        }
    }

    /// This process is done with the run: its place goes to the next one.
    pub(crate) fn leave(&mut self) -> Option<crate::capacity::terms::Return> {
        self.run_slot.as_mut()?.leave()
    }

    /// Somebody changed a limit of the whole machine; what this process counts by itself follows.
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
        self.holdings.fence(task).map(|fence| fence.0)
    }

    /// Ends a turn: gives back what nobody has taken, and asks for what would let somebody start.
    pub(crate) fn settle_turn(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        // Before anything is requested: a run that is told at once that a service pauses asks it nothing.
        let met = self.services.met.drain(..);
        effects.splice(0..0, met.map(|(service, remembered)| Effect::Subscribe { service, remembered }));
        let leases = &mut self.leases;
        let mut may_begin = true;
        if let Some(run_slot) = &mut self.run_slot {
            let (back, asked) = run_slot.settle(&self.governor, || leases.number());
            effects.extend(back.map(Effect::GiveBack));
            effects.extend(asked.map(|(request, want)| Effect::RequestLease { request, wants: vec![want] }));
            may_begin = run_slot.is_held();
        }
        let lacks = |governor: &mut Governor| if may_begin { governor.lacks(now) } else { Vec::new() };
        self.holdings.settle(&mut self.governor, lacks, || leases.number(), effects);
    }
}
