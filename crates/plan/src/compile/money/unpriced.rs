//! Models without a price that a plan may ask, below a node, in a workflow or anywhere.
//!
//! A budget in money means nothing for them. Which budgets there are and what follows is the caller's to say. A model whose name is
//! rendered is not known here: its call is refused when it is made.

use super::super::Services;
use crate::plan::{
    Agent, Kind, Node, NodeIx, Plan, Text, WorkflowIx, nodes_below, nodes_in, nodes_of_tenant,
};
use convoke_model::{Budget, ProviderSettings};
use std::collections::HashSet;

/// A model without a price, and the node that may ask it.
#[derive(Debug, Clone, Copy)]
pub struct Unpriced<'a> {
    /// The workflow that the node stands in.
    pub workflow: WorkflowIx,
    /// The node.
    pub node: &'a Node,
    /// The provider that it asks.
    pub provider: &'a ProviderSettings,
    /// The model; empty where the provider chooses.
    pub model: &'a str,
}

/// Those under budgets of the plan that are in money and enforced, each with the name of the first budget and told once.
pub fn unpriced_under_budgets(plan: &Plan, services: Services) -> Vec<(String, Unpriced<'_>)> {
    let mut told = HashSet::new();
    let mut found = Vec::new();
    for (ix, workflow) in plan.workflows.iter().enumerate() {
        let ix = WorkflowIx(ix as u32);
        let own = workflow.limits.budget.as_ref().filter(|budget| is_enforced(budget));
        let whole = own.map(|budget| (format!("`{}`", budget.money_key()), unpriced_in(plan, services, ix)));
        let parts = workflow.indexed().filter(|(_, node)| node.budget.as_ref().is_some_and(is_enforced));
        let parts = parts.map(|(at, node)| {
            let word = if node.kind.is_group() { "group" } else { "step" };
            (format!("`budget.usd` of {word} `{}`", node.name), unpriced_below(plan, services, ix, at))
        });
        for (budget, models) in whole.into_iter().chain(parts) {
            let fresh = models.into_iter().filter(|one| told.insert((one.provider.name.as_str(), one.model)));
            found.extend(fresh.map(|one| (budget.clone(), one)));
        }
    }
    found
}

/// Whether a budget is in money and enforced.
pub fn is_enforced(budget: &Budget) -> bool {
    budget.micros.is_some() && !budget.audit
}

/// The first agent that names no model though its provider needs one.
pub fn without_model(plan: &Plan, services: Services) -> Option<(&Node, &ProviderSettings)> {
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    nodes.filter_map(|node| Some((node, lacks_model(node, services)?))).next()
}

/// The provider of an agent that names no model, if that provider needs one.
pub(crate) fn lacks_model(node: &Node, services: Services) -> Option<&ProviderSettings> {
    let Kind::Agent(agent) = &node.kind else { return None };
    let is_named = match &agent.model {
        Some(Text::Literal(model)) => !model.trim().is_empty(),
        Some(Text::Template(_)) => true,
        None => false,
    };
    let provider = &agent.settings.provider;
    let is_needed = services.of(provider).is_some_and(|service| service.needs_model);
    (is_needed && !is_named).then_some(provider)
}

/// Those of a whole workflow and of what it calls.
pub fn unpriced_in<'a>(plan: &'a Plan, services: Services, workflow: WorkflowIx) -> Vec<Unpriced<'a>> {
    asked_at(plan, services, nodes_in(plan, workflow))
}

/// Those of a node and of everything below it.
pub fn unpriced_below<'a>(
    plan: &'a Plan,
    services: Services,
    workflow: WorkflowIx,
    node: NodeIx,
) -> Vec<Unpriced<'a>> {
    asked_at(plan, services, nodes_below(plan, workflow, node))
}

fn asked_at(plan: &Plan, services: Services, places: Vec<(WorkflowIx, NodeIx)>) -> Vec<Unpriced<'_>> {
    let mut found = Vec::new();
    for (workflow, ix) in places {
        let node = plan.workflow(workflow).node(ix);
        let Kind::Agent(agent) = &node.kind else { continue };
        let provider = &agent.settings.provider;
        let Some(service) = services.of(provider) else { continue };
        let models = models_of(agent).into_iter().filter(|model| !(model.is_empty() && service.needs_model));
        let unknown = models.filter(|model| agent.settings.pricing.get(model).is_none());
        found.extend(unknown.map(|model| Unpriced { workflow, node, provider, model }));
    }
    found
}

/// Those that a tenant is charged for; of a whole plan where no tenant is meant.
pub fn unpriced<'a>(plan: &'a Plan, services: Services, tenant: Option<&str>) -> Vec<Unpriced<'a>> {
    asked_at(plan, services, charged(plan, tenant))
}

/// Whether every agent that a tenant is charged for, or every one, has a price of a model that a budget goes on with.
pub fn has_price(plan: &Plan, tenant: Option<&str>, model: &str) -> bool {
    charged(plan, tenant).into_iter().all(|(workflow, ix)| match &plan.workflow(workflow).node(ix).kind {
        Kind::Agent(agent) => agent.settings.pricing.get(model).is_some(),
        _ => true,
    })
}

fn charged(plan: &Plan, tenant: Option<&str>) -> Vec<(WorkflowIx, NodeIx)> {
    match tenant {
        Some(tenant) => nodes_of_tenant(plan, tenant),
        None => nodes_in(plan, WorkflowIx(0)),
    }
}

/// The models that an agent may ask, as far as their names are known; the first is its own.
pub fn models_of(agent: &Agent) -> Vec<&str> {
    let own = match &agent.model {
        Some(Text::Literal(model)) => Some(&**model),
        Some(Text::Template(_)) => None,
        None => Some(""),
    };
    let settings = &agent.settings;
    let validator = settings.validator.as_ref().and_then(|judge| judge.model.as_deref());
    let criteria = settings.success_criteria.as_ref().and_then(|judge| judge.model.as_deref());
    let fallback = settings.fallback.iter().flat_map(|fallback| fallback.models.iter().map(String::as_str));
    let others = [validator, criteria, settings.repair_model.as_deref()];
    own.into_iter().chain(fallback).chain(others.into_iter().flatten()).collect()
}
