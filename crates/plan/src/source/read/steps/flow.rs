//! `routes`, `needs`, `join`, `on_error`, and what `retry` is about.

use super::super::super::section::Section;
use super::super::super::text::Spanned;
use super::super::super::tree::{Node, Value};
use super::super::super::words::{CLASSES, JOINS, RETRY_ON};
use super::super::super::workflow::{ErrorClass, ErrorRoute, Join, Need, Quorum, Requires, Route};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::scalars::Of;
use crate::diagnostic::Span;

/// Reads `routes`.
pub fn routes(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<Route> {
    let items = fields.list(cx, key).unwrap_or_default();
    let read = |(index, item): (usize, &std::rc::Rc<Node>)| {
        Route::at(cx, item, format!("route {} of {}", index + 1, fields.owner))
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// Reads `to`, which must not be blank.
pub fn target(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<String>> {
    let to = fields.text(cx, key)?;
    if to.value.trim().is_empty() {
        let message = format!("`to` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &to.span, "name a step, a group or `$end`");
        return None;
    }
    Some(to)
}

/// Where `routes` stands, if it was written.
pub fn place_of_routes(fields: &Fields<'_>) -> Option<Span> {
    fields.place_of("routes").cloned()
}

/// Reads `needs`.
pub fn needs(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<Need> {
    let items = fields.list(cx, key).unwrap_or_default();
    items.iter().filter_map(|item| need(cx, item, &fields.owner)).collect()
}

fn need(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<Need> {
    let span = node.span.clone();
    if !matches!(node.value, Value::Map(_)) {
        let step = cx.text(node, Of { key: "needs", owner })?;
        return Some(Need { step, requires: Requires::default(), order: false, item: None, span });
    }
    Need::at(cx, node, format!("a need of {owner}"))
}

/// Reads `join`.
pub fn join(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<Spanned<Join>> {
    let node = &fields.take(key)?.value;
    let span = node.span.clone();
    if matches!(node.value, Value::Map(_)) {
        let join = Quorum::at(cx, node, fields.owner_of(key))?;
        return Some(Spanned::new(Join::Quorum(join.quorum), span));
    }
    let word = cx.choice(node, fields.of(key), JOINS)?;
    let join = match word.value {
        "any" => Join::Any,
        "first_success" => Join::FirstSuccess,
        _ => Join::All,
    };
    Some(Spanned::new(join, span))
}

/// Reads `on_error`.
pub fn on_error(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<ErrorRoute> {
    let items = fields.list(cx, key).unwrap_or_default();
    let read = |(index, item): (usize, &std::rc::Rc<Node>)| {
        ErrorRoute::at(cx, item, format!("entry {} of `on_error` of {}", index + 1, fields.owner))
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// Reads `class`: one class, several, or `any`.
pub fn classes(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<Spanned<ErrorClass>> {
    let Some(pair) = fields.take(key) else { return Vec::new() };
    let of = Of { key, owner: &fields.owner };
    match &pair.value.value {
        Value::Seq(items) => items.iter().filter_map(|item| class(cx, item, of, CLASSES)).collect(),
        _ => {
            let words: Vec<&'static str> = CLASSES.iter().copied().chain(["any"]).collect();
            class(cx, &pair.value, of, &words).into_iter().collect()
        }
    }
}

/// The class of a word; `any` gives none, and none means any.
fn class(
    cx: &mut Reader<'_>,
    node: &Node,
    of: Of<'_>,
    words: &[&'static str],
) -> Option<Spanned<ErrorClass>> {
    let word = cx.choice(node, of, words)?;
    ErrorClass::from_word(word.value).map(|class| Spanned::new(class, word.span))
}

/// Reads `retry_on`; `provider_error` is spelled out as its three classes.
pub fn retry_on(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Vec<ErrorClass> {
    let Some(items) = fields.list(cx, key) else { return expand(&["provider_error", "timeout"]) };
    let of = Of { key, owner: &fields.owner };
    let read = |item: &std::rc::Rc<Node>| cx.choice(item, of, RETRY_ON).map(|word| word.value);
    let words: Vec<&str> = items.iter().filter_map(read).collect();
    expand(&words)
}

fn expand(words: &[&str]) -> Vec<ErrorClass> {
    let mut classes = Vec::new();
    for word in words {
        match *word {
            "provider_error" => {
                classes.extend([ErrorClass::RateLimit, ErrorClass::Capacity, ErrorClass::Transient]);
            }
            word => classes.extend(ErrorClass::from_word(word)),
        }
    }
    let mut seen = std::collections::HashSet::new();
    classes.retain(|class| seen.insert(*class));
    classes
}
