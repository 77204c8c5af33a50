//! What tasks are paid from, and what people and earlier processes have said of it.
//!
//! Which budgets a task draws from is the scheduler's to say, how they are counted `purses`'.

use super::Permits;
use crate::capacity::budget::spending::Spent;
use convoke_govern::{Adapted, Origin, ResourceId};
use convoke_model::Timestamp;
use convoke_schedule::{Scheduler, TaskIx};

/// What was said of a budget.
#[derive(Debug)]
pub(crate) enum Said {
    /// People allow so much of it in all.
    Allowed(String, u64),
    /// It is spent, and this follows.
    Spent(String, String),
}

impl Permits {
    /// Settles what a task's calls are paid from.
    pub(crate) fn pay(&mut self, task: TaskIx, scheduler: &Scheduler) {
        self.purses.open(task, scheduler, &mut self.governor);
    }

    /// What was spent before this process drove the run is spent.
    pub fn spent_before(&mut self, spent: &Spent, scheduler: &Scheduler) {
        self.purses.spent_before(spent, scheduler, &mut self.governor);
    }

    /// A person lets a task go on that a budget could not pay: as much again as there was, of all that it must ask for.
    pub(crate) fn allow(&mut self, task: TaskIx, scheduler: &Scheduler, now: Timestamp) -> Vec<Adapted> {
        self.pay(task, scheduler);
        let budgets = self.purses.asked_for(task);
        self.purses.forget(task);
        budgets.into_iter().filter_map(|budget| self.raise(budget, now)).collect()
    }

    fn raise(&mut self, budget: ResourceId, now: Timestamp) -> Option<Adapted> {
        let limit = self.governor.limit(budget);
        let to = limit.max(self.governor.used(budget, now)).saturating_add(limit.max(1));
        self.purses.allow(self.governor.name(budget), to);
        self.governor.set_limit(budget, to, Origin::Operator, now).ok()
    }

    /// What was said of a budget before this process drove the run.
    pub(crate) fn said_before(&mut self, said: &Said) {
        match said {
            Said::Allowed(budget, limit) => self.purses.allow(budget, *limit),
            Said::Spent(budget, then) => self.purses.told_before(budget, then),
        }
    }
}
