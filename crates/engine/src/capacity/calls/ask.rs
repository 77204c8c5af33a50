//! From a demand to a permit: what a call needs of this process, then of the machine.
//!
//! Keeps true: everything that a call needs is asked for at once; its lease of the machine is requested last, when it holds the
//! rest.

use super::Call;
use super::failures::{too_much, unpaid, without_price};
use crate::capacity::ledger::Purpose;
use crate::capacity::permits::{Permits, call_keys, key_of};
use crate::capacity::services::first_model;
use crate::capacity::terms::{CallNo, Calls, Wants};
use crate::core::Effect;
use crate::fact::CallReply;
use convoke_agent::{Admitted, CallDemand, CallPermit};
use convoke_govern::{Amount, Demand, Outcome, Refused};
use convoke_model::{Timestamp, reason};
use convoke_plan::{Agent, Labels, Node};
use convoke_schedule::TaskIx;
use std::sync::Arc;

/// Calls that go on come before those that begin, among equals: what was started is finished first.
const GOES_ON: u32 = u32::MAX;

impl Permits {
    /// Makes a permit of its own of what an attempt's first call needs, and says how its calls are admitted.
    pub(crate) fn first_call(
        &mut self,
        task: TaskIx,
        (node, agent): (&Node, &Agent),
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Calls {
        let counted = self.accounts.has(task);
        let Some(service) = self.services.of_first(agent, &mut self.governor, now) else {
            // A model whose name is rendered is known when it is asked; one that is not counted is free.
            let asked = counted || first_model(agent).is_none();
            return if asked { Calls::Asked(None) } else { Calls::Free };
        };
        let model = first_model(agent).unwrap_or_default();
        let ready = service.is_plain(&self.services.limited) && !counted;
        let moved: Vec<_> = service.slots().collect();
        let call = Call {
            task,
            service: Some(service),
            keys: Vec::new(),
            asked: None,
            model: Box::from(model),
            own: agent.settings.fallback.is_some(),
            refused: false,
            sent: None,
            unleased: Vec::new(),
            on_record: false,
        };
        let no = self.calls.begin(call);
        let [slots, _] = call_keys(no);
        let split = self.governor.split(key_of(task), slots, &moved);
        debug_assert!(split.is_ok(), "an attempt that starts holds its permit");
        self.calls.open.get_mut(&no).expect("opened above").keys.push(slots);
        if self.hindered_by(task, node, model).is_some()
            || moved.iter().any(|id| self.governor.paused_until(*id, now).is_some())
        {
            // Paused since the permit was granted: the call asks again, and waits, or is told that it need not.
            self.end_call(task, None, Outcome::Unknown, now, effects);
            return Calls::Asked(None);
        }
        if ready {
            self.send(no, now, effects);
        }
        Calls::Asked(ready.then(|| Box::from(model)))
    }

    /// How the calls of an attempt are admitted that may make none.
    pub(crate) fn any_call(&mut self, task: TaskIx, agent: &Agent, now: Timestamp) -> Calls {
        let service = self.services.of_first(agent, &mut self.governor, now);
        let counted = self.accounts.has(task) || service.is_some() || first_model(agent).is_none();
        if counted { Calls::Asked(None) } else { Calls::Free }
    }

    /// An attempt asks for a call.
    pub(crate) fn ask_call(
        &mut self,
        task: TaskIx,
        (node, labels, agent): (&Node, &Labels, &Agent),
        demand: CallDemand,
        reply: CallReply,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(failure) = self.passes_over(task, node, &demand.model, now) {
            return effects.push(Effect::Answer(reply, Box::new(Err(failure))));
        }
        let service = self.services.of(agent, &demand.model, &mut self.governor, now);
        let before = self.calls.close(task);
        let (kept, other) = match before {
            Some((no, call)) if call.asked.is_none() && *call.model == *demand.model => {
                (Some((no, call)), None)
            }
            other => (None, other),
        };
        if let Some((no, call)) = other {
            self.let_go(no, call, None, Outcome::Unknown, now, effects);
        }
        let mut needs = self.accounts.needs(task, &demand, &mut self.governor, now);
        needs.extend(service.iter().flat_map(|service| service.rates(&demand)));
        needs.extend(self.hindered_by(task, node, &demand.model).map(|id| Amount::of(id, 1)));
        if kept.is_none() {
            needs.extend(service.iter().flat_map(|service| service.slots()).map(|id| Amount::of(id, 1)));
        }
        let keys = kept.map(|(_, call)| call.keys).unwrap_or_default();
        let own = agent.settings.fallback.is_some() && first_model(agent) == Some(demand.model.as_str());
        let unpriced = self.accounts.unpriced(task, &demand);
        let unpriced = unpriced.map(|budget| without_price(self.governor.name(budget), &demand));
        let model = demand.model.as_str().into();
        let rank = self.rank(labels, GOES_ON);
        let (asked, sent, unleased) = (Some((demand, Some(reply))), None, Vec::new());
        let (refused, on_record) = (false, false);
        let call = Call { task, service, keys, asked, model, own, refused, sent, unleased, on_record };
        let no = self.calls.begin(call);
        match unpriced {
            Some(why) => self.refuse(no, Err(why), effects),
            None => self.submit(no, rank, &needs, now, effects),
        }
    }

    fn submit(
        &mut self,
        call: CallNo,
        rank: convoke_govern::Rank,
        needs: &[Amount],
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let [_, key] = call_keys(call);
        if needs.is_empty() {
            return self.covered(call, now, effects);
        }
        match self.governor.demand_further(Demand { key, rank, needs }, now) {
            Ok(()) => {}
            Err(Refused::Spent { resource, then }) => match self.governor.resource(&resource) {
                Some(budget) => self.unpaid(call, budget, then, None, effects),
                None => self.refuse(call, Err(unpaid(&resource, reason::BUDGET)), effects),
            },
            Err(refused) => self.refuse(call, Err(too_much(&refused)), effects),
        }
    }

    /// The governor has granted what a call asked for.
    pub(crate) fn paid(&mut self, call: CallNo, key: u64, now: Timestamp, effects: &mut Vec<Effect>) {
        if let Some(open) = self.calls.open.get_mut(&call) {
            open.keys.push(key);
            self.covered(call, now, effects);
        }
    }

    /// A call has all that it needs of this process.
    fn covered(&mut self, call: CallNo, now: Timestamp, effects: &mut Vec<Effect>) {
        let Some(open) = self.calls.open.get(&call) else { return };
        let wants: Wants = match &open.asked {
            Some((demand, _)) => {
                let service = open.service.iter();
                let service = service.flat_map(|service| service.wants(demand, &self.services.limited));
                service.chain(self.accounts.wants(open.task, demand)).collect()
            }
            None => Arc::default(),
        };
        if self.secure(call, wants, effects) {
            self.leased_call(call, now, effects);
        }
    }

    /// A call may be made.
    pub(crate) fn admit_call(&mut self, call: CallNo, now: Timestamp, effects: &mut Vec<Effect>) {
        self.send(call, now, effects);
        if self.calls.task_of(call).is_some_and(|task| self.accounts.reserves(task)) {
            self.calls.reserved.push(call);
        }
        self.answer(call, Ok(Admitted::Go(CallPermit::free())), effects);
    }

    /// Notes that a call is made from now on. What it has no lease of because no limit is known counts it all the same.
    fn send(&mut self, call: CallNo, now: Timestamp, effects: &mut Vec<Effect>) {
        let Some(open) = self.calls.open.get_mut(&call) else { return };
        if open.sent.is_none() {
            self.calls.flow.begin();
        }
        open.sent = Some(now);
        // Its lease was asked for with the limits that were known then.
        let lease = self.ledger.lease(Purpose::Call(call));
        let held = lease.map_or(&[][..], |fence| self.ledger.wants(fence));
        open.unleased = open.service.iter().flat_map(|service| service.without_lease(held)).collect();
        let names = open.unleased.iter().map(|id| self.governor.name(*id).to_owned());
        effects.extend(names.map(Effect::CallStarted));
    }
}
