//! Whether a value has the shape that a step declares.
//!
//! Checks what the language promises and no more: keys that are not declared are allowed, a boolean is no number, a
//! pattern is searched for. Every message names the field, what is expected and what came, because it is sent back to
//! the model word for word. A value that fits costs no allocation.

use crate::excerpt::first_chars;
use crate::{OutputField, OutputSchema};
use fancy_regex::Regex;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock, RwLock};

/// Messages past this many would only bury the first ones.
const MOST_VIOLATIONS: usize = 8;

/// What a value breaks, in the order of the schema; empty if it fits.
pub fn violations(schema: &OutputSchema, object: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    check_fields(&schema.fields, object, &Place::Root, &mut found);
    found.truncate(MOST_VIOLATIONS);
    found
}

/// A few words about a value, short enough for a message.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(value) => format!("boolean {value}"),
        Value::Number(value) => format!("number {value}"),
        Value::String(text) => format!("string {}", quoted(text)),
        Value::Array(items) => format!("array of {}", items.len()),
        Value::Object(fields) => format!("object with {} keys", fields.len()),
    }
}

fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let shown = first_chars(text, MOST);
    let mark = if shown.len() < text.len() { "…" } else { "" };
    format!("{shown:?}{mark}")
}

/// Where in the value we are; written out only when something is wrong there.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(Place::Root, name) => f.write_str(name),
            Place::Field(parent, name) => write!(f, "{parent}.{name}"),
            Place::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn check_fields(
    fields: &IndexMap<String, OutputField>,
    object: &Map<String, Value>,
    place: &Place<'_>,
    found: &mut Vec<String>,
) {
    for (name, field) in fields {
        let place = Place::Field(place, name);
        match object.get(name) {
            Some(value) => check(field, value, &place, found),
            None if field.required => found.push(missing(field, object, &place)),
            None => {}
        }
    }
}

fn missing(field: &OutputField, object: &Map<String, Value>, place: &Place<'_>) -> String {
    let mut message = format!("field `{place}` is missing: expected {}", field.ty.word());
    if !object.is_empty() {
        let names: Vec<_> = object.keys().take(MOST_VIOLATIONS).map(|name| format!("`{name}`")).collect();
        let _ = write!(message, ", got only {}", names.join(", "));
    }
    message
}

fn check(field: &OutputField, value: &Value, place: &Place<'_>, found: &mut Vec<String>) {
    if found.len() >= MOST_VIOLATIONS || (value.is_null() && field.nullable) {
        return;
    }
    if !field.ty.fits(value) {
        let or_null = if field.nullable { " or null" } else { "" };
        let expected = format!("expected {}{or_null}", field.ty.word());
        return found.push(format!("field `{place}`: {expected}, got {}", describe(value)));
    }
    check_choices(field, value, place, found);
    match value {
        Value::String(text) => check_text(field, text, place, found),
        Value::Number(number) => check_bounds(field, number.as_f64().unwrap_or(f64::NAN), place, found),
        Value::Array(items) => check_items(field, items, place, found),
        Value::Object(object) => {
            check_fields(field.properties.as_ref().unwrap_or(&NO_FIELDS), object, place, found)
        }
        Value::Null | Value::Bool(_) => {}
    }
}

static NO_FIELDS: LazyLock<IndexMap<String, OutputField>> = LazyLock::new(IndexMap::new);

fn check_choices(field: &OutputField, value: &Value, place: &Place<'_>, found: &mut Vec<String>) {
    let Some(choices) = &field.choices else { return };
    if !choices.iter().any(|choice| same(choice, value)) {
        let allowed: Vec<_> = choices.iter().map(Value::to_string).collect();
        found.push(format!(
            "field `{place}`: expected one of {}, got {}",
            allowed.join(", "),
            describe(value)
        ));
    }
}

/// 1 and 1.0 are the same number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

fn check_text(field: &OutputField, text: &str, place: &Place<'_>, found: &mut Vec<String>) {
    if field.min_length.is_some() || field.max_length.is_some() {
        let length = text.chars().count() as u64;
        if let Some(least) = field.min_length.filter(|least| length < *least) {
            found.push(format!(
                "field `{place}`: expected at least {least} characters, got {length}: {}",
                quoted(text)
            ));
        }
        if let Some(most) = field.max_length.filter(|most| length > *most) {
            found.push(format!(
                "field `{place}`: expected at most {most} characters, got {length}: {}",
                quoted(text)
            ));
        }
    }
    if let Some(pattern) = &field.pattern
        && !matches(pattern, text)
    {
        found.push(format!(
            "field `{place}`: expected text that matches the pattern `{pattern}`, got {}",
            quoted(text)
        ));
    }
}

fn check_bounds(field: &OutputField, number: f64, place: &Place<'_>, found: &mut Vec<String>) {
    if field.integer && number.fract() != 0.0 {
        found.push(format!("field `{place}`: expected a whole number, got {number}"));
    }
    if let Some(least) = field.minimum.filter(|least| number < *least) {
        found.push(format!("field `{place}`: expected at least {least}, got {number}"));
    }
    if let Some(most) = field.maximum.filter(|most| number > *most) {
        found.push(format!("field `{place}`: expected at most {most}, got {number}"));
    }
}

fn check_items(field: &OutputField, items: &[Value], place: &Place<'_>, found: &mut Vec<String>) {
    let Some(item) = &field.items else { return };
    for (index, value) in items.iter().enumerate() {
        check(item, value, &Place::Item(place, index), found);
    }
}

/// Whether the pattern is found in the text. A pattern that cannot be used, or that takes too long, is found nowhere.
fn matches(pattern: &str, text: &str) -> bool {
    compiled(pattern).is_some_and(|regex| regex.is_match(text).unwrap_or(false))
}

/// Patterns come from workflow files, so there are few of them and they live as long as the process.
fn compiled(pattern: &str) -> Option<Arc<Regex>> {
    static CACHE: LazyLock<RwLock<HashMap<String, Option<Arc<Regex>>>>> = LazyLock::new(Default::default);
    if let Some(known) = CACHE.read().expect("a panic poisoned this lock").get(pattern) {
        return known.clone();
    }
    let regex = Regex::new(pattern).ok().map(Arc::new);
    CACHE.write().expect("a panic poisoned this lock").insert(pattern.into(), regex.clone());
    regex
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(value: Value) -> OutputSchema {
        serde_json::from_value(value).unwrap()
    }

    fn check_value(fields: Value, value: Value) -> Vec<String> {
        violations(&schema(fields), value.as_object().unwrap())
    }

    #[test]
    fn every_type_is_told_from_the_others() {
        let samples = [json!("x"), json!(1.5), json!(true), json!([1]), json!({"k": 1})];
        for (at, word) in ["string", "number", "boolean", "array", "object"].iter().enumerate() {
            for (other, sample) in samples.iter().enumerate() {
                let found = check_value(json!({"f": {"type": word}}), json!({"f": sample}));
                assert_eq!(found.is_empty(), at == other, "{word} and {sample}");
            }
        }
    }

    #[test]
    fn messages_name_field_expectation_and_what_came() {
        let found = check_value(
            json!({"n": {"type": "number"}, "m": {"type": "string"}}),
            json!({"n": "four", "x": 1}),
        );
        assert_eq!(
            found,
            [
                "field `n`: expected number, got string \"four\"",
                "field `m` is missing: expected string, got only `n`, `x`",
            ]
        );
    }

    #[test]
    fn pattern_length_and_range_hold_at_their_edges() {
        let fields = json!({
            "id": {"type": "string", "pattern": "[A-Z]-(?=1)", "minLength": 3, "maxLength": 4},
            "score": {"type": "number", "minimum": 0, "maximum": 10}
        });
        assert!(check_value(fields.clone(), json!({"id": "ÄA-1", "score": 10})).is_empty());
        assert!(check_value(fields.clone(), json!({"id": "A-1", "score": 0})).is_empty());
        let found = check_value(fields, json!({"id": "A-222", "score": 10.5}));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn nested_fields_may_be_absent_or_null_only_where_declared() {
        let fields = json!({"rows": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"},
            "age": {"type": "number", "nullable": true},
            "note": {"type": "string", "required": false}
        }}}});
        assert!(check_value(fields.clone(), json!({"rows": [{"name": "x", "age": null}]})).is_empty());
        let found = check_value(fields, json!({"rows": [{"name": "x", "age": 1}, {"age": 3, "note": null}]}));
        assert_eq!(
            found,
            [
                "field `rows[1].name` is missing: expected string, got only `age`, `note`",
                "field `rows[1].note`: expected string, got null",
            ]
        );
    }

    #[test]
    fn choices_compare_numbers_by_value() {
        let fields = json!({"n": {"type": "number", "enum": [1, 2]}});
        assert!(check_value(fields.clone(), json!({"n": 1.0})).is_empty());
        assert_eq!(check_value(fields, json!({"n": 3})), ["field `n`: expected one of 1, 2, got number 3"]);
    }
}
