//! Which labels hold for a task, and how long it may wait: as it says itself, else as what it stands in says, nearest first.
//!
//! A task stands in the groups around it and in the step that asked for it, in its workflow, and in everything that the step
//! that called the workflow stands in. The one place that says so: ranks, tenants' limits and tenants' budgets all come from here.

use crate::state::{State, TaskIx};
use convoke_plan::Labels;
use std::sync::Arc;

impl State {
    /// The labels that hold for a task.
    pub fn labels(&self, task: TaskIx) -> Labels {
        let mut labels = Labels::default();
        let mut next = Some(task);
        while let Some(task) = next {
            self.fill_labels(task, &mut labels);
            let frame = self.tasks[task].place.frame;
            labels.fill_from(&self.workflow_in(frame).labels);
            next = self.frame(frame).parent.filter(|_| !labels.is_full());
        }
        labels
    }

    /// From a task, and from the groups and steps of its workflow that it stands in.
    fn fill_labels(&self, task: TaskIx, labels: &mut Labels) {
        let mut next = Some(task);
        while let Some(task) = next {
            labels.fill_from(&self.node(task).labels);
            next = self.tasks[task].place.within;
        }
    }

    /// How long an attempt of a task may wait for its permit, in milliseconds: as the nearest says that says something.
    pub fn max_wait(&self, task: TaskIx) -> Option<u64> {
        let mut next = Some(task);
        while let Some(task) = next {
            let place = &self.tasks[task].place;
            if let Some(stated) = self.node(task).max_wait {
                return Some(stated);
            }
            next = place.within.or_else(|| self.frame(place.frame).parent);
        }
        None
    }

    /// The tenant that a task is charged to.
    pub fn tenant(&self, task: TaskIx) -> Option<Arc<str>> {
        self.labels(task).tenant
    }
}
