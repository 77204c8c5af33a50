//! Intermediate results of merges that take outputs as they arrive.
//!
//! A fold like the others: the newest answer to a question of such a merge is its text until the next one. Texts stay
//! payloads here, large ones by address; [`read_heads`](PartialMerges::read_heads) reads how they begin. What a merge has come to is kept
//! when it fails, because then it is all there is, and dropped when the task has an output of its own.

use convoke_model::excerpt::{one_line, within};
use convoke_model::synthesis::{bare, readable};
use convoke_model::{Event, JsonText, MergeStrategy, Payload, Stamped, TaskId};
use std::collections::HashMap;

/// Characters of a text's beginning.
const HEAD: usize = 120;

/// Every merge that goes on as outputs arrive.
#[derive(Debug, Clone, Default)]
pub struct PartialMerges(HashMap<TaskId, PartialMerge>);

/// What one of them has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartialMerge {
    /// Questions that were answered.
    pub merges: u32,
    /// The newest answer.
    pub text: Option<Payload>,
    /// How it begins, once it was read.
    pub head: Option<String>,
}

impl PartialMerges {
    /// All of them after these events.
    pub fn of(events: &[Stamped]) -> PartialMerges {
        let mut partial_merges = PartialMerges::default();
        events.iter().for_each(|stamped| partial_merges.apply(&stamped.event));
        partial_merges
    }

    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::MergeStarted { task, strategy: MergeStrategy::Progressive, .. } => {
                self.0.entry(task.clone()).or_default();
            }
            Event::AttemptFinished { task, output, .. } => self.answered(task, output),
            Event::TaskSucceeded { task, .. } => drop(self.0.remove(task)),
            Event::RunReopened(reopened) => {
                self.forget(reopened.tasks.iter().chain(&reopened.restarted));
            }
            Event::PlanChanged(changed) => self.forget(changed.dropped.iter()),
            Event::RunForked(forked) => self.forget(forked.change.dropped.iter()),
            _ => {}
        }
    }

    fn answered(&mut self, question: &TaskId, answer: &Payload) {
        if let Some(grown) = self.asker(question).and_then(|task| self.0.get_mut(&task)) {
            *grown = PartialMerge { merges: grown.merges + 1, text: Some(answer.clone()), head: None };
        }
    }

    fn forget<'a>(&mut self, tasks: impl Iterator<Item = &'a TaskId>) {
        tasks.for_each(|task| drop(self.0.remove(task)));
    }

    /// The merge that a task is a question of.
    pub fn asker(&self, question: &TaskId) -> Option<TaskId> {
        question.parent().filter(|task| self.0.contains_key(task))
    }

    /// What a task's merge has come to, if there is a text.
    pub fn get(&self, task: &TaskId) -> Option<&PartialMerge> {
        self.0.get(task).filter(|so_far| so_far.text.is_some())
    }

    /// Reads the beginning of every text whose beginning is not known.
    pub fn read_heads(&mut self, read: &dyn Fn(&Payload) -> Option<JsonText>) {
        for so_far in self.0.values_mut().filter(|so_far| so_far.head.is_none()) {
            so_far.head = so_far.text.as_ref().and_then(read).map(|text| head(&text));
        }
    }
}

/// The beginning of an answer, on one line.
fn head(text: &JsonText) -> String {
    within(&one_line(&readable(&bare(text.value()))), HEAD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Usage;
    use convoke_testkit::events::{id, stamp};
    use serde_json::json;

    fn began(task: &str, strategy: MergeStrategy, closed: bool) -> Event {
        let (sources, missing) = (Vec::new(), Vec::new());
        Event::MergeStarted { task: id(task), strategy, sources, missing, closed }
    }

    fn said(task: &str, words: &str) -> Event {
        let output = Payload::Inline(JsonText::of(&json!({ "result": words })));
        Event::AttemptFinished { task: id(task), attempt: 1, output, usage: Usage::default() }
    }

    fn inline(payload: &Payload) -> Option<JsonText> {
        match payload {
            Payload::Inline(text) => Some(text.clone()),
            _ => None,
        }
    }

    #[test]
    fn the_newest_answer_is_the_text_until_the_task_has_an_output() {
        let mut events = vec![
            began("s", MergeStrategy::Progressive, false),
            said("other", "no part of it"),
            said("s/merge[1]", "one"),
            began("s", MergeStrategy::Progressive, true),
            said("s/merge[2]", &format!("one\n\ntwo {}", "x".repeat(1_000))),
        ];
        let mut partial_merges = PartialMerges::of(&stamp(events.clone()));
        partial_merges.read_heads(&inline);
        let so_far = partial_merges.get(&id("s")).unwrap();
        let head = so_far.head.as_deref().unwrap();
        assert_eq!((so_far.merges, head.chars().count()), (2, HEAD));
        assert!(head.starts_with("one two xxx") && head.ends_with('…'), "{head}");
        assert_eq!(partial_merges.get(&id("other")), None);
        events.push(Event::TaskSucceeded { task: id("s"), output: Payload::Gathered });
        assert_eq!(PartialMerges::of(&stamp(events)).get(&id("s")), None);
    }

    #[test]
    fn a_merge_by_levels_has_no_text_before_its_end() {
        let partial_merges = PartialMerges::of(&stamp(vec![
            began("s", MergeStrategy::Hierarchical, true),
            said("s/merge[1.0]", "part"),
        ]));
        assert_eq!(partial_merges.get(&id("s")), None);
    }
}
