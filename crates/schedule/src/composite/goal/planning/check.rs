//! Whether proposed tasks can be taken, given the tasks that are there already.
//!
//! The rules of a plan by itself are `convoke_plan::goal_plan`'s. Here are those that need to know how earlier tasks ended and what
//! is being split. Invariant: what [`check`] accepts has no circle, no duplicate and no input without a result.

use crate::state::End;
use convoke_model::hash::{HashMap, HashSet};
use convoke_plan::goal_plan::{Draft, Proposal, Terms, same_words, violations};

/// Tasks that are there already: how each ended, and what it was to do.
#[derive(Debug, Default)]
pub(crate) struct Known {
    ends: HashMap<String, Option<End>>,
    described: HashMap<String, String>,
    /// Names of new tasks stand before theirs.
    yields: bool,
    /// What is being taken apart, and what that is a part of: its words, its name.
    wholes: Vec<(String, String)>,
}

impl Known {
    /// What a task builds on, for its parts. The role `decompose` may name these in any way: no part can be mistaken.
    pub fn built_on<'i>(ids: impl Iterator<Item = &'i str>) -> Known {
        let ends = ids.map(|id| (id.to_owned(), Some(End::Succeeded))).collect();
        Known { ends, yields: true, ..Known::default() }
    }

    /// A task that is being taken apart, or of which such a task is a part: none of its parts is the task itself.
    pub fn split(&mut self, id: &str, description: &str) {
        self.wholes.push((same_words(description), id.to_owned()));
    }

    pub fn add(&mut self, id: &str, description: &str, end: Option<End>) {
        self.ends.insert(id.to_owned(), end);
        self.described.insert(same_words(description), id.to_owned());
    }
}

/// Whether a proposal can be taken as it stands; else what is wrong with it, for its author.
///
/// An id that could mean two tasks is told before the circle that one of its meanings makes.
pub(crate) fn check(proposal: &Proposal, terms: &Terms, known: &Known) -> Result<(), String> {
    let tasks = proposal.tasks.as_slice();
    let new: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    for task in tasks {
        check_inputs(task, &new, known)?;
        check_replaced(task, known)?;
        check_smaller(task, known)?;
    }
    match violations(tasks, terms, &|id| known.ends.contains_key(id)).first() {
        Some(violation) => Err(violation.told(tasks)),
        None => Ok(()),
    }
}

/// An input that is there already has a result, and no new task has its name.
fn check_inputs(task: &Draft, new: &HashSet<&str>, known: &Known) -> Result<(), String> {
    let id = &task.id;
    for input in task.inputs.iter().filter(|input| *input != id) {
        let Some(end) = known.ends.get(input) else { continue };
        match (new.contains(input.as_str()), end) {
            (true, _) if known.yields => {}
            (true, _) => {
                let which = "a new task has the id of an existing one, so the id is ambiguous";
                return Err(format!("task `{id}` needs `{input}`: {which}"));
            }
            (false, Some(End::Succeeded)) => {}
            (false, _) => return Err(format!("task `{id}` needs `{input}`, which has no result")),
        }
    }
    Ok(())
}

/// What a task makes up for has no result; and no task does what another did, or failed at, unless it stands for it.
fn check_replaced(task: &Draft, known: &Known) -> Result<(), String> {
    let id = &task.id;
    for replaced in &task.replaces {
        if let Some(None | Some(End::Succeeded)) = known.ends.get(replaced) {
            return Err(format!("task `{id}` replaces `{replaced}`, which was done"));
        }
    }
    match known.described.get(&same_words(&task.description)) {
        Some(same) if !task.replaces.contains(same) => {
            let hint = match known.ends.get(same) {
                Some(Some(End::Succeeded)) => "its result can be an input",
                _ => "what makes up for a task names it in `replaces`",
            };
            Err(format!("task `{id}` is the same as task `{same}`, which is there already; {hint}"))
        }
        _ => Ok(()),
    }
}

/// A part is less than the task that it is a part of: the same words again would be split for ever.
fn check_smaller(task: &Draft, known: &Known) -> Result<(), String> {
    let words = same_words(&task.description);
    match known.wholes.iter().find(|(whole, _)| *whole == words) {
        Some((_, id)) => Err(format!(
            "task `{}` is task `{id}` itself, which is to be split: each part must be less",
            task.id
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
