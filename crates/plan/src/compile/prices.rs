//! Prices: which a file has, and that those are known which must be. A budget in money that goes on with a cheaper model
//! cannot be kept if nobody says what that costs.
//!
//! The configuration may have the price, so this is judged when both are known.

use super::Options;
use super::around::Callers;
use super::load::Bundle;
use crate::check::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::{Budget, BudgetMode, Consequence, Pricing, Workflow};
use convoke_model::Price;
use indexmap::IndexMap;

/// Cheaper models without a price, in budgets of money.
pub(super) fn check(bundle: &Bundle, options: &Options, findings: &mut Vec<Diagnostic>) {
    let callers = Callers::new(bundle);
    for (file, workflow) in bundle.workflows.iter().enumerate() {
        let prices = of_file(bundle, &callers, file, options);
        let known = |model: &str| prices.contains_key(model);
        let models = of_workflow(workflow).into_iter().chain(of_steps(workflow));
        findings.extend(models.filter(|model| !known(&model.value)).map(unpriced));
    }
}

/// What models cost in a file: as it says, else as those around it say, nearest first, else as the configuration does. So
/// whatever a budget goes on with has its price in everything that it pays for.
pub(super) fn of_file(
    bundle: &Bundle,
    callers: &Callers<'_>,
    file: usize,
    options: &Options,
) -> IndexMap<String, Price> {
    let mut prices = IndexMap::new();
    let above = callers.above(file).into_iter().map(|caller| caller.file);
    for file in [file].into_iter().chain(above) {
        for (model, entry) in &bundle.workflows[file].cost.pricing {
            prices.entry(model.clone()).or_insert_with(|| price(&entry.value));
        }
    }
    for (model, price) in &options.prices {
        prices.entry(model.clone()).or_insert(*price);
    }
    prices
}

fn price(stated: &Pricing) -> Price {
    Price {
        input_per_mtok: stated.input_per_mtok,
        output_per_mtok: stated.output_per_mtok,
        cache_read_per_mtok: stated.cache_read_per_mtok,
        cache_write_per_mtok: stated.cache_write_per_mtok,
        ..Price::default()
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
