//! Where a task came from: needs, routes taken, enclosing groups. All that its context is made of.

use crate::state::{End, State, TaskIx, TaskState};
use convoke_model::hash::HashSet;
use convoke_plan::{ContextMode, NodeIx};
use std::collections::BinaryHeap;

impl State {
    /// The tasks that one follows, as far as that is decided: its needs that have ended, the one whose route led to it, and the
    /// outputs that it merges.
    pub fn follows(&self, task: TaskIx) -> Vec<TaskIx> {
        let merged = self.tasks[task].merging.iter().flat_map(|merging| merging.sources.iter().copied());
        self.tasks[task].from.iter().copied().chain(merged).collect()
    }

    /// The steps that a task sees, oldest first.
    pub(crate) fn visible(&self, task: TaskIx, mode: ContextMode) -> Vec<TaskIx> {
        match mode {
            ContextMode::LastOnly => self.tasks[task].from.to_vec(),
            _ => self.ancestors(task),
        }
    }

    pub(crate) fn predecessor(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        self.tasks[task].from.iter().copied().find(|from| self.first_round(*from) == node)
    }

    /// The newest ancestor that is an instance of a node.
    pub(crate) fn ancestor_of(&self, task: TaskIx, node: NodeIx) -> Option<TaskIx> {
        let mut next = self.heap_of(task);
        let mut seen = HashSet::default();
        while let Some((_, step)) = next.pop() {
            if self.first_round(step) == node && self.is_shown(step) {
                return Some(step);
            }
            for from in self.tasks[step].from.iter().copied() {
                if next.is_empty() || seen.insert(from) {
                    next.push((self.tasks[from].ended, from));
                }
            }
        }
        None
    }

    pub(crate) fn heap_of(&self, task: TaskIx) -> BinaryHeap<(u32, TaskIx)> {
        self.tasks[task].from.iter().map(|from| (self.tasks[*from].ended, *from)).collect()
    }

    /// All ancestors, oldest first.
    pub(crate) fn ancestors(&self, task: TaskIx) -> Vec<TaskIx> {
        let mut seen: HashSet<TaskIx> = self.tasks[task].from.iter().copied().collect();
        let mut next: Vec<TaskIx> = seen.iter().copied().collect();
        while let Some(step) = next.pop() {
            next.extend(self.tasks[step].from.iter().copied().filter(|from| seen.insert(*from)));
        }
        let mut all: Vec<_> = seen.into_iter().filter(|step| self.is_shown(*step)).collect();
        all.sort_by_key(|step| self.tasks[*step].ended);
        all
    }

    pub(crate) fn is_shown(&self, step: TaskIx) -> bool {
        matches!(self.tasks[step].state, TaskState::Ended(End::Succeeded | End::Failed))
    }

    pub(crate) fn lineage(&self, task: TaskIx, itself: bool) -> Vec<TaskIx> {
        let mut steps = self.ancestors(task);
        steps.extend(itself.then_some(task));
        steps.retain(|step| self.tasks[*step].succeeded());
        steps
    }
}
