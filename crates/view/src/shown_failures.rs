//! Failures that were printed already, so that a failure caused by one of them refers to it and does not repeat it.
//!
//! Groups, sub-workflows, goals and the run fail in the words of what failed inside them: their message quotes the
//! member's, behind the member's name. Where the member's own line was printed with all its words, the quote gives way to
//! a reference and the name stays. Which lines are printed is the printer's business; only lines that were are told here.

use convoke_model::TaskId;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The reference that stands for words that were printed before.
pub const ABOVE: &str = " (see above)";

/// The failures that were told, by task.
#[derive(Debug, Clone, Default)]
pub struct ShownFailures {
    /// In the order of paths: what stands below a task comes right behind it.
    failed: BTreeMap<Arc<str>, String>,
    /// The task that told these words first.
    first: HashMap<String, TaskId>,
    /// The words of a task's last failed attempt.
    attempts: HashMap<TaskId, String>,
}

impl ShownFailures {
    /// A line told that a task failed. It has the first line of the message; what has more lines is not told yet.
    pub fn tell(&mut self, task: &TaskId, message: &str) {
        let message = message.trim_end();
        if !message.is_empty() && !message.contains('\n') {
            self.failed.insert(task.0.clone(), message.to_owned());
            self.first.entry(message.to_owned()).or_insert_with(|| task.clone());
        }
    }

    /// Another task whose failure was told in the same words: items of a fan-out often fail alike.
    pub fn alike(&self, task: &TaskId, message: &str) -> Option<&TaskId> {
        self.teller(message).filter(|first| *first != task)
    }

    /// The task whose failure was told in just these words.
    pub fn teller(&self, message: &str) -> Option<&TaskId> {
        self.first.get(message.trim_end())
    }

    /// A line told of a failed attempt.
    pub fn tell_attempt(&mut self, task: &TaskId, message: &str) {
        self.attempts.insert(task.clone(), message.to_owned());
    }

    /// Whether the last failed attempt of a task was told in the same words.
    pub fn is_as_before(&self, task: &TaskId, message: &str) -> bool {
        self.attempts.get(task).is_some_and(|before| before == message)
    }

    /// A message of a task, or of the run, in which words that were told of what lies below give way to a reference.
    /// Empty if it has no words of its own.
    pub fn refer<'m>(&self, above: Option<&TaskId>, message: &'m str, reference: &str) -> Cow<'m, str> {
        let mut words: Vec<&str> = self.below(above).collect();
        // The words of a group hold those of its members.
        words.sort_unstable_by_key(|words| std::cmp::Reverse(words.len()));
        words.dedup();
        let mut message = Cow::Borrowed(message);
        for words in words {
            if message.trim_end() == words {
                return Cow::Borrowed("");
            }
            if let Some(shorter) = without(&message, words, reference) {
                message = Cow::Owned(shorter);
            }
        }
        message
    }

    fn below<'a>(&'a self, above: Option<&'a TaskId>) -> impl Iterator<Item = &'a str> {
        let start = above.map_or("", |above| &*above.0);
        let from = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        let near = self.failed.range::<str, _>(from).take_while(move |(task, _)| task.starts_with(start));
        let is_below = move |task: &str| above.is_none() || task[start.len()..].starts_with(['/', '[']);
        near.filter(move |(task, _)| is_below(task)).map(|(_, words)| words.as_str())
    }
}

/// The message with each quote `: WORDS` replaced, if it has one.
fn without(message: &str, words: &str, reference: &str) -> Option<String> {
    let quote = format!(": {words}");
    let mut kept = String::new();
    let mut rest = message;
    let mut found = false;
    while let Some(at) = rest.find(&quote) {
        let (before, after) = (&rest[..at], &rest[at + quote.len()..]);
        // A quote ends where the message does, or before the next one.
        let is_whole = after.is_empty() || after.starts_with(';');
        kept.push_str(before);
        kept.push_str(if is_whole { reference } else { &quote });
        found |= is_whole;
        rest = after;
    }
    kept.push_str(rest);
    found.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str) -> TaskId {
        TaskId(id.into())
    }

    fn told(failures: &[(&str, &str)]) -> ShownFailures {
        let mut told = ShownFailures::default();
        failures.iter().for_each(|(id, words)| told.tell(&task(id), words));
        told
    }

    #[test]
    fn a_group_names_the_member_whose_failure_was_told() {
        let told = told(&[("s/g/worse", "a disk melted")]);
        let group = "group `g` failed: 2 of 3 failed; `worse`: a disk melted; `bad`: too slow";
        let short = "group `g` failed: 2 of 3 failed; `worse` (see above); `bad`: too slow";
        assert_eq!(told.refer(Some(&task("s/g")), group, ABOVE), short);
        assert_eq!(told.refer(None, "a disk melted", ABOVE), "");
        assert_eq!(
            told.refer(None, "sub-workflow step `s` failed: a disk melted", ABOVE),
            "sub-workflow step `s` failed (see above)"
        );
    }

    #[test]
    fn what_was_told_elsewhere_or_in_part_is_told_again() {
        let told = told(&[("other/a", "too slow"), ("g/b", "one\ntwo"), ("gg/c", "too slow")]);
        let message = "group `g` failed; `a`: too slow; `b`: one\ntwo";
        assert_eq!(told.refer(Some(&task("g")), message, ABOVE), message);
    }

    #[test]
    fn words_that_only_begin_alike_stay() {
        let told = told(&[("g/a", "no")]);
        let message = "group `g` failed; `a`: no answer; `b`: none";
        assert_eq!(told.refer(Some(&task("g")), message, ABOVE), message);
    }

    #[test]
    fn an_attempt_that_fails_as_the_one_before_is_known() {
        let mut told = ShownFailures::default();
        assert!(!told.is_as_before(&task("a"), "slow"));
        told.tell_attempt(&task("a"), "slow");
        assert!(told.is_as_before(&task("a"), "slow"));
        assert!(!told.is_as_before(&task("a"), "broken") && !told.is_as_before(&task("b"), "slow"));
    }
}
