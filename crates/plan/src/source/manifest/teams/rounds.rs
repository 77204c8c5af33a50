//! Consensus: votes in rounds until enough agree, or the rounds are used up.
//!
//! A group of all members, a step that remembers the rounds, and the count, which leads back to the group while nothing
//! is decided. From the second round on each member sees what all members said in the last one.

use super::super::super::text::{Spanned, Text};
use super::super::super::workflow::{Common, SetStep, Step, StepKind, VoteWord};
use super::super::lower::{LeadsBack, Reached, Source, Work};
use super::super::synthesis::MERGED;
use super::{Roster, iterations, nothing, round, route, votes};
use crate::value::SetType;

/// Rounds, where nothing is said.
const ROUNDS: u64 = 3;
/// The members of one round.
const POSITIONS: &str = "positions";
/// What was said in every round.
const MEMORY: &str = "rounds";

/// The steps of a consensus.
pub(super) fn work(roster: &Roster<'_>) -> Work {
    let rounds = roster.team.rounds.as_ref().map_or(ROUNDS, |rounds| rounds.value);
    let counted = vec![
        ("round_count", format!("{{{{ {MEMORY}.output | length }}}}")),
        ("rounds", format!("{{{{ {MEMORY}.output | json }}}}")),
    ];
    let name = Spanned::new(POSITIONS.to_owned(), roster.span().clone());
    let source = Source { name, title: None, count: Some(roster.members.len()) };
    let mut work = nothing(Reached::Route, vec![source], roster.shape(counted));
    work.steps.extend(roster.members.iter().map(|member| votes::ballot(roster, member, &last_round())));
    work.parallel.push(round(roster, POSITIONS, MEMORY));
    work.steps.push(remember(roster, POSITIONS, MEMORY, MERGED));
    work.entry = vec![Spanned::new(POSITIONS.to_owned(), roster.span().clone())];
    let open = format!("not output.vote.decided and {MEMORY}.output | length < {rounds}");
    work.leads_back = Some(LeadsBack { to: POSITIONS.to_owned(), when: open });
    work.vote = Some(rule(roster));
    work.iterations = iterations(roster, rounds);
    work
}

/// Two thirds agree, unless another rule is stated.
fn rule(roster: &Roster<'_>) -> super::super::super::workflow::VoteSettings {
    let mut rule = votes::rule(roster);
    let method = || Spanned::new(VoteWord::Threshold, roster.span().clone());
    rule.method = rule.method.or_else(|| Some(method()));
    rule
}

/// What the members said in the round before.
fn last_round() -> String {
    format!(
        "{{% if {MEMORY} is defined %}}\n\n## POSITIONS OF ROUND {{{{ {MEMORY}.output | length }}}}\n{{% for member, \
         position in ({MEMORY}.output | last).said.items() %}}\n### {{{{ member }}}}\n\n{{{{ position | json }}}}\n{{% \
         endfor %}}{{% for member in ({MEMORY}.output | last).failed %}}\n### {{{{ member }}}}\n\n(absent: it failed)\n{{% \
         endfor %}}\nThat decided nothing. Weigh what the others say: change your vote where they convince you, keep it \
         where they do not.{{% endif %}}"
    )
}

/// A step that adds what the members of a group said to what was said before.
pub(super) fn remember(roster: &Roster<'_>, group: &str, memory: &str, leads_to: &str) -> Step {
    let span = roster.span();
    let value = format!(
        "{{{{ (({memory}.output if {memory} is defined else []) + [{{'said': {group}.outputs, 'failed': {group}.errors \
         | list}}]) | json }}}}"
    );
    let set = SetStep {
        value: Some(Text::opaque(value, span.clone())),
        values: None,
        output_type: Some(Spanned::new(SetType::List, span.clone())),
    };
    let mut common = Common::at(span);
    common.routes = vec![route(leads_to, None, span)];
    let name = Spanned::new(memory.to_owned(), span.clone());
    Step { name, kind: StepKind::Set(set), common }
}
