//! Calls that may not be made: a budget cannot pay them, a breaker is open, they have waited too long, or the run stops.

use super::failures::{has_another_way, has_further_models, left_alone, unpaid};
use crate::capacity::ledger::Purpose;
use crate::capacity::permits::{Permits, call_keys};
use crate::capacity::terms::CallNo;
use crate::core::Effect;
use convoke_agent::Admitted;
use convoke_govern::ResourceId;
use convoke_model::{BudgetAction, Failure, Timestamp, WhenSpent, reason};
use convoke_plan::Node;
use convoke_schedule::TaskIx;

impl Permits {
    /// A budget cannot pay a call.
    pub(crate) fn unpaid(
        &mut self,
        call: CallNo,
        on: ResourceId,
        then: WhenSpent,
        by_all: Option<u64>,
        effects: &mut Vec<Effect>,
    ) {
        let name = self.governor.name(on).to_owned();
        let (follows, answer) = match then {
            WhenSpent::Degrade(model) if !self.calls.has_asked_for(call, &model) => {
                (BudgetAction::Degrade, Ok(Admitted::Instead(model)))
            }
            WhenSpent::Ask => (BudgetAction::Ask, Err(unpaid(&name, reason::BUDGET_ASK))),
            _ => (BudgetAction::Stop, Err(unpaid(&name, self.accounts.word(on)))),
        };
        self.accounts.spent(on, follows, by_all, &self.governor);
        self.refuse(call, answer, effects);
    }

    /// A budget that all processes share cannot pay a call: they have used so much of it.
    pub(crate) fn unpaid_by_all(&mut self, call: CallNo, budget: &str, used: u64, effects: &mut Vec<Effect>) {
        let known = self.governor.resource(budget);
        match known.and_then(|budget| Some((budget, self.governor.when_spent(budget)?))) {
            Some((budget, then)) => self.unpaid(call, budget, then, Some(used), effects),
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
        let waiting = self.calls.open.iter().filter(|(_, call)| call.is_waiting()).map(|(no, _)| *no);
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_unstable();
        waiting.into_iter().for_each(|call| self.refuse(call, Err(why.clone()), effects));
    }

    pub(super) fn answer(
        &mut self,
        call: CallNo,
        answer: Result<Admitted, Failure>,
        effects: &mut Vec<Effect>,
    ) {
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

    /// Why a step's own model is not asked though there is another way: its breaker is open.
    pub(super) fn passes_over(
        &mut self,
        task: TaskIx,
        node: &Node,
        model: &str,
        now: Timestamp,
    ) -> Option<Failure> {
        if !has_another_way(node) && !has_further_models(node) {
            return None;
        }
        let breaker = self.hindered_by(task, node, model)?;
        self.governor.broken_until(breaker, now)?;
        Some(left_alone(&node.name, self.governor.name(breaker)))
    }
}
