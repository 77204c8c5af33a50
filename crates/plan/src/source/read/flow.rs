//! `routes`, `needs`, `join`, `on_error`, `retry`, `labels`.

use std::time::Duration;

use super::super::keys::flow::{ERROR_ROUTE, NEED, QUORUM, ROUTE};
use super::super::text::Spanned;
use super::super::tree::{Node, Value};
use super::super::words::{CLASSES, JOINS, RETRY_ON};
use super::super::workflow::{ErrorClass, ErrorRoute, Join, Labels, Need, Requires, Retry, Route};
use super::Reader;
use super::fields::Fields;
use super::scalars::Of;

/// Reads `routes`.
pub(super) fn routes(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Route> {
    let items = fields.list(cx, "routes").unwrap_or_default();
    let read = |(index, item): (usize, &std::rc::Rc<Node>)| {
        let owner = format!("route {} of {}", index + 1, fields.owner);
        route(cx, item, owner)
    };
    items.iter().enumerate().filter_map(read).collect()
}

fn route(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<Route> {
    let mut fields = Fields::open(cx, node, &ROUTE, owner)?;
    let to = target(cx, &mut fields);
    let when = fields.template(cx, "when");
    let output = fields.template_map(cx, "output");
    fields.finish(cx);
    Some(Route { to: to?, when, output, span: node.span.clone() })
}

fn target(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<String>> {
    let to = fields.text(cx, "to")?;
    if to.value.trim().is_empty() {
        let message = format!("`to` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &to.span, "name a step, a group or `$end`");
        return None;
    }
    Some(to)
}

/// Reads `needs`.
pub(super) fn needs(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Need> {
    let items = fields.list(cx, "needs").unwrap_or_default();
    items.iter().filter_map(|item| need(cx, item, &fields.owner)).collect()
}

fn need(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<Need> {
    let span = node.span.clone();
    if !matches!(node.value, Value::Map(_)) {
        let step = cx.text(node, Of { key: "needs", owner })?;
        return Some(Need { step, requires: Requires::default(), order: false, item: None, span });
    }
    let mut fields = Fields::open(cx, node, &NEED, format!("a need of {owner}"))?;
    let step = fields.text(cx, "step");
    let requires = fields.choice(cx, "requires").map(|word| word.value).unwrap_or_default();
    fields.finish(cx);
    Some(Need { step: step?, requires, order: false, item: None, span })
}

/// Reads `join`.
pub(super) fn join(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<Join>> {
    let node = &fields.take("join")?.value;
    let span = node.span.clone();
    if matches!(node.value, Value::Map(_)) {
        let mut quorum = Fields::open(cx, node, &QUORUM, fields.owner_of("join"))?;
        let count = quorum.integer(cx, "quorum");
        quorum.finish(cx);
        return count.map(|count| Spanned::new(Join::Quorum(count.value), span));
    }
    let word = cx.choice(node, Of { key: "join", owner: &fields.owner }, JOINS)?;
    let join = match word.value {
        "any" => Join::Any,
        "first_success" => Join::FirstSuccess,
        _ => Join::All,
    };
    Some(Spanned::new(join, span))
}

/// Reads `on_error`.
pub(super) fn on_error(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<ErrorRoute> {
    let items = fields.list(cx, "on_error").unwrap_or_default();
    let read = |(index, item): (usize, &std::rc::Rc<Node>)| {
        error_route(cx, item, format!("entry {} of `on_error` of {}", index + 1, fields.owner))
    };
    items.iter().enumerate().filter_map(read).collect()
}

fn error_route(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<ErrorRoute> {
    let mut fields = Fields::open(cx, node, &ERROR_ROUTE, owner)?;
    let classes = classes(cx, &mut fields);
    let to = target(cx, &mut fields);
    fields.finish(cx);
    Some(ErrorRoute { classes, to: to?, span: node.span.clone() })
}

fn classes(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Spanned<ErrorClass>> {
    let Some(pair) = fields.take("class") else { return Vec::new() };
    let of = Of { key: "class", owner: &fields.owner };
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

/// Reads `retry`.
pub(super) fn retry(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Retry> {
    let mut fields = fields.object(cx, "retry")?;
    let span = fields.span.clone();
    let attempts = fields.integer(cx, "max_attempts").map(|attempts| attempts.map(|count| count as u32));
    let delay = fields.number(cx, "delay_seconds").map_or(2.0, |delay| delay.value);
    let retry = Retry {
        max_attempts: attempts.unwrap_or_else(|| Spanned::new(1, span.clone())),
        backoff: fields.choice(cx, "backoff").map(|word| word.value).unwrap_or_default(),
        delay: Duration::from_secs_f64(delay),
        retry_on: retry_on(cx, &mut fields),
        max_parse_recovery_attempts: fields
            .integer(cx, "max_parse_recovery_attempts")
            .map(|attempts| attempts.map(|count| count as u32)),
        span,
    };
    fields.finish(cx);
    Some(retry)
}

fn retry_on(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<ErrorClass> {
    let Some(items) = fields.list(cx, "retry_on") else { return expand(&["provider_error", "timeout"]) };
    let of = Of { key: "retry_on", owner: &fields.owner };
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

/// Reads `labels`.
pub(super) fn labels(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Labels {
    let Some(mut fields) = fields.object(cx, "labels") else { return Labels::default() };
    let labels = Labels {
        priority: fields.choice(cx, "priority"),
        class: fields.choice(cx, "class"),
        tenant: fields.text(cx, "tenant"),
    };
    fields.finish(cx);
    labels
}
