//! What tasks are paid from, and what people and earlier processes have said of it.
//!
//! Which budgets a task draws from is the scheduler's to say, how they are counted `accounts`'.

use super::Permits;
use crate::capacity::budget::spending::Spent;
use convoke_govern::{Adapted, Origin, ResourceId};
use convoke_model::{BudgetAction, Timestamp};
use convoke_schedule::{Scheduler, TaskIx};

/// What the journal says of a budget.
#[derive(Debug)]
pub(crate) enum BudgetNote {
    /// People allow so much of it in all.
    Allowed(String, u64),
    /// It is spent, and this follows.
    Spent(String, BudgetAction),
}

impl Permits {
    /// Settles what a task's calls are paid from.
    pub(crate) fn pay(&mut self, task: TaskIx, scheduler: &Scheduler) {
        self.accounts.open(task, scheduler, &mut self.governor);
    }

    /// What was spent before this process drove the run is spent.
    pub fn spent_before(&mut self, spent: &Spent, scheduler: &Scheduler) {
        self.accounts.spent_before(spent, scheduler, &mut self.governor);
    }

    /// A person lets a task go on that a budget could not pay: as much again as there was, of all that it must ask for.
    pub(crate) fn allow(&mut self, task: TaskIx, scheduler: &Scheduler, now: Timestamp) -> Vec<Adapted> {
        self.pay(task, scheduler);
        let budgets = self.accounts.asked_for(task);
        self.accounts.forget(task);
        budgets.into_iter().filter_map(|budget| self.raise(budget, now)).collect()
    }

    fn raise(&mut self, budget: ResourceId, now: Timestamp) -> Option<Adapted> {
        let limit = self.governor.limit(budget);
        let to = limit.max(self.governor.used(budget, now)).saturating_add(limit.max(1));
        self.accounts.allow(self.governor.name(budget), to);
        self.governor.set_limit(budget, to, Origin::Operator, now).ok()
    }

    /// What was said of a budget before this process drove the run.
    pub(crate) fn note_before(&mut self, note: &BudgetNote) {
        match note {
            BudgetNote::Allowed(budget, limit) => self.accounts.allow(budget, *limit),
            BudgetNote::Spent(budget, then) => self.accounts.notified_before(budget, *then),
        }
    }
}
