//! A copied history goes on in a run of its own.
//!
//! Attempts that ran in the other run do not run here: their tasks are open again, each with the conversation that it has on
//! record. Nothing about their outcome is unknown to this run, which never began them.

use super::Folded;
use crate::state::{State, TaskState};
use convoke_model::RunForked;

impl State {
    pub(super) fn run_forked(&mut self, forked: &RunForked) -> Folded {
        self.restarted(&forked.change.dropped);
        self.phases_superseded(&forked.change.superseded);
        self.given.extend(forked.set.iter().map(|set| (set.task.clone(), set.output.clone())));
        // Workspaces are the other run's.
        self.workspaces.clear();
        for task in self.tasks.indices() {
            // A command that goes on without an engine belongs to the other run.
            self.tasks[task].detached = false;
            let runs = self.tasks[task].state == TaskState::Running;
            if runs || self.tasks[task].outcome_unknown {
                self.running -= u32::from(runs);
                self.tasks[task].outcome_unknown = false;
                self.make_ready(task);
            }
        }
        self.reopened(&[], &[])
    }
}
