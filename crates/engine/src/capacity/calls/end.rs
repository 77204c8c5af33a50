//! The end of a call: what it used is settled, what it held goes back, and how it fared is reported.

use super::Call;
use crate::capacity::budget::accounts;
use crate::capacity::ledger::Purpose;
use crate::capacity::permits::{Permits, call_keys};
use crate::capacity::terms::{CallNo, Counts, MONEY_UNIT, Want};
use crate::core::Effect;
use convoke_govern::{Adapted, Amount, Outcome, Sample, Used};
use convoke_model::{Timestamp, Usage};
use convoke_schedule::TaskIx;

impl Permits {
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

    /// A call whose task has ended is over as well; how it fared is unknown.
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

    pub(super) fn let_go(
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
            // The first call of an attempt may be made without asking. Without reported usage it was not made.
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

    /// What a call has shown of its service is told to all processes, before what it held goes back.
    fn report_samples(&mut self, call: &Call, effects: &mut Vec<Effect>) {
        for (id, sample) in self.governor.samples() {
            // What waited for its lease began when it had it.
            let began = call.sent.map_or(sample.began, |sent| sent.0);
            let (service, sample) = (self.governor.name(id).to_owned(), Sample { began, ..sample });
            effects.push(Effect::ReportSample { service, sample });
        }
        let names = call.unleased.iter().map(|id| self.governor.name(*id).to_owned());
        effects.extend(names.map(Effect::CallEnded));
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

/// What a call used of a shared rate or budget; all that it reserved where the usage is unknown.
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
