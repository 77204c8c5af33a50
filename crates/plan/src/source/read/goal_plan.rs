//! A plan for a goal as a person writes it: in a file of its own, or in a step.
//!
//! The rules are those for a planner's answer, each told where it was broken and all of them at once. Whoever takes the
//! plan judges it again. Invariant: a plan without a finding has tasks, no circle, no unknown input and no task twice.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::keys::goal::{GIVEN_PLAN, GIVEN_TASK};
use super::super::text::Spanned;
use super::super::tree::{Node, Value};
use super::Reader;
use super::fields::Fields;
use super::scalars::head;
use crate::diagnostic::{Label, Span};
use crate::graph::circles;
use crate::suggest::instead;
use serde_json::Value as Json;

/// What a plan must keep to.
#[derive(Debug, Clone, Copy)]
pub struct PlanTerms {
    /// Tasks at most.
    pub max_tasks: u64,
    /// From here on, in percent, a reason to skip is demanded.
    pub skip_threshold: u64,
}

/// A task, as far as others refer to it.
struct Task {
    id: Spanned<String>,
    description: Option<Spanned<String>>,
    inputs: Vec<Spanned<String>>,
}

/// Judges a plan: a mapping with `tasks`, or the list of tasks alone.
pub fn plan(cx: &mut Reader<'_>, node: &Node, owner: &str, terms: PlanTerms) {
    match &node.value {
        Value::Broken => {}
        Value::Seq(items) => tasks(cx, items, &head(node), owner, terms),
        Value::Map(_) => {
            let Some(mut plan) = Fields::open(cx, node, &GIVEN_PLAN, owner.to_owned()) else { return };
            let place = plan.place_of("tasks").cloned();
            if let (Some(items), Some(place)) = (plan.list(cx, "tasks"), place) {
                tasks(cx, items, &place, owner, terms);
            }
            expect(cx, &mut plan, "complete", "true or false", Json::is_boolean);
            plan.finish(cx);
        }
        Value::Scalar(_) => {
            let message = format!(
                "{owner} must be a list of tasks or a mapping with `tasks`, found {}",
                node.describe()
            );
            cx.error("workflow::wrong_type", message, &node.span, "not a plan");
        }
    }
}

fn tasks(cx: &mut Reader<'_>, items: &[Rc<Node>], place: &Span, owner: &str, terms: PlanTerms) {
    if items.is_empty() {
        let message = format!("{owner} has no tasks");
        cx.error("workflow::empty_value", message, place, "there must be at least one task");
    }
    if let Some(first) = usize::try_from(terms.max_tasks).ok().and_then(|most| items.get(most)) {
        let message = format!(
            "{owner} has {} tasks, and at most {} are allowed (max_tasks)",
            items.len(),
            terms.max_tasks
        );
        cx.error("workflow::out_of_range", message, &head(first), "one task too many");
    }
    let read: Vec<Task> = items
        .iter()
        .enumerate()
        .filter_map(|(index, item)| task(cx, item, index + 1, owner, terms))
        .collect();
    twice(cx, owner, "id", read.iter().map(|task| (task.id.value.clone(), &task.id.span)));
    let described = read.iter().filter_map(|task| task.description.as_ref());
    twice(cx, owner, "description", described.map(|text| (text.value.to_lowercase(), &text.span)));
    // A task that could not be read may be the one that another needs.
    if read.len() == items.len() {
        follow_inputs(cx, &read, owner);
    }
}

fn task(cx: &mut Reader<'_>, node: &Node, number: usize, owner: &str, terms: PlanTerms) -> Option<Task> {
    let mut fields = Fields::open(cx, node, &GIVEN_TASK, format!("task {number} of {owner}"))?;
    let id = expect(cx, &mut fields, "id", "a name", |id| name(id).is_some());
    let id = match id {
        Some((id, span)) => Spanned::new(name(&id)?, span),
        None => Spanned::new(number.to_string(), fields.head.clone()),
    };
    let read =
        Task { id, description: description(cx, &mut fields), inputs: names(cx, &mut fields, "inputs") };
    names(cx, &mut fields, "tools");
    for replaced in names(cx, &mut fields, "replaces") {
        let message = format!(
            "task `{}` of {owner} replaces `{}`, and nothing was done yet",
            read.id.value, replaced.value
        );
        cx.error("workflow::unknown_task", message, &replaced.span, "no task has failed so far");
    }
    expect(cx, &mut fields, "priority", "a number", Json::is_number);
    for key in ["estimated_tokens", "estimated_seconds"] {
        expect(cx, &mut fields, key, "a number from 0 on", |amount| {
            amount.as_f64().is_some_and(|amount| amount >= 0.0)
        });
    }
    skip(cx, &mut fields, &read.id.value, owner, terms);
    fields.finish(cx);
    Some(read)
}

/// A task that is likely to be skipped says why.
fn skip(cx: &mut Reader<'_>, fields: &mut Fields<'_>, id: &str, owner: &str, terms: PlanTerms) {
    let is_percent =
        |percent: &Json| percent.as_f64().is_some_and(|percent| (0.0..=100.0).contains(&percent));
    let likely = expect(cx, fields, "skip_probability", "a number between 0 and 100", is_percent);
    let reason = expect(cx, fields, "skip_reason", "a text", Json::is_string);
    let says_why =
        reason.is_some_and(|(reason, _)| reason.as_str().is_some_and(|text| !text.trim().is_empty()));
    let Some((likely, span)) = likely else { return };
    if !says_why && likely.as_f64().is_some_and(|likely| likely.round() >= terms.skip_threshold as f64) {
        let message =
            format!("task `{id}` of {owner} is to be skipped, and its `skip_reason` does not say why");
        let label = format!("skipped from {} on", terms.skip_threshold);
        cx.error("workflow::needs_key", message, &span, &label);
    }
}

fn description(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<String>> {
    let (text, span) = expect(cx, fields, "description", "a text", Json::is_string)?;
    let text = text.as_str().unwrap_or_default().trim().to_owned();
    if text.is_empty() {
        let message = format!("`description` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &span, "say what is to be done");
        return None;
    }
    Some(Spanned::new(text, span))
}

/// A value as it is written, if it is what it must be; reported if not.
fn expect(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
    what: &str,
    fits: impl Fn(&Json) -> bool,
) -> Option<(Json, Span)> {
    let node = &fields.take(key)?.value;
    let value = node.as_written();
    if !fits(&value) {
        cx.wrong_type(node, fields.of(key), what);
        return None;
    }
    Some((value, node.span.clone()))
}

fn names(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<Spanned<String>> {
    let items = fields.list(cx, key).unwrap_or_default();
    let mut read = Vec::with_capacity(items.len());
    for item in items {
        match name(&item.as_written()) {
            Some(name) => read.push(Spanned::new(name, item.span.clone())),
            None => drop(cx.wrong_type(item, fields.of(key), "a list of names")),
        }
    }
    read
}

/// A name; people write numbers for them as well.
fn name(value: &Json) -> Option<String> {
    match value {
        Json::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn twice<'t>(cx: &mut Reader<'_>, owner: &str, key: &str, all: impl Iterator<Item = (String, &'t Span)>) {
    let mut seen: HashMap<String, &Span> = HashMap::new();
    for (value, span) in all {
        match seen.get(&value) {
            None => drop(seen.insert(value, span)),
            Some(first) => {
                let message = format!("two tasks of {owner} have the {key} `{value}`");
                let found = cx.error("workflow::duplicate", message, span, "the second one");
                found.labels.push(Label { span: (*first).clone(), text: "the first one".into() });
            }
        }
    }
}

fn follow_inputs(cx: &mut Reader<'_>, tasks: &[Task], owner: &str) {
    let index: HashMap<&str, usize> =
        tasks.iter().enumerate().rev().map(|(ix, task)| (task.id.value.as_str(), ix)).collect();
    let available: Vec<&str> = tasks.iter().map(|task| task.id.value.as_str()).collect();
    for task in tasks {
        for input in task.inputs.iter().filter(|input| !index.contains_key(input.value.as_str())) {
            let message = format!(
                "task `{}` of {owner} needs `{}`, and there is no such task",
                task.id.value, input.value
            );
            let found = cx.error("workflow::unknown_task", message, &input.span, "no task has this id");
            found.help = Some(instead(&input.value, &available));
        }
    }
    let needed = |ix: usize| -> Vec<usize> {
        tasks[ix].inputs.iter().filter_map(|input| index.get(input.value.as_str()).copied()).collect()
    };
    for circle in circles(tasks.len(), &needed) {
        let names: Vec<&str> =
            circle.iter().chain(circle.first()).map(|ix| tasks[*ix].id.value.as_str()).collect();
        let message = format!("tasks of {owner} wait for each other in a circle: {}", names.join(" → "));
        let closes = &tasks[circle[0]];
        let place = closes.inputs.iter().find(|input| names.get(1) == Some(&input.value.as_str()));
        let place = place.map_or(&closes.id.span, |input| &input.span);
        cx.error("workflow::task_cycle", message, place, "leads back to the task itself");
    }
}
