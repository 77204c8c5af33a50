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

/// A parallel group that a run starts with must fit into `max_iterations`, else every run ends at once.
fn check_iterations(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let Some(limit) = &outline.workflow.limits.max_iterations else { return };
    for ix in outline.entries() {
        let Item::Parallel(group) = outline.items[ix] else { continue };
        let members = group.agents.len() as u64;
        if members > limit.value {
            let message = format!(
                "max_iterations {} is less than the {members} members of `{}`, where the workflow starts",
                limit.value, group.name.value
            );
            let found =
                Diagnostic::error("workflow::limit_too_small", message, limit.span.clone(), "too few")
                    .also(group.name.span.clone(), format!("{members} members"))
                    .help(format!("each member counts as one; allow at least {members}"));
            findings.push(found);
        }
    }
}
