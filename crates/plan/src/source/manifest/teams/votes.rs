//! Voting: each member votes once, at the same time as the others, and the votes are counted.

use super::super::super::workflow::{Step, StepKind, VoteSettings, VoteWord};
use super::super::lower::{Reached, Work};
use super::super::texts::literal;
use super::{Roster, ends_alone, nothing, shapes};
use crate::source::manifest::AgentSpec;

/// The steps of a vote.
pub(super) fn work(roster: &Roster<'_>) -> Work {
    let mut work = nothing(Reached::EndOfAll, roster.sources(&roster.members), roster.shape(Vec::new()));
    for member in &roster.members {
        let mut step = ballot(roster, member, "");
        step.common.on_error = ends_alone(roster.span());
        work.steps.push(step);
    }
    work.vote = Some(rule(roster));
    work
}

/// How votes are counted: as the team says, else as the synthesis does.
pub(super) fn rule(roster: &Roster<'_>) -> VoteSettings {
    let stated = roster.team.vote.clone().or_else(|| roster.manifest.synthesis.step.vote.clone());
    stated.unwrap_or_default()
}

/// A member is asked for its vote; `before` is what it is told about earlier rounds.
pub(super) fn ballot(roster: &Roster<'_>, member: &AgentSpec, before: &str) -> Step {
    let rule = rule(roster);
    let ranked = rule.method.as_ref().is_some_and(|method| method.value == VoteWord::Ranked);
    let usual = if ranked { "ranking" } else { "vote" };
    let field = rule.field.as_ref().map_or(usual, |field| field.value.as_str());
    let mut step = roster.asks(member, &member.id.value, &format!("{before}{}", words(&rule, field, ranked)));
    if let StepKind::Agent(agent) = &mut step.kind
        && agent.output.is_none()
    {
        let shape = if ranked { shapes::ranking } else { shapes::vote };
        agent.output = Some(shape(field, &rule.options, roster.span()));
    }
    step
}

fn words(rule: &VoteSettings, field: &str, ranked: bool) -> String {
    let options: Vec<String> =
        rule.options.iter().map(|option| format!("`{}`", literal(&option.value))).collect();
    let among = match options.is_empty() {
        true => String::new(),
        false => format!(" The options are {}.", options.join(", ")),
    };
    let how = match ranked {
        true => format!("Rank the options in `{field}`, the best first."),
        false => format!("Vote for one in `{field}`, in as few words as others would use for the same."),
    };
    format!(
        "\n\nYou vote, and you alone decide what for.{among} {how} Say why in `reason`. Null in `{field}` abstains."
    )
}
