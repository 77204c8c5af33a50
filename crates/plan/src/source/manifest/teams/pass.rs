//! Handoff and broadcast: work that is handed on from one to the next, and a message that goes to all.

use super::super::super::text::Spanned;
use super::super::super::workflow::{Requires, Step, StepKind};
use super::super::lower::{Reached, Work};
use super::super::texts::literal;
use super::{HANDED_OVER, Roster, ends_alone, need, nothing};

/// Each goes on with what the one before hands over; the last one's output is the answer. A chain that breaks has
/// none, so a failure is the run's.
pub(super) fn handoff(roster: &Roster<'_>) -> Work {
    let last = roster.members[roster.members.len() - 1];
    let mut work = nothing(Reached::SuccessOfOne, roster.sources(&[last]), roster.shape(Vec::new()));
    for (index, member) in roster.members.iter().enumerate() {
        let mut step = roster.asks(member, &member.id.value, &hand_over(roster, index));
        if let Some(before) = index.checked_sub(1).map(|before| &roster.members[before].id) {
            step.common.needs = vec![need(before, Requires::Success)];
            sees_what_it_needs(&mut step, before);
        }
        work.steps.push(step);
    }
    work
}

fn hand_over(roster: &Roster<'_>, index: usize) -> String {
    let name = |index: usize| literal(&roster.members[index].id.value);
    let count = roster.members.len();
    let place = format!("\n\nYou are number {} of {count} in a chain.", index + 1);
    let before = match index {
        0 => String::new(),
        _ => format!(
            " What {} hands over to you stands below; go on from there and repeat nothing.",
            name(index - 1)
        ),
    };
    let after = match index + 1 < count {
        true => {
            format!(" Your answer is all that {} sees: hand over everything that matters.", name(index + 1))
        }
        false => " You are the last: your answer is the result.".to_owned(),
    };
    format!("{place}{before}{after}")
}

/// One message to all at the same time, and all answers. A lead, where there is one, writes the message.
pub(super) fn broadcast(roster: &Roster<'_>) -> Work {
    let mut work = nothing(Reached::EndOfAll, roster.sources(&roster.members), roster.shape(Vec::new()));
    if let Some(lead) = roster.chair {
        let after = format!(
            "\n\nWrite the one message that goes to all of your team: {}. Answer with the message alone.",
            roster.names()
        );
        work.steps.push(roster.asks(lead, &lead.id.value, &after));
    }
    for member in &roster.members {
        let mut step = roster.asks(member, &member.id.value, &message(roster));
        step.common.on_error = ends_alone(roster.span());
        if let Some(lead) = roster.chair {
            step.common.needs = vec![need(&lead.id, Requires::Success)];
            sees_what_it_needs(&mut step, &lead.id);
        }
        work.steps.push(step);
    }
    work
}

fn message(roster: &Roster<'_>) -> String {
    match roster.chair {
        Some(lead) => format!(
            "\n\nThe message of {} to all stands below. Answer it for yourself.",
            literal(&lead.id.value)
        ),
        None => String::new(),
    }
}

fn sees_what_it_needs(step: &mut Step, of: &Spanned<String>) {
    if let StepKind::Agent(agent) = &mut step.kind {
        let tokens = || Spanned::new(HANDED_OVER, of.span.clone());
        agent.dependency_outputs = agent.dependency_outputs.take().or_else(|| Some(tokens()));
    }
}
