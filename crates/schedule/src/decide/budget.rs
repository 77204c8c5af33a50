//! A workflow's budget as far as what was spent decides: what is reported, what ends, what is left to give.
//!
//! Whether a call may be made at all is decided before it is made, with the permit.

use crate::scheduler::Scheduler;
use crate::state::{FrameIx, State};
use convoke_model::{Class, Event, Failure, TaskId, Usage, WhenSpent, reason};

impl Scheduler {
    /// Reports a budget that was passed; an enforced one ends the workflow, unless something else is to follow.
    pub(crate) fn check_budget(&mut self, frame: FrameIx) {
        let Some(budget) = self.workflow_in(frame).limits.budget.clone() else { return };
        let ends = !budget.audit && budget.when_spent == WhenSpent::Stop;
        let money = budget.micros.and_then(|micros| self.check_money(frame, micros, budget.money_key()));
        let tokens = budget.tokens.and_then(|tokens| self.check_tokens(frame, tokens, budget.tokens_key()));
        let money = money.map(|passed| (passed, reason::BUDGET, budget.money_key()));
        let tokens = tokens.map(|passed| (passed, reason::BUDGET_TOKENS, budget.tokens_key()));
        let Some((passed, reason, key)) = money.or(tokens).filter(|_| ends) else { return };
        let message = format!("workflow `{}` {passed}", self.workflow_in(frame).name);
        let failure = Failure::new(Class::Budget, message).reason(reason).hint(to_go_on(key));
        self.end_frame_by(frame, None, failure);
    }

    /// Says each time another multiple of the money is spent. Answers in words what was passed.
    fn check_money(&mut self, frame: FrameIx, budget: u64, key: &str) -> Option<String> {
        let usage = self.frame(frame).usage;
        let spent = usage.cost_micros;
        if usage.unpriced_calls > 0 {
            self.tell_unpriced(frame, key);
        }
        if spent <= budget {
            return None;
        }
        if frame.0 == 0 && spent / budget.max(1) > self.frame(frame).budget_reports {
            self.emit(Event::BudgetExceeded { spent_micros: spent, budget_micros: budget });
        }
        let (spent, budget) = (spent as f64 / 1e6, budget as f64 / 1e6);
        Some(format!("spent ${spent:.4} of its budget of ${budget:.4} ({key})"))
    }

    /// Says once that the tokens are used up. Answers in words what was passed.
    fn check_tokens(&mut self, frame: FrameIx, budget: u64, key: &str) -> Option<String> {
        let usage = self.frame(frame).usage;
        let used = usage.input_tokens + usage.output_tokens;
        let passed = format!("used {used} of its {budget} tokens ({key})");
        if used <= budget {
            return None;
        }
        if frame.0 == 0 && self.notes_once(frame, "tokens") {
            let message = format!("the run {passed}");
            self.emit(Event::Noted { task: None, code: "budget_tokens".into(), message });
        }
        Some(passed)
    }

    /// A budget that only reports counts too little for a model without a price; that must not go unsaid. (Under an enforced one
    /// no such call is made.)
    fn tell_unpriced(&mut self, frame: FrameIx, key: &str) {
        if frame.0 > 0 || !self.notes_once(frame, "unpriced") {
            return;
        }
        let message = format!("{key} cannot be counted: no price is known for a model in use (cost.pricing)");
        self.emit(Event::Noted { task: None, code: "budget_unpriced".into(), message });
    }
}

impl State {
    /// The run has also spent this, on a task that begins anew or is gone.
    pub(crate) fn spent_besides(&mut self, task: &TaskId, usage: &Usage) {
        if let Some(root) = self.frames.first_mut() {
            root.usage += *usage;
        }
        let around = std::iter::successors(Some(task.clone()), TaskId::parent);
        if let Some(nearest) = around.filter_map(|id| self.tasks.find(&id)).next() {
            self.spent_below(nearest, usage);
        }
    }
}

/// What lets a run go on whose budget is spent: what was written is written anew where it was written.
fn to_go_on(key: &str) -> String {
    match key.starts_with("--") {
        true => format!("convoke resume RUN {key} AMOUNT goes on with more"),
        false => format!("raise {key}, then: convoke resume RUN --accept-changes"),
    }
}
