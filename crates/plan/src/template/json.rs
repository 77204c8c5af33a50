//! Between JSON and the values of templates, both ways, and JSON as Python's `json.dumps` writes it.
//!
//! Integers stay integers, floats stay floats, keys keep their order.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};
use serde_json::{Map, Number, Value as Json};

use super::limits::OUTPUT_BYTES;
use super::python::{float_text, python_text};

/// The template value of a JSON value.
pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => from_number(number),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(from_json).collect::<Vec<_>>()),
        Json::Object(entries) => {
            Value::from_pairs(entries.iter().map(|(key, item)| (Value::from(key.as_str()), from_json(item))))
        }
    }
}

/// The template value of a JSON text, without a tree in between.
pub fn from_json_text(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text)
}

fn from_number(number: &Number) -> Value {
    if let Some(integer) = number.as_i64() {
        return Value::from(integer);
    }
    match number.as_u64() {
        Some(integer) => Value::from(integer),
        None => Value::from(number.as_f64().unwrap_or_default()),
    }
}

/// The JSON of a template value: what JSON cannot hold becomes its text, what is undefined or not a number becomes null.
pub fn to_json(value: &Value) -> Json {
    nested_json(value, 0)
}

fn nested_json(value: &Value, depth: usize) -> Json {
    match value.kind() {
        _ if depth > DEPTH => Json::Null,
        ValueKind::Undefined | ValueKind::None => Json::Null,
        ValueKind::Bool => Json::Bool(value.is_true()),
        ValueKind::Number => to_number(value),
        ValueKind::String => Json::String(value.as_str().unwrap_or_default().to_owned()),
        ValueKind::Seq | ValueKind::Iterable => Json::Array(
            value.try_iter().into_iter().flatten().map(|item| nested_json(&item, depth + 1)).collect(),
        ),
        ValueKind::Map => Json::Object(to_entries(value, depth)),
        _ => Json::String(python_text(value)),
    }
}

fn to_number(value: &Value) -> Json {
    if let Some(integer) = value.is_integer().then(|| value.as_i64()).flatten() {
        return Json::from(integer);
    }
    if let Ok(integer) = u64::try_from(value.clone())
        && value.is_integer()
    {
        return Json::from(integer);
    }
    f64::try_from(value.clone()).ok().and_then(Number::from_f64).map_or(Json::Null, Json::Number)
}

fn to_entries(value: &Value, depth: usize) -> Map<String, Json> {
    let pairs = value.as_object().and_then(|object| object.try_iter_pairs());
    pairs.into_iter().flatten().map(|(key, item)| (key_text(&key), nested_json(&item, depth + 1))).collect()
}

/// The key that JSON gets for a key of any type.
fn key_text(key: &Value) -> String {
    match key.kind() {
        ValueKind::Bool => key.is_true().to_string(),
        ValueKind::None => "null".to_owned(),
        _ => python_text(key),
    }
}

/// How deep a value is written; what readers of JSON refuse anyway, and a namespace can hold itself.
const DEPTH: usize = 250;

/// How `json.dumps` is asked to write.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    /// One level of indentation; `None` writes on one line.
    pub indent: Option<String>,
    /// Whether keys are sorted.
    pub sorted: bool,
}

/// Writes as Python's `json.dumps` does: ASCII only, `, ` and `: ` between things; `None` if that is more than a
/// rendering may give. Indentation can make a small value that nests deeply very long.
pub(super) fn dump(value: &Value, layout: &Layout) -> Option<String> {
    let mut out = String::new();
    write_json(&mut out, value, layout, 0);
    (out.len() <= OUTPUT_BYTES).then_some(out)
}

fn write_json(out: &mut String, value: &Value, layout: &Layout, depth: usize) {
    match value.kind() {
        _ if out.len() > OUTPUT_BYTES => {}
        _ if depth > DEPTH => out.push_str("null"),
        ValueKind::Undefined | ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => write_number(out, value),
        ValueKind::Seq | ValueKind::Iterable => write_array(out, value, layout, depth),
        ValueKind::Map => write_object(out, value, layout, depth),
        _ => match value.as_str() {
            Some(text) => write_string(out, text),
            None => write_string(out, &python_text(value)),
        },
    }
}

fn write_number(out: &mut String, value: &Value) {
    match (value.is_integer(), f64::try_from(value.clone())) {
        (false, Ok(number)) if number.is_nan() => out.push_str("NaN"),
        (false, Ok(number)) if number.is_infinite() => {
            out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" });
        }
        (false, Ok(number)) => out.push_str(&float_text(number)),
        _ => {
            let _ = write!(out, "{value}");
        }
    }
}

fn write_array(out: &mut String, value: &Value, layout: &Layout, depth: usize) {
    let items: Vec<Value> = value.try_iter().into_iter().flatten().collect();
    if items.is_empty() {
        return out.push_str("[]");
    }
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if out.len() > OUTPUT_BYTES {
            return;
        }
        write_gap(out, layout, depth + 1, at > 0);
        write_json(out, item, layout, depth + 1);
    }
    write_end(out, layout, depth);
    out.push(']');
}

fn write_object(out: &mut String, value: &Value, layout: &Layout, depth: usize) {
    let pairs = value.as_object().and_then(|object| object.try_iter_pairs());
    let mut pairs: Vec<(String, Value)> =
        pairs.into_iter().flatten().map(|(key, item)| (key_text(&key), item)).collect();
    if pairs.is_empty() {
        return out.push_str("{}");
    }
    if layout.sorted {
        pairs.sort_by(|left, right| left.0.cmp(&right.0));
    }
    out.push('{');
    for (at, (key, item)) in pairs.iter().enumerate() {
        if out.len() > OUTPUT_BYTES {
            return;
        }
        write_gap(out, layout, depth + 1, at > 0);
        write_string(out, key);
        out.push_str(": ");
        write_json(out, item, layout, depth + 1);
    }
    write_end(out, layout, depth);
    out.push('}');
}

/// What stands before an item: the comma of the one before it and the line's indentation.
fn write_gap(out: &mut String, layout: &Layout, depth: usize, follows: bool) {
    match &layout.indent {
        None if follows => out.push_str(", "),
        None => {}
        Some(indent) => {
            out.push_str(if follows { ",\n" } else { "\n" });
            out.push_str(&indent.repeat(depth));
        }
    }
}

fn write_end(out: &mut String, layout: &Layout, depth: usize) {
    if let Some(indent) = &layout.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    // Most texts need no escape: what does not is copied in one piece.
    while let Some(at) = rest.find(|c: char| !matches!(c, ' '..='~') || matches!(c, '"' | '\\')) {
        out.push_str(&rest[..at]);
        let mut escaped = rest[at..].chars();
        escaped.by_ref().take(1).for_each(|character| write_escaped(out, character));
        rest = escaped.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn write_escaped(out: &mut String, character: char) {
    match character {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        _ => write_unicode(out, character),
    }
}

fn write_unicode(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}
