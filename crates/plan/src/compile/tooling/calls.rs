//! What a `workflow` step hands to its sub-workflow, compared with what that declares.

use super::super::load::Bundle;
use crate::check::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::workflow::{Entry, InputField, Step, StepKind, Templates, Workflow, WorkflowStep};
use convoke_model::nearest;
use indexmap::IndexMap;

type Declared = IndexMap<String, Entry<InputField>>;

/// Names that the sub-workflow does not know, and inputs that it would miss in every run.
pub(in crate::compile) fn check(bundle: &Bundle, findings: &mut Vec<Diagnostic>) {
    for parent in &bundle.workflows {
        let outline = Outline::new(parent);
        let steps = parent.agents.iter().chain(outline.inline().map(|(_, step)| step));
        for step in steps {
            if let StepKind::Workflow(call) = &step.kind
                && let Some(child) = called(bundle, parent, call)
                && let Some(declared) = &child.input
            {
                unknown(step, call, declared, findings);
                missing(parent, step, call, declared, findings);
            }
        }
    }
}

fn called<'a>(bundle: &'a Bundle, parent: &Workflow, call: &WorkflowStep) -> Option<&'a Workflow> {
    let path = call.workflow.as_ref()?;
    bundle.child(parent, &path.value).map(|ix| &bundle.workflows[ix])
}

fn unknown(step: &Step, call: &WorkflowStep, declared: &Declared, findings: &mut Vec<Diagnostic>) {
    for (name, entry) in call.input_mapping.iter().flatten() {
        if declared.contains_key(name) {
            continue;
        }
        let names: Vec<&str> = declared.keys().map(String::as_str).collect();
        let near = nearest(name, names.iter().copied());
        let help =
            near.map_or_else(|| list(&names), |near| format!("did you mean `{near}`? {}", list(&names)));
        let message =
            format!("step `{}` hands on `{name}`, which its sub-workflow does not declare", step.name.value);
        let place = entry.key.span.clone();
        findings
            .push(Diagnostic::error("workflow::unknown_input", message, place, "no such input").help(help));
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "it takes no inputs".to_owned() } else { format!("it takes {}", names.join(", ")) }
}

fn missing(
    parent: &Workflow,
    step: &Step,
    call: &WorkflowStep,
    declared: &Declared,
    findings: &mut Vec<Diagnostic>,
) {
    let needed = declared.iter().filter(|(_, entry)| entry.value.required && entry.value.default.is_none());
    for (name, entry) in needed {
        if is_given(parent, call.input_mapping.as_ref(), name) {
            continue;
        }
        let message = format!("step `{}` does not give its sub-workflow the input `{name}`", step.name.value);
        let place = call.workflow.as_ref().map_or(&step.name.span, |path| &path.span).clone();
        let found = Diagnostic::error("workflow::missing_input", message, place, format!("needs `{name}`"))
            .also(entry.key.span.clone(), "declared here, required and without a default")
            .help(format!("add `{name}` to `input_mapping`"));
        findings.push(found);
    }
}

/// Without a mapping the parent's inputs are handed on; a parent that declares none may have been given any.
fn is_given(parent: &Workflow, mapping: Option<&Templates>, name: &str) -> bool {
    match (mapping, &parent.input) {
        (Some(mapping), _) => mapping.contains_key(name),
        (None, Some(inputs)) => inputs.contains_key(name),
        (None, None) => true,
    }
}
