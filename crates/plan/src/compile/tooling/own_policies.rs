//! Policies of our own tools: which a workflow and its agents name, and the texts of their files.
//!
//! A file is read when the plan is made, and its text stands in the plan: what an agent does to the file later changes nothing. What a
//! policy means is judged by the tools; here a name must lead somewhere.

use super::super::build::Builder;
use super::super::load::Bundle;
use super::super::programs::agents;
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::Workflow;
use crate::source::{Sources, join_beside};
use crate::suggest;
use convoke_model::{CedarSource, POLICY_PRESETS, PolicySource};
use std::collections::HashSet;

/// Reads every policy that is named, and reports those that are not there.
pub(in crate::compile) fn collect(
    bundle: &mut Bundle,
    sources: &dyn Sources,
    findings: &mut Vec<Diagnostic>,
) {
    let mut policies = Vec::new();
    for workflow in &bundle.workflows {
        for name in named(workflow) {
            let key = key(workflow, name);
            match source(name, &key, sources) {
                Ok(policy) => policies.push((key, policy)),
                Err(found) => findings.push(*found),
            }
        }
    }
    bundle.policies.extend(policies);
}

/// The names of a workflow and of its agents, each place once.
fn named(workflow: &Workflow) -> Vec<&Spanned<String>> {
    let stated = agents(workflow).filter_map(|(_, agent)| agent.policy.as_ref());
    let mut seen = HashSet::new();
    let all = workflow.runtime.policy.iter().chain(stated);
    all.filter(|name| seen.insert((name.span.range.start, &name.value))).collect()
}

fn is_preset(name: &str) -> bool {
    POLICY_PRESETS.contains(&name)
}

fn key(workflow: &Workflow, name: &Spanned<String>) -> String {
    if is_preset(&name.value) { name.value.clone() } else { join_beside(&workflow.path, &name.value) }
}

fn source(
    name: &Spanned<String>,
    path: &str,
    sources: &dyn Sources,
) -> Result<PolicySource, Box<Diagnostic>> {
    if is_preset(&name.value) {
        return Ok(PolicySource { name: name.value.clone(), text: None, cedar: None });
    }
    match sources.read(path) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text).into_owned();
            let cedar = cedar(name, path, &text, sources)?;
            Ok(PolicySource { name: name.value.clone(), text: Some(text), cedar })
        }
        Err(error) => {
            let message = format!("the policy `{}` cannot be read: {error}", name.value);
            let found =
                Diagnostic::error("workflow::unknown_policy", message, name.span.clone(), "no such policy");
            let presets = suggest::instead(&name.value, &POLICY_PRESETS);
            Err(Box::new(found.help(format!("{presets}, or a file beside this one"))))
        }
    }
}

/// The Cedar rules that a policy names, which lie beside it.
fn cedar(
    name: &Spanned<String>,
    path: &str,
    text: &str,
    sources: &dyn Sources,
) -> Result<Option<CedarSource>, Box<Diagnostic>> {
    let Some(file) = named_rules(text) else { return Ok(None) };
    match sources.read(&join_beside(path, &file)) {
        Ok(rules) => Ok(Some(CedarSource { name: file, text: String::from_utf8_lossy(&rules).into_owned() })),
        Err(error) => {
            let message =
                format!("the Cedar file `{file}` of the policy `{}` cannot be read: {error}", name.value);
            let found = Diagnostic::error(
                "workflow::unknown_policy",
                message,
                name.span.clone(),
                "its policy names it",
            );
            Err(Box::new(
                found.help("a policy whose Cedar file is not asked would allow what that file denies"),
            ))
        }
    }
}

/// What `cedar` of a policy says. Everything else of a policy is left to those who judge by it.
pub fn named_rules(text: &str) -> Option<String> {
    use granit_parser::{Event, Parser};
    let (mut depth, mut key) = (0, None);
    for event in Parser::new_from_str(text) {
        match event.ok()?.0 {
            Event::Scalar(word, ..) if depth == 1 => match key.take() {
                Some(true) => return Some(word.into_owned()),
                Some(false) => {}
                None => key = Some(word == "cedar"),
            },
            Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
            Event::MappingEnd | Event::SequenceEnd => {
                depth -= 1;
                // A key whose value was a whole mapping or a list.
                key = if depth == 1 { None } else { key };
            }
            _ => {}
        }
    }
    None
}

impl Builder<'_> {
    /// The policies that hold for an agent: the root's, those of its workflow and its own.
    pub(in crate::compile) fn policies(&self, own: Option<&Spanned<String>>) -> Vec<PolicySource> {
        let root = &self.bundle.workflows[0];
        let of_root = root.runtime.policy.iter().map(|name| key(root, name));
        let names = self.source.runtime.policy.iter().chain(own).map(|name| key(self.source, name));
        let mut policies: Vec<PolicySource> = Vec::new();
        for policy in of_root.chain(names).filter_map(|key| self.bundle.policies.get(&key)) {
            if !policies.contains(policy) {
                policies.push(policy.clone());
            }
        }
        policies
    }
}
