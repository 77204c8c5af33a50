//! Prices that must be known: a budget in money that goes on with a cheaper model cannot be kept if nobody says what that costs.
//!
//! The configuration may have the price, so this is judged when both are known.

use super::Options;
use super::load::Bundle;
use crate::check::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::{Budget, BudgetMode, Consequence, Workflow};

/// Cheaper models without a price, in budgets of money.
pub(super) fn check(bundle: &Bundle, options: &Options, findings: &mut Vec<Diagnostic>) {
    for workflow in &bundle.workflows {
        let known =
            |model: &str| workflow.cost.pricing.contains_key(model) || options.prices.contains_key(model);
        let models = of_workflow(workflow).into_iter().chain(of_steps(workflow));
        findings.extend(models.filter(|model| !known(&model.value)).map(unpriced));
    }
}

/// The cheaper model of a workflow's own budget.
fn of_workflow(workflow: &Workflow) -> Option<&Spanned<String>> {
    let limits = &workflow.limits;
    let counts = limits.budget_usd.is_some() && limits.budget_mode == BudgetMode::Enforce;
    cheaper(&limits.consequence).filter(|_| counts)
}

/// Those of its steps and groups.
fn of_steps(workflow: &Workflow) -> Vec<&Spanned<String>> {
    let outline = Outline::new(workflow);
    let inline = outline.inline().map(|(_, step)| &step.common);
    let items = outline.items.iter().map(|item| match item {
        Item::Step(step) => &step.common,
        Item::Parallel(group) => &group.common,
        Item::ForEach(group) => &group.common,
    });
    let budgets = items.chain(inline).filter_map(|common| common.budget.as_ref());
    budgets.filter_map(of_budget).collect()
}

fn of_budget(budget: &Budget) -> Option<&Spanned<String>> {
    cheaper(&budget.consequence).filter(|_| budget.usd.is_some())
}

fn cheaper(consequence: &Consequence) -> Option<&Spanned<String>> {
    consequence.degrade_to.as_ref()
}

fn unpriced(model: &Spanned<String>) -> Diagnostic {
    let name = &model.value;
    let message = format!("`degrade_to` names `{name}`, and no price of it is known");
    Diagnostic::error("workflow::unpriced_model", message, model.span.clone(), "what does it cost?").help(
        format!(
            "say it in `cost: {{pricing: {{{name}: …}}}}`, or in `[pricing.\"{name}\"]` of the configuration"
        ),
    )
}
