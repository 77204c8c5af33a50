//! Debate: the sides answer one another in rounds, then a judge decides.

use super::super::super::text::Spanned;
use super::super::lower::{Reached, Work};
use super::super::synthesis::MERGED;
use super::super::texts::literal;
use super::{Roster, iterations, nothing, round, rounds, route};

/// Rounds, where nothing is said.
const ROUNDS: u64 = 2;
/// The sides of one round.
const SIDES: &str = "sides";
/// What was said in every round.
const TRANSCRIPT: &str = "transcript";

/// The steps of a debate.
pub(super) fn work(roster: &Roster<'_>) -> Work {
    let judge = roster.chair.expect("a debate has a judge");
    let count = roster.team.rounds.as_ref().map_or(ROUNDS, |rounds| rounds.value);
    let counted = vec![
        ("round_count", format!("{{{{ {TRANSCRIPT}.output | length }}}}")),
        ("transcript", format!("{{{{ {TRANSCRIPT}.output | json }}}}")),
    ];
    let mut work = nothing(Reached::Route, roster.sources(&[judge]), roster.shape(counted));
    for side in &roster.members {
        work.steps.push(roster.asks(side, &side.id.value, &said_so_far(&side.id.value)));
    }
    work.parallel.push(round(roster, SIDES, TRANSCRIPT));
    let mut transcript = rounds::remember(roster, SIDES, TRANSCRIPT, &judge.id.value);
    let more = format!("output | length < {count}");
    transcript.common.routes.insert(0, route(SIDES, Some(more), roster.span()));
    work.steps.push(transcript);
    let mut decides = roster.asks(judge, &judge.id.value, &judgement(roster));
    decides.common.routes = vec![route(MERGED, None, roster.span())];
    work.steps.push(decides);
    work.entry = vec![Spanned::new(SIDES.to_owned(), roster.span().clone())];
    work.iterations = iterations(roster, count);
    work
}

/// All rounds so far, each side under its name.
fn all_rounds() -> String {
    format!(
        "{{% for turn in {TRANSCRIPT}.output %}}\n## ROUND {{{{ loop.index }}}}\n{{% for side, words in turn.said.items() \
         %}}\n### {{{{ side }}}}\n\n{{{{ words.result if words.result is defined else words | json }}}}\n{{% endfor \
         %}}{{% for side in turn.failed %}}\n### {{{{ side }}}}\n\n(absent in this round: it failed)\n{{% endfor \
         %}}{{% endfor %}}"
    )
}

fn said_so_far(side: &str) -> String {
    format!(
        "\n\nYou speak in a debate as {}. Argue for your side. {{% if {TRANSCRIPT} is defined %}}This was said so far; \
         answer the strongest points of the others and repeat nothing.\n{}{{% endif %}}",
        literal(side),
        all_rounds()
    )
}

fn judgement(roster: &Roster<'_>) -> String {
    format!(
        "\n\nYou judge a debate between {}. Decide by what was said, not by who said it: which side is right, and why. \
         Answer the question in the light of it.\n{}",
        roster.names(),
        all_rounds()
    )
}
