//! What is left of the budgets that a goal stands under, and whether that is enough to split a task.
//!
//! Splitting pays for taking the task apart and for putting the parts together, besides the parts: where little is left,
//! that is better spent on the work. Whether a call can be paid at all is not decided here.

use crate::state::{State, TaskIx};
use convoke_model::{Budget, Effort, Usage};

/// A budget, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BudgetAccount {
    whose: &'static str,
    unit: Unit,
    total: u64,
    left: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Micros,
    Tokens,
}

/// A task is split as long as this part of every budget is left: one in so many.
const PART: u64 = 4;

impl BudgetAccount {
    /// What a budget holds when so much of it was used. One that only reports bounds nothing.
    pub fn of(whose: &'static str, budget: &Budget, used: &Usage) -> Vec<BudgetAccount> {
        let account = |unit: Unit, total: u64, used: u64| BudgetAccount {
            whose,
            unit,
            total,
            left: total.saturating_sub(used),
        };
        let money = budget.micros.map(|total| account(Unit::Micros, total, used.cost_micros));
        let tokens =
            budget.tokens.map(|total| account(Unit::Tokens, total, used.input_tokens + used.output_tokens));
        money.into_iter().chain(tokens).filter(|_| !budget.audit).collect()
    }

    /// Why it does not suffice for a task that is done by children.
    fn refusal(&self, effort: Effort) -> Option<String> {
        let (left, total) = (self.unit.words(self.left), self.unit.words(self.total));
        let said = format!("{left} of the {}'s budget of {total} are left", self.whose);
        match (self.unit, effort.tokens) {
            _ if self.left.saturating_mul(PART) < self.total => Some(format!("only {said}")),
            (Unit::Tokens, Some(tokens)) if tokens > self.left => {
                Some(format!("it takes {tokens} tokens and {said}"))
            }
            _ => None,
        }
    }
}

impl Unit {
    fn words(self, amount: u64) -> String {
        match self {
            Unit::Micros => format!("${:.4}", amount as f64 / 1e6),
            Unit::Tokens => format!("{amount} tokens"),
        }
    }
}

/// Why what is left does not suffice for a task that is done by children.
pub(super) fn refusal(accounts: &[BudgetAccount], effort: Effort) -> Option<String> {
    accounts.iter().find_map(|account| account.refusal(effort))
}

impl State {
    /// Fold: something was spent on a goal.
    pub(super) fn spent_on_goal(&mut self, goal: TaskIx, usage: &Usage) {
        self.tasks[goal].progress.get_or_insert_default().spent += *usage;
    }

    /// What was spent on a goal, also on what was begun anew when the run was resumed.
    pub(super) fn spent_on(&self, goal: TaskIx) -> Usage {
        self.tasks[goal].progress.as_ref().map(|progress| progress.spent).unwrap_or_default()
    }

    /// The budgets of a goal and of the workflows around it.
    pub(super) fn accounts(&self, goal: TaskIx) -> Vec<BudgetAccount> {
        let spent = self.spent_on(goal);
        let own = self.node(goal).budget.iter().flat_map(|budget| BudgetAccount::of("goal", budget, &spent));
        let around = |task: &TaskIx| self.frame(self.tasks[*task].place.frame).parent;
        let frames = std::iter::successors(Some(goal), around).map(|task| self.tasks[task].place.frame);
        let workflows = frames.flat_map(|frame| {
            let budget = self.workflow_in(frame).limits.budget.iter();
            budget.flat_map(move |budget| BudgetAccount::of("workflow", budget, &self.frame(frame).usage))
        });
        own.chain(workflows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(budget: Budget, used: Usage, tokens: Option<u64>) -> Option<String> {
        refusal(&BudgetAccount::of("goal", &budget, &used), Effort { tokens, seconds: None })
    }

    #[test]
    fn a_task_is_split_as_long_as_a_quarter_of_every_budget_is_left() {
        let dollars = |micros| Budget { micros: Some(micros), ..Budget::default() };
        let cost = |cost_micros| Usage { cost_micros, ..Usage::default() };
        assert_eq!(refused(dollars(2_000_000), cost(1_500_000), Some(9_000_000)), None);
        let no = refused(dollars(2_000_000), cost(1_500_001), None).expect("it is refused");
        assert_eq!(no, "only $0.5000 of the goal's budget of $2.0000 are left");
        let reports = Budget { audit: true, ..dollars(2_000_000) };
        assert_eq!(refused(reports, cost(9_000_000), None), None);
    }

    #[test]
    fn tokens_must_last_for_what_it_is_thought_to_take() {
        let budget = Budget { tokens: Some(1_000), ..Budget::default() };
        let used = Usage { input_tokens: 300, output_tokens: 100, ..Usage::default() };
        assert_eq!(refused(budget.clone(), used, Some(600)), None);
        let no = refused(budget, used, Some(601)).expect("it is refused");
        assert_eq!(no, "it takes 601 tokens and 600 tokens of the goal's budget of 1000 tokens are left");
    }
}
