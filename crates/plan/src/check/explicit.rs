//! Explicit context: what a step reads should be named in its `input`.

use super::input_reference::{self, InputReference};
use super::outline::Outline;
use super::texts::{Site, View};
use crate::diagnostic::Diagnostic;
use crate::source::workflow::StepKind;
use crate::template::Reference;

/// References of one text that its step's `input` does not cover.
pub(super) fn check(outline: &Outline<'_>, site: &Site<'_>, references: &[Reference]) -> Vec<Diagnostic> {
    let Some(step) = site.step.filter(|_| matches!(site.view, View::Before(_) | View::Inside(_))) else {
        return Vec::new();
    };
    let restricts_inputs = match &step.kind {
        // A person at a gate sees everything.
        StepKind::HumanGate(_) | StepKind::Questions(_) | StepKind::Terminate(_) | StepKind::Unknown => {
            return Vec::new();
        }
        StepKind::Agent(_)
        | StepKind::Goal(_)
        | StepKind::Reduce(_)
        | StepKind::Verify(_)
        | StepKind::Phase(_) => true,
        StepKind::Script(_)
        | StepKind::Set(_)
        | StepKind::Tool(_)
        | StepKind::Wait(_)
        | StepKind::Workflow(_) => false,
    };
    let declared: Vec<InputReference> =
        step.common.input.iter().filter_map(|text| input_reference::parse(&text.value).ok()).collect();
    references
        .iter()
        .filter(|reference| !reference.guarded)
        .filter(|reference| concerns(outline, &reference.path, restricts_inputs))
        .filter(|reference| !declared.iter().any(|input| covers(&input.path, &reference.path)))
        .map(|reference| undeclared(site, reference))
        .collect()
}

fn concerns(outline: &Outline<'_>, path: &[String], restricts_inputs: bool) -> bool {
    match path {
        [first, second, _, ..] if first == "workflow" && second == "input" => restricts_inputs,
        [first, _, ..] => first != "workflow" && outline.find(first).is_some(),
        _ => false,
    }
}

/// Whether one path leads through the other; `step.field` is short for `step.output.field`.
fn covers(declared: &[String], read: &[String]) -> bool {
    let meets = |declared: &mut dyn Iterator<Item = &String>| declared.zip(read).all(|(a, b)| a == b);
    let output = "output".to_owned();
    meets(&mut declared.iter()) || meets(&mut declared[..1].iter().chain([&output]).chain(&declared[1..]))
}

fn undeclared(site: &Site<'_>, reference: &Reference) -> Diagnostic {
    let path = reference.path.join(".");
    let message = format!("{}: {} reads `{path}`, which its `input` does not name", site.owner, site.key);
    let place = site.text.place_of(reference.range.clone());
    Diagnostic::warning("workflow::not_in_input", message, place, "not visible in explicit mode")
        .help(format!("add `{path}` to `input`"))
}
