//! `output_schema`: a JSON Schema, fields as workflows declare them, or names of fields.
//!
//! What a JSON Schema says beyond the language's own words (`format`, `oneOf`, …) is not checked, and that is said. A
//! field that it does not require may be absent.

use indexmap::IndexMap;
use serde_json::{Map, Value as Json};

use super::super::super::output::OutputField;
use super::super::super::text::Spanned;
use super::super::super::tree::{Node, Value};
use super::super::super::workflow::{Entry, OutputSchema, ValueType};
use super::super::Reader;
use super::super::fields::Fields;
use super::super::output;
use super::super::scalars::Of;
use crate::diagnostic::Span;

/// Words of JSON Schema that are understood.
const KNOWN: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "nullable",
];
/// Words that say nothing about which answers fit, or nothing that is not said anyway.
const HARMLESS: &[&str] = &["$schema", "$id", "$defs", "definitions", "title", "examples", "default"];

/// Reads a shape below a key; nothing when it is absent or says nothing.
pub(in crate::source::read) fn output_schema(
    cx: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &str,
) -> Option<OutputSchema> {
    let node = &fields.take(key)?.value;
    let owner = fields.owner_of(key);
    let schema = match &node.value {
        Value::Scalar(_) => of_text(cx, node, fields.of(key), &owner)?,
        Value::Map(_) if declares_fields(node) => output::shape(cx, node, &owner)?,
        Value::Map(_) => {
            let schema = cx.json(node);
            of_json(cx, &schema, &node.span, &owner)?
        }
        _ => {
            cx.wrong_type(node, fields.of(key), "a JSON Schema, fields or a text");
            return None;
        }
    };
    (!schema.fields.is_empty()).then_some(schema)
}

/// Fields by name, each a mapping with its type; a JSON Schema of an object is told by its own words.
fn declares_fields(node: &Node) -> bool {
    let Value::Map(pairs) = &node.value else { return false };
    let is_schema = node.get("properties").is_some()
        || node.get("type").is_some_and(|kind| matches!(kind.value, Value::Scalar(_)));
    !is_schema && pairs.iter().all(|pair| pair.value.get("type").is_some())
}

/// A JSON Schema as text, or names with commas between them.
fn of_text(cx: &mut Reader<'_>, node: &Node, of: Of<'_>, owner: &str) -> Option<OutputSchema> {
    let text = cx.text(node, of)?;
    if text.value.trim_start().starts_with('{') {
        return match serde_json::from_str(&text.value) {
            Ok(schema) => of_json(cx, &schema, &text.span, owner),
            Err(error) => {
                let message = format!("{owner} is not valid JSON: {error}");
                cx.error("workflow::wrong_type", message, &text.span, "not JSON");
                None
            }
        };
    }
    let names = text.value.split(',').map(str::trim).filter(|name| !name.is_empty());
    Some(named(names, &text.span))
}

/// Fields that must be there, whatever they hold.
fn named<'a>(names: impl Iterator<Item = &'a str>, span: &Span) -> OutputSchema {
    let entry = |name: &str| (name.to_owned(), entry(name, plain(ValueType::Any, true, span), span));
    OutputSchema { fields: names.map(entry).collect(), span: span.clone() }
}

fn of_json(cx: &mut Reader<'_>, schema: &Json, span: &Span, owner: &str) -> Option<OutputSchema> {
    let object = schema.as_object()?;
    let stated = object.get("type").and_then(Json::as_str);
    if stated.is_some_and(|word| word != "object") {
        let message =
            format!("{owner} must describe an object, found `type: {}`", stated.unwrap_or_default());
        cx.error("workflow::wrong_type", message, span, "not an object").help =
            Some("put the value into a field of an object".to_owned());
        return None;
    }
    if stated.is_none() && !object.contains_key("properties") {
        return Some(named(object.keys().map(String::as_str), span));
    }
    let mut reader = JsonSchema { span, ignored: Vec::new() };
    let fields = reader.properties(object);
    if !reader.ignored.is_empty() {
        let are = if reader.ignored.len() == 1 { "is" } else { "are" };
        let message = format!("{owner}: {} {are} not checked", reader.ignored.join(", "));
        cx.warning("workflow::no_effect", message, span, "not all of it is checked");
    }
    Some(OutputSchema { fields, span: span.clone() })
}

struct JsonSchema<'a> {
    span: &'a Span,
    ignored: Vec<String>,
}

impl JsonSchema<'_> {
    fn properties(&mut self, object: &Map<String, Json>) -> IndexMap<String, Entry<OutputField>> {
        let listed = object.get("required").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        let is_required = |name: &str| listed.iter().any(|item| item == name);
        let properties = object.get("properties").and_then(Json::as_object);
        let mut fields: IndexMap<_, _> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| {
                (name.clone(), entry(name, self.field(schema, is_required(name)), self.span))
            })
            .collect();
        // What is required need not be described.
        for name in listed.iter().filter_map(Json::as_str) {
            let field = || entry(name, plain(ValueType::Any, true, self.span), self.span);
            fields.entry(name.to_owned()).or_insert_with(field);
        }
        self.note(object);
        fields
    }

    fn field(&mut self, schema: &Json, required: bool) -> OutputField {
        let Some(object) = schema.as_object() else { return plain(ValueType::Any, required, self.span) };
        let (kind, nullable) = kind(object);
        let number = |key: &str| object.get(key).and_then(Json::as_f64);
        let count = |key: &str| object.get(key).and_then(Json::as_u64);
        let text = |key: &str| object.get(key).and_then(Json::as_str);
        let field = OutputField {
            description: text("description").map(|text| Spanned::new(text.to_owned(), self.span.clone())),
            items: object
                .get("items")
                .filter(|items| items.is_object())
                .map(|items| Box::new(self.field(items, true))),
            properties: object.contains_key("properties").then(|| self.properties(object)),
            allowed: allowed(object),
            pattern: text("pattern")
                .filter(|pattern| regex::Regex::new(pattern).is_ok())
                .map(|pattern| Spanned::new(pattern.to_owned(), self.span.clone())),
            minimum: number("minimum"),
            maximum: number("maximum"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            nullable,
            integer: is_integer(object),
            ..plain(kind, required, self.span)
        };
        self.note(object);
        field
    }

    fn note(&mut self, object: &Map<String, Json>) {
        for (key, value) in object {
            let quoted = format!("`{key}`");
            // Further keys are allowed anyway.
            let said = *value == Json::Bool(true) && key == "additionalProperties";
            let known = [KNOWN, HARMLESS].iter().any(|words| words.contains(&key.as_str())) || said;
            if !known && !self.ignored.contains(&quoted) {
                self.ignored.push(quoted);
            }
        }
    }
}

/// The type of a field, and whether it may be null; several types at once are any.
fn kind(object: &Map<String, Json>) -> (ValueType, bool) {
    let words: Vec<&str> = match object.get("type") {
        Some(Json::String(word)) => vec![word],
        Some(Json::Array(words)) => words.iter().filter_map(Json::as_str).collect(),
        _ if object.contains_key("properties") => vec!["object"],
        _ => Vec::new(),
    };
    let nullable = words.contains(&"null") || object.get("nullable") == Some(&Json::Bool(true));
    let mut others = words.iter().filter(|word| **word != "null");
    let kind = match (others.next().copied(), others.next()) {
        (Some("string"), None) => ValueType::String,
        (Some("number" | "integer"), None) => ValueType::Number,
        (Some("boolean"), None) => ValueType::Boolean,
        (Some("array"), None) => ValueType::Array,
        (Some("object"), None) => ValueType::Object,
        _ => ValueType::Any,
    };
    (kind, nullable)
}

/// Whether its numbers are whole: no type but this one, and null, is named.
fn is_integer(object: &Map<String, Json>) -> bool {
    match object.get("type") {
        Some(Json::String(word)) => word == "integer",
        Some(Json::Array(words)) => {
            let mut others = words.iter().filter(|word| *word != "null");
            others.next().is_some_and(|word| word == "integer") && others.next().is_none()
        }
        _ => false,
    }
}

fn allowed(object: &Map<String, Json>) -> Option<Vec<Json>> {
    let listed = object.get("enum").and_then(Json::as_array).cloned();
    let values = listed.or_else(|| object.get("const").map(|value| vec![value.clone()]))?;
    Some(values.into_iter().filter(|value| !value.is_null()).collect())
}

fn entry(name: &str, value: OutputField, span: &Span) -> Entry<OutputField> {
    Entry { key: Spanned::new(name.to_owned(), span.clone()), value }
}

fn plain(kind: ValueType, required: bool, span: &Span) -> OutputField {
    OutputField { required, ..OutputField::plain(kind, None, span) }
}
