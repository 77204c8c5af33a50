//! What people call outputs, and why one is not there.

use crate::state::{End, State, TaskIx, TaskState};
use convoke_model::Missing;
use std::sync::Arc;

impl State {
    /// Why an output is not there.
    pub(crate) fn absence(&self, task: TaskIx) -> Missing {
        let cause = match self.tasks[task].state {
            TaskState::Ended(End::Failed) => {
                let failure = self.tasks[task].failure.as_deref();
                failure.map_or("failed".to_owned(), |failure| format!("failed: {}", failure.message))
            }
            TaskState::Ended(End::Skipped) => self.with_cause("skipped", task),
            TaskState::Ended(End::Cancelled) => self.with_cause("cancelled", task),
            TaskState::Ended(End::Succeeded) => "empty".to_owned(),
            _ => "late".to_owned(),
        };
        Missing { task: self.tasks[task].id.clone(), cause }
    }

    fn with_cause(&self, word: &str, task: TaskIx) -> String {
        match self.tasks[task].cancelling.as_deref() {
            Some(cause) => format!("{word}: {cause}"),
            None => word.to_owned(),
        }
    }

    /// What people call a source: its title where a merge states one, else its step, with the item's key.
    pub(crate) fn title(&self, task: TaskIx) -> String {
        let (root, key) = self.step_and_key(task);
        let stated = self.index_in(self.tasks[root].place.frame).titles.get(&self.tasks[root].node);
        with_key(stated.unwrap_or(&self.node(root).name), key)
    }

    /// The step of a source, with the item's key.
    pub(crate) fn step_name(&self, task: TaskIx) -> String {
        let (root, key) = self.step_and_key(task);
        with_key(&self.node(root).name, key)
    }

    fn step_and_key(&self, task: TaskIx) -> (TaskIx, Option<Arc<str>>) {
        match (self.tasks[task].place.within, self.tasks[task].place.item) {
            (Some(group), Some(index)) => (group, Some(self.key_of(group, index))),
            // A member that stands for an item has the item's name.
            (Some(item), None) if self.is_group_item(item) => self.step_and_key(item),
            _ => (task, None),
        }
    }

    /// Whether a task is one item of a for_each whose body is a group.
    pub(crate) fn is_group_item(&self, task: TaskIx) -> bool {
        self.tasks[task].place.item.is_some() && self.node(task).kind.is_group()
    }
}

fn with_key(name: &str, key: Option<Arc<str>>) -> String {
    match key {
        Some(key) => format!("{name} [{key}]"),
        None => name.to_owned(),
    }
}
