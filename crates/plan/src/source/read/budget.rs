//! `budget` and `resources` of steps and groups, and what `limits` says about money.

use indexmap::IndexMap;

use super::super::text::Spanned;
use super::super::workflow::{Budget, BudgetMode, Entry, Limits, Spent};
use super::Reader;
use super::fields::Fields;
use super::scalars::Of;

/// The most of one resource that a step can need.
const MOST: u64 = 1_000_000_000;

/// Longest name of a resource.
const LONGEST_NAME: usize = 40;

/// A budget is about something.
pub fn judge_budget(cx: &mut Reader<'_>, fields: &Fields<'_>, budget: &mut Budget) {
    judge_degrade(cx, fields, budget.when_spent.as_ref());
    if fields.place_of("usd").or(fields.place_of("tokens")).is_none() {
        let message = format!("{} has no `usd` and no `tokens`", fields.owner);
        cx.error("workflow::missing_key", message, &fields.head, "one of the two is required here");
    }
}

/// `when_spent: degrade` and `degrade_to` belong together.
fn judge_degrade(cx: &mut Reader<'_>, fields: &Fields<'_>, when_spent: Option<&Spanned<Spent>>) {
    let degrades = when_spent.filter(|word| word.value == Spent::Degrade);
    match (degrades, fields.place_of("degrade_to")) {
        (Some(word), None) => {
            let message = format!("`when_spent: degrade` of {} needs `degrade_to`", fields.owner);
            cx.error("workflow::needs_key", message, &word.span, "name the cheaper model in `degrade_to`");
        }
        (None, Some(place)) => {
            let message = format!("`degrade_to` of {} goes with `when_spent: degrade` only", fields.owner);
            cx.error("workflow::needs_key", message, place, "has no meaning here");
        }
        _ => {}
    }
}

/// Reports a consequence that `limits` could never come to.
pub fn judge_limits(cx: &mut Reader<'_>, fields: &Fields<'_>, limits: &mut Limits) {
    judge_degrade(cx, fields, limits.when_spent.as_ref());
    let Some(word) = &limits.when_spent else { return };
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
pub fn resources(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> IndexMap<String, Entry<u64>> {
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
    fields.map(cx, key, read).unwrap_or_default()
}
