//! `budget` and `resources` of steps and groups, and what `limits` says about money.

use indexmap::IndexMap;

use super::super::text::Spanned;
use super::super::workflow::{Budget, BudgetMode, Consequence, Entry, Limits, Spent};
use super::Reader;
use super::fields::Fields;
use super::fixed::fixed;
use super::scalars::Of;

/// The most of one resource that a step can need.
const MOST: u64 = 1_000_000_000;

/// Longest name of a resource.
const LONGEST_NAME: usize = 40;

/// Reads `budget`.
pub(super) fn budget(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Budget> {
    let mut fields = fields.object(cx, "budget")?;
    let budget = Budget {
        usd: fields.number(cx, "usd"),
        tokens: fields.integer(cx, "tokens"),
        consequence: consequence(cx, &mut fields),
        span: fields.span.clone(),
    };
    if fields.place_of("usd").or(fields.place_of("tokens")).is_none() {
        let message = format!("{} has no `usd` and no `tokens`", fields.owner);
        cx.error("workflow::missing_key", message, &fields.head, "one of the two is required here");
    }
    fields.finish(cx);
    Some(budget)
}

/// Reads `when_spent` and `degrade_to`, which belong together.
pub(super) fn consequence(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Consequence {
    let when_spent: Option<Spanned<Spent>> = fields.choice(cx, "when_spent");
    let place = fields.place_of("degrade_to").cloned();
    let degrade_to = fixed(cx, fields, "degrade_to");
    let degrades = when_spent.as_ref().filter(|word| word.value == Spent::Degrade);
    match (degrades, place) {
        (Some(word), None) => {
            let message = format!("`when_spent: degrade` of {} needs `degrade_to`", fields.owner);
            cx.error("workflow::needs_key", message, &word.span, "name the cheaper model in `degrade_to`");
        }
        (None, Some(place)) => {
            let message = format!("`degrade_to` of {} goes with `when_spent: degrade` only", fields.owner);
            cx.error("workflow::needs_key", message, &place, "has no meaning here");
        }
        _ => {}
    }
    Consequence { when_spent, degrade_to }
}

/// Reports a consequence that `limits` could never come to.
pub(super) fn judge_limits(cx: &mut Reader<'_>, limits: &Limits) {
    let Some(word) = &limits.consequence.when_spent else { return };
    let without = match () {
        () if limits.budget_usd.is_none() && limits.budget_tokens.is_none() => "a budget",
        () if limits.budget_mode == BudgetMode::Audit => "`budget_mode: enforce`",
        () => return,
    };
    let message = format!("`when_spent` of `limits` has no effect without {without}");
    let finding = cx.error("workflow::needs_key", message, &word.span, "nothing follows from it");
    finding.help = Some("write `budget_usd` or `budget_tokens`, and `budget_mode: enforce`".to_owned());
}

/// Reads `resources`.
pub(super) fn resources(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> IndexMap<String, Entry<u64>> {
    let read = |cx: &mut Reader<'_>, pair: &super::super::tree::Pair, owner: &str| {
        let name = &pair.key.value;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
            let message = format!("{owner}: `{name}` is not a name of a resource");
            let finding = cx.error("workflow::bad_name", message, &pair.key.span, "not a name");
            finding.help = Some(format!("1 to {LONGEST_NAME} letters, digits, `_`, `-` and `.`"));
            return None;
        }
        cx.integer(&pair.value, Of { key: name, owner }, (1, MOST))
    };
    fields.map(cx, "resources", read).unwrap_or_default()
}
