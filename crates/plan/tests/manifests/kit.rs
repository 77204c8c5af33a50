//! Manifests compiled, and a closer look at what they became.

use crate::manifests::world::{compiled, shown};
use convoke_plan::*;
use serde_json::{Value, json};

pub fn plan(text: &str) -> Plan {
    let result = compiled(text);
    let found = shown(&result);
    result.plan.unwrap_or_else(|| panic!("no plan:{found}"))
}

pub fn node<'a>(plan: &'a Plan, name: &str) -> &'a Node {
    plan.root().nodes.iter().find(|node| &*node.name == name).unwrap_or_else(|| panic!("no node {name}"))
}

pub fn agent<'a>(plan: &'a Plan, name: &str) -> &'a Agent {
    match &node(plan, name).kind {
        Kind::Agent(agent) => agent,
        other => panic!("{name} is {}", other.word()),
    }
}

pub fn reduce(plan: &Plan) -> &Reduce {
    match &node(plan, "synthesis").kind {
        Kind::Reduce(reduce) => reduce,
        other => panic!("synthesis is {}", other.word()),
    }
}

/// The names of what a node waits for, each with how it must end.
pub fn needs(plan: &Plan, name: &str) -> Vec<(String, Requires)> {
    let workflow = plan.root();
    let named = |need: &Need| (workflow.node(need.node).name.to_string(), need.requires);
    node(plan, name).needs.iter().map(named).collect()
}

pub fn successes(names: &[&str]) -> Vec<(String, Requires)> {
    names.iter().map(|name| ((*name).to_owned(), Requires::Success)).collect()
}

/// What the result says that is known before the run.
pub fn known(plan: &Plan, key: &str) -> Value {
    let output = plan.root().output.as_ref().expect("a manifest has an output");
    let (_, text) = output.iter().find(|(name, _)| name == key).unwrap_or_else(|| panic!("no {key}"));
    match text {
        Text::Literal(text) => serde_json::from_str(text).unwrap_or_else(|_| json!(text.to_string())),
        Text::Template(_) => panic!("{key} is a template"),
    }
}

pub fn text<'a>(plan: &'a Plan, text: &'a convoke_plan::Text) -> &'a str {
    match text {
        Text::Literal(text) => text,
        Text::Template(id) => &plan.templates[id.0 as usize].text,
    }
}

/// Code and line of every error.
pub fn errors(result: &convoke_plan::compile::Compiled) -> Vec<(&'static str, usize)> {
    let is_error = |found: &&Diagnostic| found.severity == diagnostic::Severity::Error;
    let place = |found: &Diagnostic| (found.code, found.labels[0].span.line_column().0);
    result.diagnostics.iter().filter(is_error).map(place).collect()
}

/// A manifest of agents without anything else to say.
pub fn agents(count: usize) -> String {
    let lines = (0..count).map(|number| format!("  - {{id: a{number}, task: t}}\n"));
    format!("agents:\n{}", lines.collect::<String>())
}
