//! Which model answers an agent that names none, and that one does where its provider needs one.
//!
//! A request without a model would be refused by the service, one step at a time and after others were paid.

use super::Options;
use super::load::Bundle;
use super::unpriced::lacks_model;
use crate::check::outline::Outline;
use crate::diagnostic::{Diagnostic, Span};
use crate::plan::{Kind, Node, Plan, Text};
use crate::source::workflow::Workflow as Source;
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Agents that name no model get the one that the configuration has for their provider. One that the command line names goes over
/// all: every agent asks it, and so do the judges and repairers of its answers.
pub(super) fn give(plan: &mut Plan, options: &Options) {
    if let Some(model) = &options.model_override {
        return give_to_all(plan, model);
    }
    let nodes = plan.workflows.iter_mut().flat_map(|workflow| &mut workflow.nodes);
    for node in nodes {
        let Kind::Agent(agent) = &mut node.kind else { continue };
        if agent.model.is_some() {
            continue;
        }
        let own = options.models.iter().find(|(provider, _)| *provider == agent.settings.provider);
        agent.model = own.map(|(_, model)| Text::Literal(Arc::from(model.as_str())));
    }
}

fn give_to_all(plan: &mut Plan, model: &str) {
    for node in plan.workflows.iter_mut().flat_map(|workflow| &mut workflow.nodes) {
        let Kind::Agent(agent) = &mut node.kind else { continue };
        agent.model = Some(Text::Literal(Arc::from(model)));
        let settings = Arc::make_mut(&mut agent.settings);
        (settings.fallback, settings.repair_model) = (None, None);
        settings.validator.iter_mut().for_each(|validator| validator.model = None);
        settings.success_criteria.iter_mut().for_each(|criteria| criteria.model = None);
    }
}

/// Agents without a model whose provider needs one: one finding for each provider of a workflow, because one key mends it.
pub(super) fn check(bundle: &Bundle, plan: &Plan, options: &Options, findings: &mut Vec<Diagnostic>) {
    for (workflow, source) in plan.workflows.iter().zip(&bundle.workflows) {
        let mut lacking: IndexMap<&str, Vec<&Node>> = IndexMap::new();
        for node in &workflow.nodes {
            if let Some(provider) = lacks_model(node, options.services) {
                lacking.entry(&provider.name).or_default().push(node);
            }
        }
        let found = lacking.iter().map(|(provider, nodes)| no_model(provider, nodes, source));
        findings.extend(found);
    }
}

/// The place of the step that a node stands for.
pub(super) fn place(source: &Source, node: &Node) -> Span {
    let outline = Outline::new(source);
    let inline = || outline.inline().find(|(_, step)| step.name.value == *node.name);
    match outline.find(node.step_name()) {
        Some(ix) => outline.items[ix].name().span.clone(),
        None => inline().map_or(&source.name.span, |(_, step)| &step.name.span).clone(),
    }
}

fn no_model(provider: &str, nodes: &[&Node], source: &Source) -> Diagnostic {
    let steps: BTreeSet<&str> = nodes.iter().map(|node| node.step_name()).collect();
    let (step, others) = (nodes[0].step_name(), steps.len() - 1);
    let others = match others {
        0 => String::new(),
        1 => " (nor does 1 other)".to_owned(),
        _ => format!(" (nor do {others} others)"),
    };
    let message = format!("step `{step}` names no model{others}, and provider `{provider}` needs one");
    let place = place(source, nodes[0]);
    Diagnostic::error("workflow::no_model", message, place, "which model answers?").help(format!(
        "set `model` of the step, `runtime.default_model` of the workflow, or `model` of `[providers.{provider}]` in the \
         configuration"
    ))
}
