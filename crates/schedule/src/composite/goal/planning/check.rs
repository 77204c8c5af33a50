//! Whether proposed tasks can be taken: names, what they refer to, how many they are, and that nobody waits for itself.
//!
//! Pure, and linear in what was proposed: a plan of ten thousand tasks is checked as readily as one of three. Invariant:
//! what [`Proposal::check`] accepts has no circle, no duplicate and no unknown input.

use super::proposal::{Draft, Proposal};
use crate::state::End;
use convoke_model::hash::{HashMap, HashSet};

/// Names of a circle that are told; a longer one is told by its ends.
const TOLD: usize = 12;

/// What a proposal must keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// Tasks at most.
    pub most: u32,
    /// What sets that limit, in words, and how many it allows in all.
    pub because: (&'a str, u32),
    /// Tasks that are there already and may be referred to.
    pub known: Option<&'a Known>,
    /// From here on, in percent, a reason to skip is demanded.
    pub skip_threshold: u8,
    /// A person has written or approved it, and answers for its reasons.
    pub vouched: bool,
}

impl Terms<'_> {
    /// Why these are too many.
    fn refusal(&self, count: usize) -> String {
        let (most, (because, all)) = (self.most, self.because);
        match most == all {
            true => format!("there are {count} tasks, and at most {most} are allowed ({because})"),
            false => format!("there are {count} tasks, and {most} more can be made ({because}: {all})"),
        }
    }
}

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
    /// What a task builds on, for its parts. Whoever takes it apart names these as they like: no part can be mistaken.
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

impl Proposal {
    /// Whether it can be taken as it stands; else what is wrong with it, for its author.
    pub fn check(&self, terms: Terms<'_>) -> Result<(), String> {
        if self.tasks.is_empty() {
            return Err("there must be at least one task".into());
        }
        if self.tasks.len() as u64 > u64::from(terms.most) {
            return Err(terms.refusal(self.tasks.len()));
        }
        let places = self.places()?;
        self.check_descriptions()?;
        let none = Known::default();
        let known = terms.known.unwrap_or(&none);
        for task in &self.tasks {
            check_inputs(task, &places, known)?;
            check_replaced(task, known)?;
            check_smaller(task, known)?;
            check_skip(task, &terms)?;
        }
        match circle(&self.tasks, &places) {
            Some(circle) => Err(format!("the inputs go round in a circle: {}", told(&circle))),
            None => Ok(()),
        }
    }

    /// Where each task stands, by its author's name for it.
    fn places(&self) -> Result<HashMap<&str, usize>, String> {
        let mut places = HashMap::default();
        for (place, task) in self.tasks.iter().enumerate() {
            if places.insert(task.id.as_str(), place).is_some() {
                return Err(format!("two tasks have the id `{}`", task.id));
            }
        }
        Ok(places)
    }

    fn check_descriptions(&self) -> Result<(), String> {
        let mut described = HashSet::default();
        match self.tasks.iter().find(|task| !described.insert(same_words(&task.description))) {
            Some(again) => Err(format!("two tasks are the same: `{}`", again.description.trim())),
            None => Ok(()),
        }
    }
}

/// Two descriptions that differ in nothing else are the same task.
fn same_words(description: &str) -> String {
    description.trim().to_lowercase()
}

fn check_inputs(task: &Draft, places: &HashMap<&str, usize>, known: &Known) -> Result<(), String> {
    let id = &task.id;
    for input in &task.inputs {
        let is_new = places.contains_key(input.as_str());
        match known.ends.get(input) {
            _ if input == id => return Err(format!("task `{id}` waits for itself")),
            None if is_new => {}
            Some(_) if is_new && known.yields => {}
            None => return Err(format!("task `{id}` needs `{input}`, and there is no such task")),
            Some(_) if is_new => {
                let which = "a new task has the id of an existing one, so the id is ambiguous";
                return Err(format!("task `{id}` needs `{input}`: {which}"));
            }
            Some(Some(End::Succeeded)) => {}
            Some(_) => return Err(format!("task `{id}` needs `{input}`, which has no result")),
        }
    }
    Ok(())
}

/// What a task makes up for has no result; and no task does what another did, or failed at, unless it stands for it.
fn check_replaced(task: &Draft, known: &Known) -> Result<(), String> {
    let id = &task.id;
    for replaced in &task.replaces {
        match known.ends.get(replaced) {
            Some(Some(End::Failed | End::Skipped | End::Cancelled)) => {}
            Some(_) => return Err(format!("task `{id}` replaces `{replaced}`, which was done")),
            None => return Err(format!("task `{id}` replaces `{replaced}`, and there is no such task")),
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

fn check_skip(task: &Draft, terms: &Terms<'_>) -> Result<(), String> {
    let reason = task.skip_reason.trim();
    let is_told = if terms.vouched { !reason.is_empty() } else { says_something(reason) };
    if task.skip_probability >= terms.skip_threshold && !is_told {
        return Err(format!("task `{}` is to be skipped, and its `skip_reason` does not say why", task.id));
    }
    Ok(())
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

/// Whether words name something that somebody could look up: more than a letter, and no word for nothing.
pub(in crate::composite::goal) fn says_something(reason: &str) -> bool {
    let bare = reason.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    bare.chars().filter(|letter| letter.is_alphanumeric()).nth(1).is_some()
        && !EMPTY_WORDS.contains(&bare.as_str())
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
