//! Voting: each member votes once, at the same time as the others, and the votes are counted.

use super::super::super::workflow::{Step, StepKind, VoteSettings, VoteWord};
use super::super::lower::{Reached, Work};
use super::super::texts::literal;
use super::{Roster, ends_alone, nothing, shapes};
use crate::diagnostic::Diagnostic;
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
    let ranked = is_ranked(&rule);
    let field = field(&rule);
    let mut step = roster.asks(member, &member.id.value, &format!("{before}{}", words(&rule, field, ranked)));
    if let StepKind::Agent(agent) = &mut step.kind
        && agent.output.is_none()
    {
        let shape = if ranked { shapes::ranking } else { shapes::vote };
        agent.output = Some(shape(field, &rule.options, roster.span()));
    }
    step
}

fn is_ranked(rule: &VoteSettings) -> bool {
    rule.method.as_ref().is_some_and(|method| method.value == VoteWord::Ranked)
}

/// The field of an answer that holds the vote.
fn field(rule: &VoteSettings) -> &str {
    let usual = if is_ranked(rule) { "ranking" } else { "vote" };
    rule.field.as_ref().map_or(usual, |field| field.value.as_str())
}

/// A member whose own shape has no place for a vote would always abstain.
pub(super) fn no_vote(roster: &Roster<'_>, member: &AgentSpec) -> Option<Diagnostic> {
    let rule = rule(roster);
    let (field, shape) = (field(&rule), member.step.output.as_ref()?);
    (!shape.fields.contains_key(field)).then(|| {
        let id = &member.id.value;
        let message =
            format!("agent `{id}` votes, and its `output_schema` has no `{field}`: it could only abstain");
        Diagnostic::error(
            "workflow::missing_key",
            message,
            shape.span.clone(),
            format!("`{field}` is required here"),
        )
        .help(format!("add `{field}` to its fields, or leave the shape out: a vote is {{{field}, reason}}"))
    })
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
