//! Limits that cannot be kept.

use super::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;
use crate::source::Spanned;
use crate::source::workflow::BudgetMode;

/// Everything about limits.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    check_iterations(outline, findings);
    check_budgets(outline, findings);
}

/// A part that may spend more than the whole says something that cannot be meant.
fn check_budgets(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let limits = &outline.workflow.limits;
    if limits.budget_mode != BudgetMode::Enforce {
        return;
    }
    for item in &outline.items {
        let Some(budget) = &item.common().budget else { continue };
        findings.extend(more(
            &item.name().value,
            "usd",
            &budget.usd,
            ("limits.budget_usd", &limits.budget_usd),
            outline.kind(),
        ));
        let whole = ("limits.budget_tokens", &limits.budget_tokens);
        findings.extend(more(&item.name().value, "tokens", &budget.tokens, whole, outline.kind()));
    }
}

fn more<T: PartialOrd + std::fmt::Display>(
    name: &str,
    key: &str,
    part: &Option<Spanned<T>>,
    (whole_key, whole): (&str, &Option<Spanned<T>>),
    kind: &str,
) -> Option<Diagnostic> {
    let (part, whole) = (part.as_ref()?, whole.as_ref()?);
    let message = format!("`budget.{key}` of `{name}` is {}, more than `{whole_key}`", part.value);
    (part.value > whole.value).then(|| {
        Diagnostic::error("workflow::out_of_range", message, part.span.clone(), "more than the whole")
            .also(whole.span.clone(), format!("the {kind} may spend {}", whole.value))
    })
}

/// What every run counts must fit into a written `max_iterations`, else every run ends at its limit.
fn check_iterations(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(limit) = &outline.workflow.limits.max_iterations else { return };
    let counted = certain_iterations(outline);
    let needed = counted.iter().map(|(_, more)| more).sum::<u64>();
    if needed <= limit.value {
        return;
    }
    let mut sum = 0;
    let passes = counted.iter().find(|(_, more)| {
        sum += more;
        sum > limit.value
    });
    let message = format!("max_iterations {} is less than the {needed} that every run needs", limit.value);
    let mut found = Diagnostic::error("workflow::limit_too_small", message, limit.span.clone(), "too few");
    if let Some((ix, _)) = passes {
        found = found.also(outline.items[*ix].name().span.clone(), format!("{sum} up to here"));
    }
    findings.push(found.help(format!("each step, member and item counts as one; allow at least {needed}")));
}

/// The items that every run visits one after the other, with what each counts: from where the workflow starts, along routes
/// without a condition. Lists that only a run knows count nothing here.
fn certain_iterations(outline: &Outline<'_>) -> Vec<(usize, u64)> {
    let entries = outline.entries();
    let alone = entries.len() == 1;
    let mut seen = vec![false; outline.items.len()];
    let mut counted = Vec::new();
    for entry in entries {
        let mut next = Some(entry);
        let mut routed = alone || !outline.items[entry].common().routes.is_empty();
        while let Some(ix) = next.filter(|ix| !std::mem::replace(&mut seen[*ix], true)) {
            let item = outline.items[ix];
            let count = match item {
                Item::Step(_) => u64::from(routed),
                Item::Parallel(group) => group.agents.len() as u64,
                Item::ForEach(each) => each.items.as_ref().map_or(0, |items| items.value.len() as u64),
            };
            counted.push((ix, count));
            routed = true;
            let route = item.common().routes.first().filter(|route| route.when.is_none());
            let asks = item.gate().is_some() || item.questions().is_some();
            next = route.filter(|_| !asks).and_then(|route| outline.find(&route.to.value));
        }
    }
    counted
}
