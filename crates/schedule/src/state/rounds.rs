//! Rounds: phases that an edge leads back to run again, each round a phase of its own.
//!
//! To texts, to what is handed on and in the result the rounds of a phase are one phase, of which the last that ran counts.
//! Rounds follow one another, so the last is also the newest. A failure that led back is answered by the round that it began.

use super::{State, TaskIx};
use convoke_plan::NodeIx;
use std::sync::Arc;

impl State {
    /// The node as written whose round a task is.
    pub(crate) fn first_round(&self, task: TaskIx) -> NodeIx {
        self.node(task).round().map_or(self.tasks[task].node, |round| round.of)
    }

    /// Which round of its phase a task is, from 1.
    pub(crate) fn round(&self, task: TaskIx) -> u32 {
        self.node(task).round().map_or(1, |round| round.number)
    }

    /// The name of a step as written, whichever round it is.
    pub(crate) fn called(&self, task: TaskIx) -> Arc<str> {
        self.workflow_of(task).node(self.first_round(task)).name.clone()
    }

    /// Whether a phase can have more than one round.
    pub(crate) fn has_rounds(&self, task: TaskIx) -> bool {
        self.index_in(self.tasks[task].place.frame).rounds.contains_key(&self.first_round(task))
    }

    /// The rounds of a phase that ran, in order.
    pub(crate) fn rounds_ran(&self, task: TaskIx) -> Vec<TaskIx> {
        let (place, first) = (self.tasks[task].place, self.first_round(task));
        let further = self.index_in(place.frame).rounds.get(&first);
        let rounds = std::iter::once(&first).chain(further.into_iter().flatten());
        let tasks = rounds.filter_map(|node| self.beside(place, *node));
        tasks.filter(|round| self.status_of(*round).is_some()).collect()
    }

    /// The last round of a phase that ran; the task itself where none did.
    pub(crate) fn newest_round(&self, task: TaskIx) -> TaskIx {
        if !self.has_rounds(task) {
            return task;
        }
        self.rounds_ran(task).last().copied().unwrap_or(task)
    }

    /// Whether a later round stands for what a phase came to: it ran again, or an edge led back from it.
    pub(crate) fn is_made_good(&self, phase: TaskIx, ran: &[TaskIx]) -> bool {
        let led_back = |later: &TaskIx| {
            let phase_state = self.tasks[*later].phase_state.as_ref();
            let from = phase_state.and_then(|phase_state| phase_state.started.as_ref());
            self.round(*later) > self.round(phase) && from.is_some_and(|from| from.contains(&phase))
        };
        self.has_rounds(phase)
            && (self.round(self.newest_round(phase)) > self.round(phase) || ran.iter().any(led_back))
    }
}
