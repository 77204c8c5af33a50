//! The rules between the tasks of a plan: how many, names, what they refer to, reasons, and that no task waits for itself.
//!
//! Pure, and linear in what was proposed: a plan of ten thousand tasks is checked as readily as one of three. Every violation is
//! found. The first is the one to tell where only one is told.

use super::proposal::Draft;
use crate::graph::circles;
use convoke_model::hash::HashMap;

/// What a plan must keep to.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Tasks at most.
    pub most: u32,
    /// The bound that sets this limit, and the number of tasks that it allows in all.
    pub because: (&'static str, u32),
    /// From here on, in percent, a reason to skip is demanded.
    pub skip_threshold: u8,
    /// A person has written or approved the plan, and answers for its reasons.
    pub vouched: bool,
}

impl Terms {
    /// What a person's plan must keep to, before there are any tasks.
    pub fn for_a_person(max_tasks: u32, skip_threshold: u8) -> Terms {
        Terms { most: max_tasks, because: ("max_tasks", max_tasks), skip_threshold, vouched: true }
    }
}

/// A rule that a plan breaks. Tasks go by their place in the plan, from 0 on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Violation {
    NoTasks,
    /// There are more tasks than may be made; `because` is as in [`Terms`].
    TooMany {
        count: usize,
        most: u32,
        because: (&'static str, u32),
    },
    SameId {
        first: usize,
        second: usize,
    },
    SameDescription {
        first: usize,
        second: usize,
    },
    /// A task needs a task that there is not.
    UnknownInput {
        task: usize,
        input: String,
    },
    /// A task makes up for a task that there is not.
    UnknownReplaced {
        task: usize,
        replaced: String,
    },
    /// A task is to be skipped, and does not say why.
    UnfoundedSkip {
        task: usize,
    },
    /// Each of these tasks needs the next, and the last needs the first.
    Circle {
        tasks: Vec<usize>,
    },
}

/// The rules that these tasks break. `is_known` says which tasks are there already, by name.
pub fn violations(tasks: &[Draft], terms: &Terms, is_known: &dyn Fn(&str) -> bool) -> Vec<Violation> {
    let mut found: Vec<Violation> = rules_of_number(tasks.len(), terms).into_iter().collect();
    found.extend(rules_between(tasks, terms, is_known));
    found
}

/// Whether there are too few tasks, or too many.
pub fn rules_of_number(count: usize, terms: &Terms) -> Option<Violation> {
    match count {
        0 => Some(Violation::NoTasks),
        _ if count as u64 > u64::from(terms.most) => {
            Some(Violation::TooMany { count, most: terms.most, because: terms.because })
        }
        _ => None,
    }
}

/// The rules that do not count tasks.
pub fn rules_between(tasks: &[Draft], terms: &Terms, is_known: &dyn Fn(&str) -> bool) -> Vec<Violation> {
    let mut places: HashMap<&str, usize> = HashMap::default();
    let mut found = Vec::new();
    for (second, task) in tasks.iter().enumerate() {
        let first = *places.entry(task.id.as_str()).or_insert(second);
        found.extend((first != second).then_some(Violation::SameId { first, second }));
    }
    found.extend(same_descriptions(tasks));
    for (place, task) in tasks.iter().enumerate() {
        let unknown_input = |input: &&String| !places.contains_key(input.as_str()) && !is_known(input);
        let inputs = task.inputs.iter().filter(unknown_input);
        found.extend(inputs.map(|input| Violation::UnknownInput { task: place, input: input.clone() }));
        let replaced = task.replaces.iter().filter(|replaced| !is_known(replaced));
        found.extend(
            replaced.map(|replaced| Violation::UnknownReplaced { task: place, replaced: replaced.clone() }),
        );
        found.extend(is_unfounded(task, terms).then_some(Violation::UnfoundedSkip { task: place }));
    }
    let needed = |place: usize| -> Vec<usize> {
        tasks[place].inputs.iter().filter_map(|input| places.get(input.as_str()).copied()).collect()
    };
    found.extend(circles(tasks.len(), &needed).into_iter().map(|tasks| Violation::Circle { tasks }));
    found
}

fn same_descriptions(tasks: &[Draft]) -> Vec<Violation> {
    let mut described: HashMap<String, usize> = HashMap::default();
    let mut found = Vec::new();
    // A task without a description could not be read, and says nothing twice.
    for (second, task) in tasks.iter().enumerate().filter(|(_, task)| !task.description.is_empty()) {
        let first = *described.entry(same_words(&task.description)).or_insert(second);
        found.extend((first != second).then_some(Violation::SameDescription { first, second }));
    }
    found
}

/// Two descriptions that differ in nothing else are the same task.
pub fn same_words(description: &str) -> String {
    description.trim().to_lowercase()
}

fn is_unfounded(task: &Draft, terms: &Terms) -> bool {
    let reason = task.skip_reason.trim();
    let is_told = if terms.vouched { !reason.is_empty() } else { says_something(reason) };
    task.skip_probability >= terms.skip_threshold && !is_told
}

/// Words that stand where a reason should.
const EMPTY_WORDS: [&str; 12] = [
    "n/a",
    "na",
    "none",
    "no",
    "nil",
    "null",
    "nothing",
    "unknown",
    "skip",
    "skipped",
    "no reason",
    "not possible",
];

/// Whether words name something that can be looked up: more than a letter, and no word for nothing.
pub fn says_something(reason: &str) -> bool {
    let bare = reason.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    bare.chars().filter(|letter| letter.is_alphanumeric()).nth(1).is_some()
        && !EMPTY_WORDS.contains(&bare.as_str())
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
