//! A core that takes the place of one that is gone while the attempts of its run go on: on a cluster, each turn may find itself in
//! another process.
//!
//! The events are folded as ever. No event says which attempt holds which permit: running attempts hold theirs again before anything
//! else is granted.

use super::{Core, Next, Precedence};
use convoke_model::Timestamp;
use convoke_schedule::{TaskIx, TaskState};

impl Core {
    /// Has the attempts that run hold their permits. One whose permit is not to be had any more (a limit was lowered meanwhile) goes on
    /// without, and gives nothing back.
    pub fn hold_running(&mut self, now: Timestamp) {
        let is_running = |task: &TaskIx| self.scheduler.state(*task) == TaskState::Running;
        let running: Vec<TaskIx> = self.scheduler.tasks().filter(is_running).collect();
        for task in &running {
            self.unheld.insert(*task);
            self.permits.pay(*task, &self.scheduler);
            let (of, order) = self.scheduler.priority_in_goal(*task).unwrap_or((*task, 0));
            let path = self.permits.paths.of(of, &self.scheduler);
            let precedence = Precedence { labels: self.scheduler.labels(*task), path, order };
            // What can never be had is not held.
            self.permits.demand(*task, self.scheduler.node(*task), precedence, now).ok();
        }
        // Nobody else asks yet, so nothing that these effects ask for is needed: the attempts have what they were launched with.
        let mut effects = Vec::new();
        while let Next::Start(task) = self.permits.admit(now, &mut effects) {
            self.unheld.remove(&task);
            self.permits.paths.begin(task, now);
            let (node, agent) = (self.scheduler.node(task), self.scheduler.agent_of(task));
            self.permits.terms(task, node, agent, now, &mut effects);
        }
        for task in running.iter().filter(|task| self.unheld.contains(task)) {
            self.permits.withdraw(*task);
        }
    }
}
