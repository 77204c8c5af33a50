//! The first place where the stories of a task part in two runs.

use super::story::{Item, Story, TaskStory, What};
use convoke_model::TaskId;
use convoke_model::hash::HashMap;

/// Where the stories of one task part.
#[derive(Debug, Clone)]
pub struct Divergence {
    /// The task.
    pub task: TaskId,
    /// What each run has at this place.
    pub items: [Option<Item>; 2],
    /// Which runs have the task at all.
    pub has_task: [bool; 2],
}

impl Divergence {
    /// The events, one of each run.
    pub fn events(&self) -> [Option<u64>; 2] {
        self.items.map(|item| item.map(|item| item.seq))
    }

    /// The number by which divergences are put in order.
    pub fn first(&self) -> u64 {
        self.events().into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Whether one of the runs has this here.
    pub fn shows(&self, what: What) -> bool {
        self.items.iter().flatten().any(|item| item.what == what)
    }
}

/// Every task whose stories part, in the order of the first events that show it.
pub fn find(stories: &[Story; 2]) -> Vec<Divergence> {
    let [old, new] = stories;
    let mut all = Vec::new();
    for (task, story) in &old.tasks {
        all.extend(parting(task, [Some(story), new.tasks.get(task)]));
    }
    for (task, story) in new.tasks.iter().filter(|(task, _)| !old.tasks.contains_key(*task)) {
        all.extend(parting(task, [None, Some(story)]));
    }
    all.sort_by_key(Divergence::first);
    all
}

/// Divergences by their task.
pub fn by_task(divergences: &[Divergence]) -> HashMap<&TaskId, usize> {
    divergences.iter().enumerate().map(|(at, divergence)| (&divergence.task, at)).collect()
}

fn parting(task: &TaskId, stories: [Option<&TaskStory>; 2]) -> Option<Divergence> {
    let has_task = stories.map(|story| story.is_some());
    let divergence = |items| Divergence { task: task.clone(), items, has_task };
    let (Some(old), Some(new)) = (stories[0], stories[1]) else {
        return Some(divergence(stories.map(|story| story.and_then(first_item))));
    };
    let mut places: Vec<[Option<Item>; 2]> = facts(old, new).collect();
    places.extend(step(old, new));
    let order = |items: &[Option<Item>; 2]| items.iter().flatten().map(|item| item.seq).min();
    places.into_iter().min_by_key(order).map(divergence)
}

fn first_item(story: &TaskStory) -> Option<Item> {
    story.steps.first().into_iter().chain(story.facts.values()).min_by_key(|item| item.seq).copied()
}

/// The first step that is not the same.
fn step(old: &TaskStory, new: &TaskStory) -> Option<[Option<Item>; 2]> {
    let same = |(a, b): &(&Item, &Item)| is_same(a, b);
    let (old, new) = match is_taken(old) != is_taken(new) {
        true => (from_answer(old), from_answer(new)),
        false => (&old.steps[..], &new.steps[..]),
    };
    let at = old.iter().zip(new).take_while(same).count();
    let items = [old.get(at).copied(), new.get(at).copied()];
    items.iter().any(Option::is_some).then_some(items)
}

/// Whether the output was taken from another run or set by a person: there is an answer, and nothing was asked.
fn is_taken(story: &TaskStory) -> bool {
    story.steps.iter().any(is_answer) && !story.steps.iter().any(|item| item.what == What::Asked)
}

fn is_answer(item: &Item) -> bool {
    matches!(item.what, What::Answered | What::Set)
}

/// What happened from the answer on: all that a taken output has in common with the attempt that gave it.
fn from_answer(story: &TaskStory) -> &[Item] {
    let at = story.steps.iter().position(is_answer).unwrap_or_default();
    &story.steps[at..]
}

fn facts<'a>(old: &'a TaskStory, new: &'a TaskStory) -> impl Iterator<Item = [Option<Item>; 2]> + use<'a> {
    let changed = old.facts.iter().filter_map(|(slot, item)| match new.facts.get(slot) {
        Some(other) if is_same(item, other) => None,
        other => Some([Some(*item), other.copied()]),
    });
    let added = new.facts.iter().filter(|(slot, _)| !old.facts.contains_key(*slot));
    changed.chain(added.map(|(_, item)| [None, Some(*item)]))
}

fn is_same(a: &Item, b: &Item) -> bool {
    (a.what, a.value) == (b.what, b.value)
}
