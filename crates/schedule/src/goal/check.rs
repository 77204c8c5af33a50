//! Whether proposed tasks can be taken: names, what they refer to, how many they are, and that nobody waits for itself.
//!
//! Pure, and linear in what was proposed: a plan of ten thousand tasks is checked as readily as one of three. Invariant:
//! what [`Proposal::check`] accepts has no circle, no duplicate and no unknown input.

use super::proposal::{Draft, Proposal};
use std::collections::{HashMap, HashSet};

/// Names of a circle that are told; a longer one is told by its ends.
const TOLD: usize = 12;

/// What a proposal must keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// Tasks at most.
    pub most: u32,
    /// What sets that limit, in words.
    pub because: &'a str,
    /// Tasks that are there already and may be referred to.
    pub known: &'a [String],
    /// From here on, in percent, a reason to skip is demanded.
    pub skip_threshold: u8,
}

impl Proposal {
    /// Whether it can be taken as it stands; else what is wrong with it, for its author.
    pub fn check(&self, terms: Terms<'_>) -> Result<(), String> {
        if self.tasks.is_empty() {
            return Err("there must be at least one task".into());
        }
        if self.tasks.len() as u64 > u64::from(terms.most) {
            let (count, most, because) = (self.tasks.len(), terms.most, terms.because);
            return Err(format!("there are {count} tasks, and at most {most} are allowed ({because})"));
        }
        let places = self.places()?;
        self.check_descriptions()?;
        let known: HashSet<&str> = terms.known.iter().map(String::as_str).collect();
        for task in &self.tasks {
            check_task(task, terms.skip_threshold, &places, &known)?;
        }
        match circle(&self.tasks, &places) {
            Some(circle) => Err(format!("the inputs go round in a circle: {}", told(&circle))),
            None => Ok(()),
        }
    }

    /// Where each task stands, by its author's name for it.
    fn places(&self) -> Result<HashMap<&str, usize>, String> {
        let mut places = HashMap::new();
        for (place, task) in self.tasks.iter().enumerate() {
            if places.insert(task.id.as_str(), place).is_some() {
                return Err(format!("two tasks have the id `{}`", task.id));
            }
        }
        Ok(places)
    }

    fn check_descriptions(&self) -> Result<(), String> {
        let mut described = HashSet::new();
        match self.tasks.iter().find(|task| !described.insert(task.description.trim().to_lowercase())) {
            Some(again) => Err(format!("two tasks are the same: `{}`", again.description.trim())),
            None => Ok(()),
        }
    }
}

fn check_task(
    task: &Draft,
    skip_threshold: u8,
    places: &HashMap<&str, usize>,
    known: &HashSet<&str>,
) -> Result<(), String> {
    let id = &task.id;
    if task.inputs.contains(id) {
        return Err(format!("task `{id}` waits for itself"));
    }
    let is_there = |id: &str| places.contains_key(id) || known.contains(id);
    if let Some(input) = task.inputs.iter().find(|input| !is_there(input)) {
        return Err(format!("task `{id}` needs `{input}`, and there is no such task"));
    }
    if let Some(unknown) = task.replaces.iter().find(|id| !known.contains(id.as_str())) {
        return Err(format!("task `{id}` replaces `{unknown}`, and there is no such task"));
    }
    if task.skip_probability >= skip_threshold && task.skip_reason.trim().is_empty() {
        return Err(format!("task `{id}` is to be skipped, and its `skip_reason` does not say why"));
    }
    Ok(())
}

/// Tasks that wait for one another, each for the next and the last for the first; the first is told again at the end.
fn circle<'t>(tasks: &'t [Draft], places: &HashMap<&str, usize>) -> Option<Vec<&'t str>> {
    let waits = never_ready(tasks, places);
    let mut next = waits.iter().position(|waits| *waits)?;
    let mut met: Vec<Option<usize>> = vec![None; tasks.len()];
    let mut path = Vec::new();
    // Whoever is never ready waits for somebody who is not either: the way comes back to itself.
    while met[next].is_none() {
        met[next] = Some(path.len());
        path.push(next);
        let inputs = tasks[next].inputs.iter().filter_map(|id| places.get(id.as_str()));
        next = inputs.copied().find(|input| waits[*input])?;
    }
    let round = path[met[next]?..].iter().chain([&next]);
    Some(round.map(|place| tasks[*place].id.as_str()).collect())
}

/// Which tasks can never start, however many others are done before them.
fn never_ready(tasks: &[Draft], places: &HashMap<&str, usize>) -> Vec<bool> {
    let mut waits_for = vec![0usize; tasks.len()];
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (place, task) in tasks.iter().enumerate() {
        for input in task.inputs.iter().filter_map(|id| places.get(id.as_str())) {
            waits_for[place] += 1;
            needed_by[*input].push(place);
        }
    }
    let mut ready: Vec<usize> = (0..tasks.len()).filter(|place| waits_for[*place] == 0).collect();
    while let Some(done) = ready.pop() {
        for place in &needed_by[done] {
            waits_for[*place] -= 1;
            if waits_for[*place] == 0 {
                ready.push(*place);
            }
        }
    }
    waits_for.into_iter().map(|open| open > 0).collect()
}

fn told(circle: &[&str]) -> String {
    if circle.len() <= TOLD {
        return circle.join(" -> ");
    }
    let (head, tail) = (&circle[..TOLD / 2], &circle[circle.len() - TOLD / 2..]);
    let between = circle.len() - TOLD;
    format!("{} -> … {between} more … -> {}", head.join(" -> "), tail.join(" -> "))
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
