//! Budgets and resources as the plan has them.

use crate::source::{Spanned, workflow as source};
use convoke_model::{Budget, WhenSpent};
use std::sync::Arc;

/// The budget of a workflow; by default it is only reported, as Conductor has it.
pub(in crate::compile) fn of_workflow(limits: &source::Limits) -> Option<Budget> {
    let usd = limits.budget_usd.as_ref().map(|limit| limit.value);
    let tokens = limits.budget_tokens.as_ref().map(|limit| limit.value);
    let audit = limits.budget_mode == source::BudgetMode::Audit;
    let lenient = limits.when_spent.is_none();
    let then = when_spent(limits.when_spent.as_ref(), limits.degrade_to.as_ref());
    budget(usd, tokens, then).map(|budget| Budget { audit, lenient, ..budget })
}

/// The budget of a step or a group.
pub(in crate::compile) fn of_node(written: &source::Budget) -> Option<Budget> {
    let usd = written.usd.as_ref().map(|limit| limit.value);
    let tokens = written.tokens.as_ref().map(|limit| limit.value);
    budget(usd, tokens, when_spent(written.when_spent.as_ref(), written.degrade_to.as_ref()))
}

/// What a step needs, in the order of the file.
pub(in crate::compile) fn resources(common: &source::Common) -> Vec<(Arc<str>, u64)> {
    common.resources.iter().map(|(name, entry)| (Arc::from(name.as_str()), entry.value)).collect()
}

fn budget(usd: Option<f64>, tokens: Option<u64>, when_spent: WhenSpent) -> Option<Budget> {
    let micros = usd.map(|usd| ((usd * 1e6).round() as u64).max(1));
    let is_said = micros.is_some() || tokens.is_some();
    is_said.then(|| Budget { micros, tokens, when_spent, ..Budget::default() })
}

fn when_spent(word: Option<&Spanned<source::Spent>>, cheaper: Option<&Spanned<String>>) -> WhenSpent {
    match (word.map(|word| word.value), cheaper) {
        (Some(source::Spent::Queue), _) => WhenSpent::Queue,
        (Some(source::Spent::Degrade), Some(model)) => WhenSpent::Degrade(model.value.clone()),
        (Some(source::Spent::Ask), _) => WhenSpent::Ask,
        _ => WhenSpent::Stop,
    }
}
