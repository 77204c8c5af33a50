//! Prices: what each agent's models cost, and that those are known which must be. A budget in money that is enforced cannot be
//! kept for a model without a price, so nothing starts under it.
//!
//! Files, configuration and lists have a say (`book`), so this is judged when the plan is made.

use super::super::Options;
use super::super::around::Callers;
use super::super::book::Payee;
use super::super::load::Bundle;
use super::super::models::place;
use super::super::provider::Providers;
use super::super::unpriced::{Unpriced, models_of, unpriced_under_budgets};
use crate::check::outline::{Item, Outline};
use crate::diagnostic::Diagnostic;
use crate::plan::{Kind, Plan, Text};
use crate::source::text::Spanned;
use crate::source::workflow::{Budget, BudgetMode, Pricing, Workflow};
use convoke_model::{Billing, Price, Prices, ProviderSettings, WhenSpent};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::sync::Arc;

/// Cheaper models without a price, in budgets of money.
pub(in crate::compile) fn check(bundle: &Bundle, options: &Options, findings: &mut Vec<Diagnostic>) {
    let callers = Callers::new(bundle);
    let none = options.default_provider.clone().unwrap_or_default();
    let Some(root) = bundle.workflows.first().map(|root| Providers::new(options, root, &none)) else {
        return;
    };
    for (file, workflow) in bundle.workflows.iter().enumerate() {
        let prices = of_file(bundle, &callers, file);
        let providers = Providers::new(options, workflow, root.workflow());
        let payee = Payee::new(providers.workflow(), options.services, &options.provider_map);
        let known = |model: &str| prices.contains_key(model) || options.prices.price(&payee, model).is_some();
        let models = of_workflow(workflow).into_iter().chain(of_steps(workflow));
        findings.extend(models.filter(|model| !known(&model.value)).map(unpriced_degrade));
    }
}

/// What models cost in a file: as it says, else as those around it say, nearest first. So whatever a budget goes on with has its
/// price in everything that it pays for.
pub(in crate::compile) fn of_file(
    bundle: &Bundle,
    callers: &Callers<'_>,
    file: usize,
) -> IndexMap<String, Price> {
    let mut prices = IndexMap::new();
    let above = callers.above(file).into_iter().map(|caller| caller.file);
    for file in [file].into_iter().chain(above) {
        for (model, entry) in &bundle.workflows[file].cost.pricing {
            prices.entry(model.clone()).or_insert_with(|| price(&entry.value));
        }
    }
    prices
}

/// Gives each agent the prices of the models that it may ask, those of cheaper models among them.
pub(in crate::compile) fn give(plan: &mut Plan, options: &Options) {
    let cheaper = cheaper_models(plan, options);
    for workflow in &mut plan.workflows {
        // Most agents of a file ask the same models of the same provider.
        let mut known: HashMap<(ProviderSettings, Vec<String>, bool), Arc<Prices>> = HashMap::new();
        for node in &mut workflow.nodes {
            let Kind::Agent(agent) = &mut node.kind else { continue };
            let any = matches!(agent.model, Some(Text::Template(_)));
            let asked =
                models_of(agent).into_iter().map(str::to_owned).chain(cheaper.iter().cloned()).collect();
            let provider = agent.settings.provider.clone();
            let prices = known.entry((provider, asked, any)).or_insert_with_key(|(provider, asked, any)| {
                let payee = Payee::new(provider, options.services, &options.provider_map);
                let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
                Arc::new(options.prices.prices(&payee, &workflow.pricing, &asked, *any))
            });
            Arc::make_mut(&mut agent.settings).pricing = prices.clone();
        }
    }
}

/// Every model that a budget goes on with.
fn cheaper_models(plan: &Plan, options: &Options) -> Vec<String> {
    let nodes =
        plan.workflows.iter().flat_map(|workflow| &workflow.nodes).filter_map(|node| node.budget.as_ref());
    let stated = plan.workflows.iter().filter_map(|workflow| workflow.limits.budget.as_ref()).chain(nodes);
    let of_plan = stated.filter_map(|budget| match &budget.when_spent {
        WhenSpent::Degrade(model) => Some(model.clone()),
        _ => None,
    });
    let mut all: Vec<_> =
        of_plan.chain(options.degrades.iter().map(|degrade| degrade.model.clone())).collect();
    all.sort();
    all.dedup();
    all
}

/// Models without a price that are asked under a budget of the plan.
pub(in crate::compile) fn check_prices(
    bundle: &Bundle,
    plan: &Plan,
    options: &Options,
    findings: &mut Vec<Diagnostic>,
) {
    let found = unpriced_under_budgets(plan, options.services).into_iter().map(|(budget, one)| {
        let at = place(&bundle.workflows[one.workflow.0 as usize], one.node);
        let words = in_words(&budget, &one);
        Diagnostic::error("workflow::unpriced_model", words, at, "what does it cost?")
            .help(advice(&one, options))
    });
    findings.extend(found);
}

/// Why a budget cannot be kept.
pub fn in_words(budget: &str, one: &Unpriced<'_>) -> String {
    let (step, provider) = (one.node.step_name(), &one.provider.name);
    let model = match one.model {
        "" => format!("provider `{provider}`"),
        model => format!("model `{model}` of provider `{provider}`"),
    };
    format!("{budget} cannot be kept: step `{step}` asks {model}, and no price of it is known")
}

/// The key that states the price, and why no list does.
pub fn advice(one: &Unpriced<'_>, options: &Options) -> String {
    let name = if one.model.is_empty() { &one.provider.name } else { one.model };
    let elsewhere =
        options.services.of(one.provider).is_some_and(|service| service.billing == Billing::Unknown)
            && options.prices.lists().any(|list| list.find(&one.provider.name, one.model).is_some());
    let why = match elsewhere {
        true => format!("listed prices of `{}` hold at its own address only: ", one.provider.name),
        false => String::new(),
    };
    format!(
        "{why}set `input_per_mtok` and `output_per_mtok` in `[pricing.\"{name}\"]` of the configuration, 0 where it costs nothing, \
         or in `cost.pricing` of the file"
    )
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
    limits.degrade_to.as_ref().filter(|_| counts)
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
    budget.degrade_to.as_ref().filter(|_| budget.usd.is_some())
}

fn unpriced_degrade(model: &Spanned<String>) -> Diagnostic {
    let name = &model.value;
    let message = format!("`degrade_to` names `{name}`, and no price of it is known");
    Diagnostic::error("workflow::unpriced_model", message, model.span.clone(), "what does it cost?").help(
        format!(
            "say it in `cost: {{pricing: {{{name}: …}}}}`, or in `[pricing.\"{name}\"]` of the configuration"
        ),
    )
}
