//! Who pays for a task: every budget that it stands under, nearest first.

use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::{Budget, TaskId};
use convoke_plan::{Limits, Node, Workflow};
use std::sync::Arc;

/// Whose a budget is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// The run's.
    Run,
    /// A sub-workflow's.
    Workflow(TaskId),
    /// A group's, all its members together.
    Group(TaskId),
    /// A step's, all its tasks together.
    Step(Arc<str>),
}

/// A budget that a task draws from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payer {
    /// Whose it is.
    pub owner: Owner,
    /// How much.
    pub budget: Budget,
}

impl Scheduler {
    /// Whether any task of the run can stand under a budget.
    pub fn has_budgets(&self) -> bool {
        let has_one = |workflow: &Workflow| {
            workflow.limits.budget.is_some() || workflow.nodes.iter().any(|node| node.budget.is_some())
        };
        self.plan.workflows.iter().any(has_one)
    }

    /// Every budget that a task draws from, nearest first.
    pub fn payers(&self, task: TaskIx) -> Vec<Payer> {
        let mut payers: Vec<_> = of_step(self.node(task)).into_iter().collect();
        let mut frame = self.tasks[task].place.frame;
        self.add_groups(task, &mut payers);
        loop {
            let parent = self.frame(frame).parent;
            let owner = match parent {
                Some(task) => Owner::Workflow(self.tasks[task].id.clone()),
                None => Owner::Run,
            };
            payers.extend(of_workflow(&self.workflow_in(frame).limits, owner));
            match parent {
                Some(task) => {
                    self.add_groups(task, &mut payers);
                    frame = self.tasks[task].place.frame;
                }
                None => return payers,
            }
        }
    }

    /// The budgets of the groups that a task is in.
    fn add_groups(&self, task: TaskIx, payers: &mut Vec<Payer>) {
        let mut within = self.tasks[task].place.within;
        while let Some(group) = within {
            let owner = || Owner::Group(self.tasks[group].id.clone());
            let budget = self.node(group).budget.clone();
            payers.extend(budget.map(|budget| Payer { owner: owner(), budget }));
            within = self.tasks[group].place.within;
        }
    }

    /// The tenant on whose account a task runs.
    pub fn tenant(&self, task: TaskIx) -> Option<&Arc<str>> {
        self.node(task).labels.tenant.as_ref()
    }
}

fn of_step(node: &Node) -> Option<Payer> {
    let budget = node.budget.clone()?;
    Some(Payer { owner: Owner::Step(node.name.clone()), budget })
}

fn of_workflow(limits: &Limits, owner: Owner) -> Option<Payer> {
    let budget = limits.budget.clone()?;
    Some(Payer { owner, budget })
}
