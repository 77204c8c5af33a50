//! What a run lacks because composite tasks did not come to what was wanted, whatever the workflow made of that.

use crate::composite::goal::NOT_ACHIEVED;
use crate::state::{End, State, TaskIx, TaskState};
use convoke_model::{Class, Failure, counted};

impl State {
    /// Composites that failed or lack something.
    pub(crate) fn unreached(&self) -> Vec<TaskIx> {
        self.tasks.indices().filter(|task| self.falls_short(*task) && self.still_counts(*task)).collect()
    }

    fn falls_short(&self, task: TaskIx) -> bool {
        matches!(self.tasks[task].state, TaskState::Ended(end) if self.would_fall_short(task, end))
    }

    /// Whether the run lacks something if a task ends so.
    pub(crate) fn would_fall_short(&self, task: TaskIx, end: End) -> bool {
        self.own_composite(task).is_some_and(|composite| composite.falls_short(self, task, end))
    }

    /// Whether a task ended well and everything in it was left out.
    pub(crate) fn skipped_all(&self, task: TaskIx) -> bool {
        self.own_composite(task).is_some_and(|composite| composite.skipped_all(self, task))
    }

    /// Why a run is no success although its workflow went on: a goal failed, or left everything out.
    pub(crate) fn what_was_lost(&self) -> Option<Failure> {
        let loss = |task: TaskIx| self.own_composite(task).and_then(|composite| composite.loss(self, task));
        let lost: Vec<String> = self.unreached().into_iter().filter_map(loss).collect();
        let message = match lost.as_slice() {
            [] => return None,
            [only] => only.clone(),
            [first, rest @ ..] => {
                format!("{first} (and {} more)", counted(rest.len() as u32, "goal", "goals"))
            }
        };
        Some(Failure::new(Class::InvalidOutput, message).reason(NOT_ACHIEVED))
    }

    /// Whether what a task came to is still part of what the run came to: no later visit of its step took its place,
    /// and no later attempt of a sub-workflow around it.
    pub(crate) fn still_counts(&self, task: TaskIx) -> bool {
        let frame = self.tasks[task].place.frame;
        let within = |task: &TaskIx| self.tasks[*task].place.within;
        let step = std::iter::successors(Some(task), within).last().unwrap_or(task);
        let later = |other: &TaskIx| *other > step && self.tasks[*other].node == self.tasks[step].node;
        let is_current =
            |parent: TaskIx| self.tasks[parent].frame == Some(frame) && self.still_counts(parent);
        !self.frame(frame).steps.iter().any(later) && self.frame(frame).parent.is_none_or(is_current)
    }
}
