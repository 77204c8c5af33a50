//! Who pays for a task: every budget that it stands under, nearest first.

use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::{Budget, TaskId, WhenSpent};
use convoke_plan::Limits;
use std::sync::Arc;

/// Whose a budget is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The run's.
    Run,
    /// A sub-workflow's.
    Workflow(TaskId),
}

/// A budget that a task draws from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payer {
    /// Whose it is.
    pub owner: Owner,
    /// How much.
    pub budget: Budget,
    /// Nobody said what follows when it is spent: what Conductor does follows.
    pub lenient: bool,
}

impl Scheduler {
    /// Whether any task of the run can stand under a budget.
    pub fn has_budgets(&self) -> bool {
        self.plan.workflows.iter().any(|workflow| workflow.limits.budget.is_some())
    }

    /// Every budget that a task draws from, nearest first.
    pub fn payers(&self, task: TaskIx) -> Vec<Payer> {
        let mut payers = Vec::new();
        let mut frame = self.tasks[task].place.frame;
        loop {
            let parent = self.frame(frame).parent;
            let owner = match parent {
                Some(task) => Owner::Workflow(self.tasks[task].id.clone()),
                None => Owner::Run,
            };
            payers.extend(of_workflow(&self.workflow_in(frame).limits, owner));
            match parent {
                Some(task) => frame = self.tasks[task].place.frame,
                None => return payers,
            }
        }
    }

    /// The tenant on whose account a task runs.
    pub fn tenant(&self, task: TaskIx) -> Option<&Arc<str>> {
        self.node(task).labels.tenant.as_ref()
    }
}

fn of_workflow(limits: &Limits, owner: Owner) -> Option<Payer> {
    let budget = limits.budget.clone()?;
    // Conductor knows only this end of a budget, and lets the call through that passes it.
    let lenient = budget.when_spent == WhenSpent::Stop;
    Some(Payer { owner, budget, lenient })
}
