//! The end of a run: its answer, and the tasks that it was waited for.

use super::state::Task;
use super::{Projector, names};
use crate::vocab::{cv, prov};
use convoke_model::{Payload, RunStatus, Timestamp};
use std::collections::HashSet;

impl Projector {
    pub(super) fn run_finished(&mut self, status: RunStatus, output: Option<&Payload>, at: Timestamp) {
        let me = self.names.run();
        self.quads.moment(&me, prov("endedAtTime"), at);
        self.quads.add(&me, cv("status"), cv(&word_of(status)));
        self.quads.number(&me, "tasksEnded", self.ended);
        self.quads.number(&me, "tasksFailed", self.failed);
        if let Some(output) = output {
            let answer = names::part(&me, "answer");
            self.quads.class(&answer, "Answer");
            self.quads.add(&answer, prov("wasGeneratedBy"), me.clone());
            self.content(&answer, "content", output);
            for task in self.last_results() {
                let result = names::part(&self.task(&task), "result");
                self.quads.add(&answer, prov("wasDerivedFrom"), result);
            }
        }
        self.critical_path();
    }

    /// Results that went into no other one.
    fn last_results(&self) -> Vec<String> {
        let used: HashSet<&String> = self.tasks.values().flat_map(|task| &task.sources).collect();
        let is_last = |(id, task): &(&String, &Task)| {
            task.ended.is_some() && !used.contains(id) && !id.contains(['/', '['])
        };
        self.tasks.iter().filter(is_last).map(|(id, _)| id.clone()).collect()
    }

    /// From the task that ended last, always to what ended last of what it waited for.
    fn critical_path(&mut self) {
        let ended = |id: &String| self.tasks.get(id).and_then(|task| task.ended);
        let top = self.tasks.keys().filter(|id| !id.contains(['/', '[']) && ended(id).is_some());
        let Some(mut here) = top.max_by_key(|id| (ended(id), (*id).clone())) else { return };
        let mut path = vec![here.clone()];
        let mut seen = HashSet::from([here]);
        while let Some(task) = self.tasks.get(here) {
            let before = task.before.iter().chain(&task.sources).filter(|id| ended(id).is_some());
            let Some(next) = before.max_by_key(|id| (ended(id), (*id).clone())) else { break };
            if !seen.insert(next) {
                break;
            }
            here = next;
            path.push(here.clone());
        }
        let me = self.names.run();
        self.quads.number(&me, "criticalPathLength", path.len() as u64);
        for (place, task) in path.iter().rev().enumerate() {
            let task = self.task(task);
            self.quads.number(&task, "criticalStep", place as u64 + 1);
        }
    }
}

/// The name of a status: `skipped_all` is `cv:SkippedAll`.
fn word_of(status: RunStatus) -> String {
    let big = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    status.word().split('_').map(big).collect()
}
