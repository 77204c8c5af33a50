//! Edges and their conditions.

use super::super::super::keys::personas::{CONDITION, EDGE};
use super::super::super::personas::{Edge, Kind};
use super::super::super::text::{Spanned, Text};
use super::super::super::tree::scalar::{Typed, typed};
use super::super::super::tree::{Node as Tree, Value};
use super::super::super::workflow::Condition;
use super::super::Reader;
use super::super::fields::Fields;
use super::super::scalars::Of;
use super::name;

/// Reads an edge.
pub(super) fn edge(cx: &mut Reader<'_>, node: &Tree, owner: String) -> Option<Edge> {
    let mut fields = Fields::open(cx, node, &EDGE, owner)?;
    let (from, to) = (name(cx, &mut fields, "from"), name(cx, &mut fields, "to"));
    if !from.value.is_empty() && !to.value.is_empty() {
        fields.owner = format!("the edge from `{}` to `{}`", from.value, to.value);
    }
    let edge = Edge {
        on: fields.choice(cx, "on"),
        event: fields.text(cx, "event"),
        when: when(cx, &mut fields),
        max_rounds: max_rounds(cx, &mut fields),
        last: false,
        from,
        to,
    };
    fields.finish(cx);
    Some(edge)
}

/// A bound that cannot be read is reported as such; that the circle has none would be said beside it.
fn max_rounds(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<u64>> {
    const LEAST: u64 = 2;
    let place = fields.place_of("maxRounds").cloned();
    fields.integer(cx, "maxRounds").or_else(|| place.map(|place| Spanned::new(LEAST, place)))
}

/// One condition or a list of them.
fn when(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Vec<Condition> {
    let Some(pair) = fields.take("when") else { return Vec::new() };
    let one = [pair.value.clone()];
    let items = match &pair.value.value {
        Value::Seq(items) => items.as_slice(),
        _ => &one,
    };
    items.iter().filter_map(|item| condition(cx, item, &fields.owner)).collect()
}

/// A text is an expression.
fn condition(cx: &mut Reader<'_>, node: &Tree, owner: &str) -> Option<Condition> {
    if !matches!(node.value, Value::Map(_)) {
        let text = cx.template(node, Of { key: "when", owner })?;
        return expression(cx, text, owner);
    }
    let mut fields = Fields::open(cx, node, &CONDITION, format!("a condition of {owner}"))?;
    let kind: Option<Spanned<Kind>> = fields.choice(cx, "type");
    let read = kind.as_ref().and_then(|kind| of_kind(cx, &mut fields, kind.value));
    if let Some(kind) = &kind {
        misplaced(cx, &fields, kind.value);
    }
    for (key, _) in OWNED {
        fields.take(key);
    }
    fields.finish(cx);
    read
}

fn of_kind(cx: &mut Reader<'_>, fields: &mut Fields<'_>, kind: Kind) -> Option<Condition> {
    for (key, _) in OWNED.iter().filter(|(_, owner)| *owner == kind) {
        fields.require(cx, key);
    }
    match kind {
        Kind::Always => Some(Condition::Always),
        Kind::StateFlag => {
            let key = fields.text(cx, "key");
            let equals = strict_boolean(cx, fields, "equals");
            Some(Condition::StateFlag { key: key?, equals: equals? })
        }
        Kind::HistoryHasEvent => fields.text(cx, "event").map(Condition::HistoryHasEvent),
        Kind::FileExists => path(cx, fields).map(Condition::FileExists),
        Kind::Expression => {
            let owner = fields.owner.clone();
            let text = fields.template(cx, "expr")?;
            expression(cx, text, &owner)
        }
    }
}

/// Keys that go with one type of condition only, and that it cannot do without.
const OWNED: &[(&str, Kind)] = &[
    ("key", Kind::StateFlag),
    ("equals", Kind::StateFlag),
    ("event", Kind::HistoryHasEvent),
    ("path", Kind::FileExists),
    ("expr", Kind::Expression),
];

fn misplaced(cx: &mut Reader<'_>, fields: &Fields<'_>, kind: Kind) {
    for (key, owner) in OWNED.iter().filter(|(_, owner)| *owner != kind) {
        if let Some(place) = fields.place_of(key) {
            let message = format!("`{key}` of {} goes with `type: {}` only", fields.owner, owner.word());
            cx.error("workflow::needs_key", message, place, "has no meaning here");
        }
    }
}

/// True or false and nothing that merely reads like it: a flag is a boolean wherever it is kept.
fn strict_boolean(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<bool> {
    let pair = fields.take(key)?;
    match &pair.value.value {
        Value::Scalar(scalar) if matches!(typed(scalar), Typed::Bool(_)) => {
            matches!(typed(scalar), Typed::Bool(true)).into()
        }
        _ => {
            cx.wrong_type(&pair.value, fields.of(key), "true or false");
            None
        }
    }
}

fn path(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<String>> {
    let path = fields.text(cx, "path")?;
    if path.value.trim().is_empty() {
        let message = format!("`path` of {} is empty", fields.owner);
        cx.error("workflow::empty_value", message, &path.span, "name a file");
        return None;
    }
    if leads_out(&path.value) {
        let message =
            format!("`path` of {} leads out of the folder of the run: `{}`", fields.owner, path.value);
        let label = "only files below the folder of the run are looked for";
        cx.error("workflow::bad_path", message, &path.span, label);
        return None;
    }
    Some(path)
}

/// Whether a path begins elsewhere or goes up; also as it would be written on other machines.
fn leads_out(path: &str) -> bool {
    let from_root = path.starts_with(['/', '\\', '~']) || path.as_bytes().get(1) == Some(&b':');
    from_root || path.split(['/', '\\']).any(|part| part == "..")
}

fn expression(cx: &mut Reader<'_>, text: Text, owner: &str) -> Option<Condition> {
    if text.value.trim().is_empty() {
        let message = format!("a condition of {owner} is empty");
        cx.error("workflow::empty_value", message, &text.span, "an expression is required here");
        return None;
    }
    Some(Condition::Expression(text))
}
