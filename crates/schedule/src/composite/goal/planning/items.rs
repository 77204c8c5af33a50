//! What becomes of a proposal that is taken: tasks of the run, with their ids; and its text for a person.

use convoke_model::hash::HashMap;
use convoke_model::{Item, Skip, TaskId};
use convoke_plan::generate::yaml;
use convoke_plan::goal_plan::{Draft, Proposal, UNSTATED};

/// The tasks with their ids, in the order given, numbered from `first` below a task.
pub(crate) fn items(
    proposal: &Proposal,
    below: &TaskId,
    first: u32,
    depth: u32,
    known: &dyn Fn(&str) -> TaskId,
) -> Vec<Item> {
    let places = proposal.tasks.iter().zip(first..).map(|(task, number)| (task.id.as_str(), number));
    let places: HashMap<&str, u32> = places.collect();
    let resolve = |id: &String| match places.get(id.as_str()) {
        Some(number) => TaskId::new(Some(below), &number.to_string(), None, 1),
        None => known(id),
    };
    let item = |task: &Draft| Item {
        description: task.description.clone(),
        inputs: task.inputs.iter().map(resolve).collect(),
        tools: task.tools.clone().unwrap_or_default(),
        toolless: task.tools.as_ref().is_some_and(Vec::is_empty),
        priority: task.priority.saturating_sub(UNSTATED),
        skip: skip(task),
        ensure: task.ensure.clone(),
        effort: task.effort,
        replaces: task.replaces.iter().map(|id| known(id)).collect(),
        note: None,
        depth,
    };
    proposal.tasks.iter().map(item).collect()
}

fn skip(task: &Draft) -> Option<Skip> {
    let skip = Skip { probability: task.skip_probability, reason: task.skip_reason.clone() };
    (task.skip_probability > 0).then_some(skip)
}

/// The proposal as YAML that a person can edit.
pub(crate) fn for_a_person(proposal: &Proposal) -> String {
    yaml::print(&proposal.value())
}

#[cfg(test)]
#[path = "items_tests.rs"]
pub(in crate::composite::goal) mod tests;
