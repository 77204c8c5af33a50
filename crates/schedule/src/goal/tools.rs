//! Which tools a task of a goal may use: those of the goal, as far as the task, its analyser or its recovery names them.

use super::contract::Said;
use super::state::{ItemState, State, Step, Told};
use convoke_model::Duty;
use convoke_plan::Action;

/// The tools that whoever does a task may use; `None` is all of the goal's.
pub(crate) fn for_task(
    state: &State<'_>,
    item: &ItemState<'_>,
    strategy: Option<Action>,
) -> Option<Vec<String>> {
    if strategy == Some(Action::AlternativeTool) {
        return Some(alternatives(state, item));
    }
    if item.recovers(state) {
        return Some(item.item.tools.clone());
    }
    let analysed = item.steps.iter().find_map(|step| match step {
        Step::Duty(Duty::Analyse, Told::Said(said)) => match &**said {
            Said::Size { tools, .. } => {
                Some(tools.iter().flat_map(|tool| state.goal.allowed(tool)).collect())
            }
            _ => None,
        },
        _ => None,
    });
    let named: Vec<String> =
        analysed.filter(|tools: &Vec<String>| !tools.is_empty()).unwrap_or(item.item.tools.clone());
    (!named.is_empty()).then_some(named)
}

/// What somebody said to use instead, else everything that the task did not name.
fn alternatives(state: &State<'_>, item: &ItemState<'_>) -> Vec<String> {
    let said = item.steps.iter().rev().find_map(|step| match step {
        Step::Duty(Duty::Recover, Told::Said(said)) => match &**said {
            Said::Way { action: Action::AlternativeTool, tool: Some(tool), .. } => {
                Some(state.goal.allowed(tool))
            }
            _ => None,
        },
        _ => None,
    });
    let others = || state.goal.tools.iter().filter(|tool| !item.item.tools.contains(tool)).cloned().collect();
    said.filter(|tools| !tools.is_empty()).unwrap_or_else(others)
}
