//! Which tools a task of a goal may use: those of the goal, as far as the task, its analyser or its recovery names them.

use crate::composite::goal::planning::answer::GoalAnswer;
use crate::composite::goal::state::{Entry, GoalState, ItemState, Response};
use convoke_model::Role;
use convoke_plan::Action;

/// The tools that the worker of a task may use; `None` is all of the goal's.
pub(crate) fn for_task(
    state: &GoalState<'_>,
    item: &ItemState<'_>,
    strategy: Option<Action>,
) -> Option<Vec<String>> {
    if strategy == Some(Action::AlternativeTool) {
        return Some(alternatives(state, item));
    }
    Some(named(state, item)).filter(|tools| item.item.toolless || !tools.is_empty())
}

/// The tools that a task is to be done with, as its analyser or planner said; none is any.
pub(in crate::composite::goal) fn named(state: &GoalState<'_>, item: &ItemState<'_>) -> Vec<String> {
    // A task that is to have no tools has none, whatever its analyser thinks of.
    if item.item.toolless {
        return Vec::new();
    }
    let analysed = item.steps.iter().find_map(|step| match step {
        Entry::Role(Role::Analyse, Response::Answered(said)) => match &**said {
            GoalAnswer::Size { tools, .. } => {
                Some(tools.iter().flat_map(|tool| state.goal.allowed(tool)).collect())
            }
            _ => None,
        },
        _ => None,
    });
    analysed.filter(|tools: &Vec<String>| !tools.is_empty()).unwrap_or(item.item.tools.clone())
}

/// The tools that a task was done with. One for which none were named had all of them: then those count that were
/// called, and where none was, no other tool would have been another way.
pub(in crate::composite::goal) fn used(state: &GoalState<'_>, item: &ItemState<'_>) -> Vec<String> {
    let named = named(state, item);
    if !named.is_empty() {
        return named;
    }
    let called: Vec<String> = item.called.iter().flat_map(|tool| state.goal.allowed(tool)).collect();
    if called.is_empty() { state.goal.tools.clone() } else { called }
}

/// The tool that was named instead, else everything that the task was not done with.
fn alternatives(state: &GoalState<'_>, item: &ItemState<'_>) -> Vec<String> {
    let used = used(state, item);
    let said = item.steps.iter().rev().find_map(|step| match step {
        Entry::Role(Role::Recover, Response::Answered(said)) => match &**said {
            GoalAnswer::Way { action: Action::AlternativeTool, tool: Some(tool), .. } => {
                Some(state.goal.allowed(tool))
            }
            _ => None,
        },
        _ => None,
    });
    let unused = said.map(|said| said.into_iter().filter(|tool| !used.contains(tool)).collect());
    unused.filter(|tools: &Vec<String>| !tools.is_empty()).unwrap_or_else(|| state.goal.tools_besides(&used))
}
