//! Calls to models: what each needs, waits for, holds, and what it used. Pure.
//!
//! An attempt makes its calls one after the other, so at most one is open per task. The slots of the first came with the
//! attempt's permit; all others ask for slots, rates and money together.

use crate::capacity::budget::accounts;
use crate::capacity::ledger::Purpose;
use crate::capacity::metrics::Flow;
use crate::capacity::permits::{Permits, call_keys};
use crate::capacity::services::{Service, first_model};
use crate::capacity::terms::{CallNo, Calls, Counts, MONEY_UNIT, Want, Wants};
use crate::core::Effect;
use crate::fact::CallReply;
use convoke_agent::{Admitted, CallDemand, CallPermit};
use convoke_govern::{Adapted, Amount, Demand, Outcome, Refused, ResourceId, Sample, Used};
use convoke_model::{Class, Failure, Timestamp, Usage, WhenSpent, reason};
use convoke_plan::{Agent, Kind, Labels, Node};
use convoke_schedule::TaskIx;
use std::collections::HashMap;
use std::sync::Arc;

/// Calls that go on come before those that begin, among equals: what was started is finished first.
const GOES_ON: u32 = u32::MAX;

/// The calls that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    last: u64,
    open: HashMap<CallNo, Call>,
    of_task: HashMap<TaskIx, CallNo>,
    /// Calls that money was set aside for in this turn.
    reserved: Vec<CallNo>,
    /// The worst case of calls that nobody knows the end of, since it was last told.
    lost: Vec<(TaskIx, Usage)>,
    /// The calls under way, and how many there were.
    pub flow: Flow,
}

/// A call from the moment that something is held for it.
#[derive(Debug)]
struct Call {
    task: TaskIx,
    /// What it goes to, as far as that is counted.
    service: Option<Arc<Service>>,
    /// What holds its permits, once they are granted.
    keys: Vec<u64>,
    /// What it asked for, and who waits for the answer; `None` for a first call that nobody has asked for yet.
    asked: Option<(CallDemand, Option<CallReply>)>,
    model: Box<str>,
    /// It goes to the step's own model, and others can be asked instead.
    own: bool,
    /// It may not be made: nothing of it was used.
    refused: bool,
    /// When it could be made.
    sent: Option<Timestamp>,
    /// What it was counted on without a lease, because nobody knew a limit.
    entered: Vec<ResourceId>,
    /// It is written down what it can cost.
    on_record: bool,
}

impl OpenCalls {
    fn begin(&mut self, call: Call) -> CallNo {
        self.last += 1;
        let no = CallNo(self.last);
        self.of_task.insert(call.task, no);
        self.open.insert(no, call);
        no
    }

    fn close(&mut self, task: TaskIx) -> Option<(CallNo, Call)> {
        let no = self.of_task.remove(&task)?;
        self.open.remove(&no).map(|call| (no, call))
    }

    /// A task has ended, and its call may still be under way.
    pub fn orphan(&mut self, task: TaskIx) -> Option<CallNo> {
        self.of_task.remove(&task)
    }

    /// Whether a call is to this model already, or was before a budget refused it.
    fn has_asked_for(&self, call: CallNo, model: &str) -> bool {
        self.open.get(&call).is_some_and(|call| {
            let refused = call.asked.iter().flat_map(|(demand, _)| &demand.refused);
            *call.model == *model || refused.into_iter().any(|before| before == model)
        })
    }

    /// The calls that may be made after this turn, and their worst case. They are on record from here on. One that is closed
    /// already is never made.
    pub fn take_reserved(&mut self) -> Vec<(TaskIx, Usage)> {
        let reserved = std::mem::take(&mut self.reserved);
        let worst = |no: CallNo| {
            let call = self.open.get_mut(&no)?;
            call.on_record = true;
            Some((call.task, call.worst()?))
        };
        reserved.into_iter().filter_map(worst).collect()
    }

    /// The worst case of calls that nobody knows the end of.
    pub fn take_lost(&mut self) -> Vec<(TaskIx, Usage)> {
        std::mem::take(&mut self.lost)
    }

    /// Whether a task waits for a call.
    pub fn waits(&self, task: TaskIx) -> bool {
        let call = self.of_task.get(&task).and_then(|no| self.open.get(no));
        call.is_some_and(|call| matches!(call.asked, Some((_, Some(_)))))
    }

    /// Whose call it is.
    pub fn task_of(&self, call: CallNo) -> Option<TaskIx> {
        self.open.get(&call).map(|call| call.task)
    }
}

impl Call {
    /// What it can cost.
    fn worst(&self) -> Option<Usage> {
        let (demand, _) = self.asked.as_ref()?;
        Some(Usage {
            calls: 1,
            input_tokens: demand.input_tokens,
            output_tokens: demand.output_tokens,
            cost_micros: demand.cost_micros.unwrap_or(0),
            unpriced_calls: u64::from(demand.cost_micros.is_none()),
            estimated: true,
            ..Usage::default()
        })
    }
}

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
            // A model whose name is rendered is known when it is asked; one that nobody counts is free.
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
            entered: Vec::new(),
            on_record: false,
        };
        let no = self.calls.begin(call);
        let [slots, _] = call_keys(no);
        let split = self.governor.split(crate::capacity::permits::key_of(task), slots, &moved);
        debug_assert!(split.is_ok(), "an attempt that starts holds its permit");
        self.calls.open.get_mut(&no).expect("opened above").keys.push(slots);
        if self.hindered_by(task, node, model).is_some()
            || moved.iter().any(|id| self.governor.is_paused(*id, now))
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
        let (asked, sent, entered) = (Some((demand, Some(reply))), None, Vec::new());
        let (refused, on_record) = (false, false);
        let call = Call { task, service, keys, asked, model, own, refused, sent, entered, on_record };
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
                Some(budget) => self.unpaid(call, budget, then, effects),
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
            self.admit_call(call, now, effects);
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
        open.entered = open.service.iter().flat_map(|service| service.without_lease(held)).collect();
        let names = open.entered.iter().map(|id| self.governor.name(*id).to_owned());
        effects.extend(names.map(Effect::CallStarted));
    }

    /// What a call has shown of its service is told to all processes, before what it held goes back.
    fn report_samples(&mut self, call: &Call, effects: &mut Vec<Effect>) {
        for (id, sample) in self.governor.samples() {
            // What waited for its lease began when it had it.
            let began = call.sent.map_or(sample.began, |sent| sent.0);
            let (service, sample) = (self.governor.name(id).to_owned(), Sample { began, ..sample });
            effects.push(Effect::ReportSample { service, sample });
        }
        let names = call.entered.iter().map(|id| self.governor.name(*id).to_owned());
        effects.extend(names.map(Effect::CallEnded));
    }

    /// A budget cannot pay a call.
    pub(crate) fn unpaid(
        &mut self,
        call: CallNo,
        on: ResourceId,
        then: WhenSpent,
        effects: &mut Vec<Effect>,
    ) {
        let name = self.governor.name(on).to_owned();
        let (follows, answer) = match then {
            WhenSpent::Degrade(model) if !self.calls.has_asked_for(call, &model) => {
                ("degrade", Ok(Admitted::Instead(model)))
            }
            WhenSpent::Ask => ("ask", Err(unpaid(&name, reason::BUDGET_ASK))),
            _ => ("stop", Err(unpaid(&name, self.accounts.word(on)))),
        };
        self.accounts.spent(on, follows, &self.governor);
        self.refuse(call, answer, effects);
    }

    /// A budget that all processes share cannot pay a call.
    pub(crate) fn unpaid_by_all(&mut self, call: CallNo, budget: &str, effects: &mut Vec<Effect>) {
        let known = self.governor.resource(budget);
        match known.and_then(|budget| Some((budget, self.governor.when_spent(budget)?))) {
            Some((budget, then)) => self.unpaid(call, budget, then, effects),
            None => self.refuse(call, Err(unpaid(budget, reason::BUDGET)), effects),
        }
    }

    /// A call may not be made. What it holds goes back when the attempt says that it has heard so.
    pub(crate) fn refuse(
        &mut self,
        call: CallNo,
        answer: Result<Admitted, Failure>,
        effects: &mut Vec<Effect>,
    ) {
        self.answer(call, answer, effects);
    }

    /// A call that a task waits for is not made: it has waited for too long.
    pub(crate) fn give_up_call(&mut self, task: TaskIx, why: Failure, effects: &mut Vec<Effect>) {
        let Some(call) = self.calls.of_task.get(&task).copied() else { return };
        let [_, key] = call_keys(call);
        self.governor.withdraw(key);
        effects.extend(self.ledger.withdraw(Purpose::Call(call)));
        self.refuse(call, Err(why), effects);
    }

    /// None of the calls that wait may be made.
    pub(crate) fn refuse_waiting(&mut self, why: &Failure, effects: &mut Vec<Effect>) {
        let is_waiting = |call: &Call| matches!(call.asked, Some((_, Some(_))));
        let waiting = self.calls.open.iter().filter(|(_, call)| is_waiting(call)).map(|(no, _)| *no);
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_unstable();
        waiting.into_iter().for_each(|call| self.refuse(call, Err(why.clone()), effects));
    }

    fn answer(&mut self, call: CallNo, answer: Result<Admitted, Failure>, effects: &mut Vec<Effect>) {
        let open = self.calls.open.get_mut(&call);
        let asked = open.and_then(|open| {
            open.refused = !matches!(answer, Ok(Admitted::Go(_)));
            open.asked.as_mut()
        });
        if let Some(reply) = asked.and_then(|(_, reply)| reply.take()) {
            effects.push(Effect::Answer(reply, Box::new(answer)));
            if let Some(task) = self.calls.task_of(call) {
                self.waits.end(task);
            }
        }
    }

    /// The open call of a task has ended, used this much and fared so. Says what was learned.
    pub(crate) fn end_call(
        &mut self,
        task: TaskIx,
        usage: Option<Usage>,
        outcome: Outcome,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Vec<Adapted> {
        if self.calls.waits(task) {
            self.waits.end(task);
        }
        match self.calls.close(task) {
            Some((no, call)) => {
                if call.own && outcome.is_failure() {
                    self.first_failed.insert(task, outcome);
                }
                self.let_go(no, call, usage, outcome, now, effects)
            }
            None => Vec::new(),
        }
    }

    /// Why a step's own model is not asked though there is another way: its breaker is open.
    fn passes_over(&mut self, task: TaskIx, node: &Node, model: &str, now: Timestamp) -> Option<Failure> {
        if !has_another_way(node) && !has_further_models(node) {
            return None;
        }
        let breaker = self.hindered_by(task, node, model)?;
        self.governor.broken_until(breaker, now)?;
        Some(left_alone(&node.name, self.governor.name(breaker)))
    }

    /// A call whose task has ended is over as well; nobody knows how it fared.
    pub(crate) fn end_orphan(
        &mut self,
        call: CallNo,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Vec<Adapted> {
        match self.calls.open.remove(&call) {
            Some(open) => self.let_go(call, open, None, Outcome::Unknown, now, effects),
            None => Vec::new(),
        }
    }

    fn let_go(
        &mut self,
        no: CallNo,
        call: Call,
        usage: Option<Usage>,
        outcome: Outcome,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> Vec<Adapted> {
        let [_, own] = call_keys(no);
        self.governor.withdraw(own);
        effects.extend(self.ledger.withdraw(Purpose::Call(no)));
        match call.sent {
            // The first call of an attempt may be made without asking; one that nobody tells of was not.
            Some(_) if usage.is_none() && call.asked.is_none() => self.calls.flow.take_back(),
            Some(_) => self.calls.flow.end(),
            None => {}
        }
        let was_made = !call.refused && call.asked.as_ref().is_none_or(|(_, reply)| reply.is_none());
        if was_made && call.on_record && usage.is_none() {
            self.calls.lost.extend(call.worst().map(|worst| (call.task, worst)));
        }
        let amounts = usage.map(|usage| self.amounts(&call, &usage));
        let used = match &amounts {
            _ if !was_made => Used::Nothing,
            Some(amounts) => Used::Amounts(amounts),
            None => Used::AsReserved,
        };
        let mut adapted = Vec::new();
        for key in &call.keys {
            adapted.extend(self.governor.release(*key, used, outcome, now).unwrap_or_default());
        }
        self.report_samples(&call, effects);
        self.accounts.look(call.task, &mut self.governor, now);
        let usage = usage.filter(|_| was_made);
        let settled = |want: &Want| {
            let count = if was_made { used_of(want, usage.as_ref()) } else { 0 };
            (count, accounts::lasts(want, now))
        };
        let lease = self.ledger.lease(Purpose::Call(no));
        let back = lease.and_then(|fence| self.ledger.settle(fence, settled));
        effects.extend(back.map(Effect::GiveBack));
        adapted
    }

    /// What a call used, of everything that is settled by use.
    fn amounts(&self, call: &Call, usage: &Usage) -> Vec<Amount> {
        let tokens = tokens_of(*usage);
        let rates = call.service.iter().flat_map(|service| service.token_rates());
        let mut amounts: Vec<_> = rates.map(|id| Amount::of(id, tokens)).collect();
        amounts.extend(self.accounts.used(call.task, usage));
        amounts
    }
}

/// What a call used of a shared rate or budget; all that it reserved where nobody knows.
fn used_of(want: &Want, usage: Option<&Usage>) -> u64 {
    match (want.of.counts, usage) {
        (Counts::Tokens, Some(usage)) => tokens_of(*usage),
        (Counts::Money, Some(usage)) => usage.cost_micros.div_ceil(MONEY_UNIT),
        (Counts::Slots | Counts::Requests, _) | (_, None) => want.count,
    }
}

fn tokens_of(usage: Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

fn unpaid(budget: &str, word: &str) -> Failure {
    let hint = "raise the budget, or lower max_tokens; then: convoke resume RUN --accept-changes";
    Failure::new(Class::Budget, format!("the {budget} cannot pay another call")).reason(word).hint(hint)
}

/// Whether a workflow says what follows where a step cannot be done for want of capacity.
pub(crate) fn has_another_way(node: &Node) -> bool {
    node.on_error.iter().any(|route| route.classes.contains(Class::Capacity))
}

fn has_further_models(node: &Node) -> bool {
    matches!(&node.kind, Kind::Agent(agent) if agent.settings.fallback.is_some())
}

/// Why something is not tried: it has failed too often in a row, and is left alone for a while.
pub(crate) fn left_alone(step: &str, breaker: &str) -> Failure {
    let message = format!("step `{step}` is left alone after failures in a row: `{breaker}` is open");
    Failure::new(Class::Capacity, message)
        .reason(reason::BREAKER_OPEN)
        .hint("convoke capacity shows until when; limits.breaker of the configuration says when it opens")
}

/// What an attempt is told whose call costs nobody knows what. Names that are rendered come to light only here.
fn without_price(budget: &str, demand: &CallDemand) -> Failure {
    let name = if demand.model.is_empty() { &demand.provider } else { &demand.model };
    let message = format!("the {budget} cannot be kept: no price of `{name}` ({}) is known", demand.provider);
    let hint =
        format!("set `input_per_mtok` and `output_per_mtok` in [pricing.\"{name}\"] of the configuration");
    Failure::new(Class::Budget, message).reason(reason::UNPRICED).hint(hint)
}

/// What an attempt is told whose call can never be made.
pub(crate) fn too_much(refused: &Refused) -> Failure {
    let hint = match refused {
        Refused::NeverFits { .. } => "shorten the prompt or lower max_tokens, or raise the limit",
        _ => "raise `limits.queue`, or start fewer tasks at once",
    };
    Failure::new(Class::Budget, format!("the call can never be made: {refused}"))
        .reason("never_fits")
        .hint(hint)
}
