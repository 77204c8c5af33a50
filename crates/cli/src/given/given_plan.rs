//! A plan for a goal that a person wrote: judged before anything is started or sent.

use crate::console::Console;
use crate::diagnostics::Tally;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::TaskId;
use convoke_plan::goal_plan::Terms;
use convoke_plan::source::check_plan;
use convoke_plan::{Diagnostic, Goal, Kind, Plan};

/// The goal that a task of the run is.
pub fn goal_of<'p>(plan: &'p Plan, task: &TaskId) -> Option<&'p Goal> {
    let name = task.segments().last()?.node;
    plan.workflows.iter().flat_map(|workflow| &workflow.nodes).find_map(|node| match &node.kind {
        Kind::Goal(goal) if *node.name == *name => Some(&**goal),
        _ => None,
    })
}

/// Refuses a plan that cannot be carried out, with everything that is wrong with it at its place.
pub fn require(console: &Console, goal: &Goal, name: &str, text: &str) -> Result<(), CommandFailure> {
    let found = judge(goal, name, text);
    if found.is_empty() {
        return Ok(());
    }
    found.iter().for_each(|one| console.finding(one, true));
    let words = format!("plan `{name}` is refused: {}", Tally::of(&found).words());
    Err(CommandFailure::new(Exit::Refused, words))
}

/// What is wrong with a plan that is being typed, in a line each; nothing if it can be carried out.
pub fn complaints(goal: &Goal, text: &str) -> Option<String> {
    let found = judge(goal, "plan", text);
    (!found.is_empty()).then(|| found.iter().map(line).collect::<Vec<_>>().join("\n"))
}

fn line(found: &Diagnostic) -> String {
    let place = found.labels.first().map(|label| label.span.line_column());
    let place = place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default();
    let help = found.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{place}{}{help}", found.message)
}

fn judge(goal: &Goal, name: &str, text: &str) -> Vec<Diagnostic> {
    check_plan(name, text, &Terms::for_a_person(goal.bounds.max_tasks, goal.skip_threshold))
}
