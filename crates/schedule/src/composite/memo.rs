//! What composites remember between two looks, so that a look costs what has changed and not what there is.
//!
//! A cache: a composite that finds nothing here looks at everything and decides the same.

use crate::state::{State, TaskIx};
use convoke_model::hash::HashMap;
use std::any::Any;
use std::cell::RefCell;

/// What is remembered, by task.
#[derive(Default)]
pub(crate) struct Memos(RefCell<HashMap<TaskIx, Box<dyn Any + Send>>>);

impl State {
    /// Takes what was remembered of a task.
    pub fn take_memo<T: Any>(&self, task: TaskIx) -> Option<T> {
        let memo = self.memos.0.borrow_mut().remove(&task)?;
        memo.downcast().ok().map(|memo| *memo)
    }

    /// Remembers something of a task, until it is taken.
    pub fn keep_memo<T: Any + Send>(&self, task: TaskIx, memo: T) {
        self.memos.0.borrow_mut().insert(task, Box::new(memo));
    }

    pub(crate) fn has_memo(&self, task: TaskIx) -> bool {
        self.memos.0.borrow().contains_key(&task)
    }

    pub(crate) fn forget(&self, task: TaskIx) {
        self.memos.0.borrow_mut().remove(&task);
    }
}
