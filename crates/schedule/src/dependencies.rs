//! The block that shows an agent what the steps it needs have produced.
//!
//! In the order of its needs, items in the order of their list, so that the same outputs give the same prompt. Large
//! outputs are shown by their head, size and address; nothing is cut without saying where the rest is.

use crate::outputs::Outputs;
use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use std::fmt::Write;

/// All outputs of one block together take at most as many tokens as this many of them would.
const WHOLE_OUTPUTS: u64 = 16;

impl Scheduler {
    /// The block behind an agent's prompt; empty where it needs nothing.
    pub(crate) fn dependency_block(&self, task: TaskIx, tokens: u64, outputs: &dyn Outputs) -> String {
        let place = self.tasks[task].place;
        let needs = self.node(task).needs.iter().filter(|need| !need.order);
        let needs = needs.filter_map(|need| self.beside(place, need.node));
        let mut sources = Vec::new();
        needs.for_each(|need| self.add_members(need, &mut sources));
        if sources.is_empty() {
            return String::new();
        }
        let each = (tokens * WHOLE_OUTPUTS / sources.len() as u64).clamp(50, tokens);
        let mut block = "## DEPENDENCY OUTPUTS\n".to_owned();
        for source in sources {
            let title = self.title(source, None);
            let text = match self.tasks[source].succeeded() {
                true => self.shown(source, each, outputs),
                false => format!("(no output: {})", self.absence(source).cause),
            };
            let _ = write!(block, "\n### {title}\n\n{text}\n");
        }
        block
    }

    fn add_members(&self, task: TaskIx, found: &mut Vec<TaskIx>) {
        match self.tasks[task].group.as_deref().filter(|_| self.node(task).kind.is_group()) {
            Some(group) => group.members.iter().for_each(|member| self.add_members(*member, found)),
            None => found.push(task),
        }
    }
}
