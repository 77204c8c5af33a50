//! A plan for a goal that a person wrote: judged before anything is started or sent.

use crate::console::Console;
use crate::diagnostics::{self, Tally};
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_model::TaskId;
use convoke_plan::source::{PlanTerms, check_plan};
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
    let Err(wrong) = judge(goal, name, text) else { return Ok(()) };
    match wrong {
        Wrong::Found(found) => {
            found.iter().for_each(|one| {
                console.complain(&diagnostics::draw(one, console.width(), console.paint));
            });
            let words = format!("plan `{name}` is refused: {}", Tally::of(&found).words());
            Err(CommandFailure::new(Exit::Refused, words))
        }
        Wrong::Said(why) => {
            Err(CommandFailure::new(Exit::Refused, format!("plan `{name}` is refused: {why}")))
        }
    }
}

/// What is wrong with a plan that is being typed, in a line each; nothing if it can be carried out.
pub fn complaints(goal: &Goal, text: &str) -> Option<String> {
    match judge(goal, "plan", text).err()? {
        Wrong::Said(why) => Some(why),
        Wrong::Found(found) => Some(found.iter().map(line).collect::<Vec<_>>().join("\n")),
    }
}

fn line(found: &Diagnostic) -> String {
    let place = found.labels.first().map(|label| label.span.line_column());
    let place = place.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default();
    let help = found.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    format!("{place}{}{help}", found.message)
}

enum Wrong {
    Found(Vec<Diagnostic>),
    Said(String),
}

/// By its places first; what the run itself would refuse is refused in any case.
fn judge(goal: &Goal, name: &str, text: &str) -> Result<(), Wrong> {
    let terms =
        PlanTerms { max_tasks: goal.bounds.max_tasks.into(), skip_threshold: goal.skip_threshold.into() };
    let found = check_plan(name, text, terms);
    if !found.is_empty() {
        return Err(Wrong::Found(found));
    }
    convoke_schedule::check_plan(goal, text).map_err(Wrong::Said)
}
