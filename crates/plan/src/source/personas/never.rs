//! Edges that can never be taken, or only by an oddity.

use std::collections::{BTreeMap, HashMap};

use super::super::broken::broken_condition;
use super::super::text::{Spanned, Text};
use super::super::workflow::{Condition, edge_between};
use super::{Edge, Manifest};
use crate::diagnostic::Diagnostic;
use crate::plan::{On, TASK_BLOCKED, follows_from};
use crate::template::{ConditionId, ConditionSource, Renderer, Value, parse_condition};

/// Looks at every edge.
pub(super) fn judge(manifest: &Manifest, findings: &mut Vec<Diagnostic>) {
    for edge in &manifest.edges {
        contradiction(&edge.when, findings);
        let lenient = manifest.blocked_any_status();
        findings.extend(announced_by_another_end(edge).filter(|_| !lenient || !waits_for_block(edge)));
        for condition in &edge.when {
            if let Condition::Expression(text) = condition {
                findings.extend(unreadable(edge, text).or_else(|| constant(text)));
            }
        }
    }
}

/// A flag that must be two things at once.
fn contradiction(when: &[Condition], findings: &mut Vec<Diagnostic>) {
    let mut wanted: HashMap<&str, (bool, &Spanned<String>)> = HashMap::new();
    for condition in when {
        let Condition::StateFlag { key, equals } = condition else { continue };
        let (first, place) = *wanted.entry(&key.value).or_insert((*equals, key));
        if first != *equals {
            let message = format!("the flag `{}` must be true and false: the edge is never taken", key.value);
            let found = Diagnostic::error("workflow::never_holds", message, key.span.clone(), "the opposite");
            findings.push(found.also(place.span.clone(), "and this"));
        }
    }
}

fn waits_for_block(edge: &Edge) -> bool {
    edge.event.as_ref().is_some_and(|event| event.value == TASK_BLOCKED)
}

/// What follows from the status that ends a phase is not announced by one that ended otherwise. A failed validation may have
/// been that of an earlier try.
fn announced_by_another_end(edge: &Edge) -> Option<Diagnostic> {
    let (on, event) = edge.on.as_ref().zip(edge.event.as_ref())?;
    let follows = follows_from(&event.value).filter(|follows| *follows != On::ValidationFail)?;
    if matches!(on.value, On::Always) || on.value == follows {
        return None;
    }
    let status = follows.word();
    let message =
        format!("the edge to `{}` is never taken: `{}` follows from {status}", edge.to.value, event.value);
    let label = format!("follows from {status}");
    let found = Diagnostic::warning("workflow::never_holds", message, event.span.clone(), label.as_str());
    Some(found.also(on.span.clone(), "and this is another status").help("leave one of the two out"))
}

/// A condition that cannot be read. Where nothing is wrong with its phases this is found once more with their texts, and
/// told once; else it would be overlooked.
fn unreadable(edge: &Edge, text: &Text) -> Option<Diagnostic> {
    let error = parse_condition(&text.value).err()?;
    Some(broken_condition(&edge_between(&edge.from.value, &edge.to.value), text, error))
}

/// An expression that looks at nothing and is false.
fn constant(text: &Text) -> Option<Diagnostic> {
    let parsed = parse_condition(&text.value).ok()?;
    let is_constant = parsed.references().is_empty();
    if !is_constant || holds(&text.value)? {
        return None;
    }
    let message = format!("the condition `{}` never holds: the edge is never taken", text.value.trim());
    let found = Diagnostic::warning("workflow::never_holds", message, text.span.clone(), "always false");
    Some(found.help("flags stand in `state.flags`, what phases gave in `NODE.output.payload`"))
}

fn holds(text: &str) -> Option<bool> {
    let conditions = [ConditionSource { text: text.into() }];
    let renderer = Renderer::new(&[], &conditions, &BTreeMap::new());
    renderer.test(ConditionId(0), Value::from(())).ok()
}
