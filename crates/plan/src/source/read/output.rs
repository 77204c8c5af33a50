//! Output fields: types, bounds and what contradicts itself.

use serde_json::Value as Json;

use super::super::keys::output::OUTPUT_FIELD;
use super::super::output::OutputField;
use super::super::text::Spanned;
use super::super::tree::{Node, Pair, Value};
use super::super::workflow::{Entry, OutputSchema, ValueType};
use super::Reader;
use super::fields::Fields;
use crate::diagnostic::Span;

/// Keys that go with one type only.
const OWNED: &[(&str, ValueType)] = &[
    ("items", ValueType::Array),
    ("properties", ValueType::Object),
    ("pattern", ValueType::String),
    ("minLength", ValueType::String),
    ("maxLength", ValueType::String),
    ("minimum", ValueType::Number),
    ("maximum", ValueType::Number),
];

/// Reads `output` of a step.
pub fn output_schema(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<OutputSchema> {
    let span = fields.take(key)?.value.span.clone();
    let fields = fields.map(cx, key, root_field)?;
    Some(OutputSchema { fields, span })
}

/// The same, where an empty one says nothing.
pub fn output_fields(cx: &mut Reader<'_>, fields: &mut Fields<'_>, key: &str) -> Option<OutputSchema> {
    output_schema(cx, fields, key).filter(|schema| !schema.fields.is_empty())
}

/// Reads fields by name, wherever they stand.
pub(super) fn shape(cx: &mut Reader<'_>, node: &Node, owner: &str) -> Option<OutputSchema> {
    let pairs = match &node.value {
        Value::Map(pairs) => pairs,
        Value::Broken => return None,
        _ => {
            let message = format!("{owner} must be a mapping of fields, found {}", node.describe());
            cx.error("workflow::wrong_type", message, &node.span, "not a mapping");
            return None;
        }
    };
    let read = |pair: &Pair| {
        let value = root_field(cx, pair, owner)?;
        Some((pair.key.value.clone(), Entry { key: pair.key.clone(), value }))
    };
    Some(OutputSchema { fields: pairs.iter().filter_map(read).collect(), span: node.span.clone() })
}

fn root_field(cx: &mut Reader<'_>, pair: &Pair, owner: &str) -> Option<OutputField> {
    let owner = format!("field `{}` in {owner}", pair.key.value);
    let field = field(cx, &pair.value, owner.clone())?;
    if !field.required {
        let message = format!("`required: false` is not allowed on {owner}");
        let span = pair.value.get("required").map_or(&pair.key.span, |node| &node.span);
        let finding = cx.error("workflow::bad_output_field", message, span, "only inside `properties`");
        finding.help = Some("use `nullable: true`, or put the field into an object".to_owned());
    }
    Some(field)
}

fn field(cx: &mut Reader<'_>, node: &Node, owner: String) -> Option<OutputField> {
    let mut fields = Fields::open(cx, node, &OUTPUT_FIELD, owner)?;
    let kind = fields.choice::<ValueType>(cx, "type");
    let known = kind.clone().unwrap_or_else(|| Spanned::new(ValueType::String, node.span.clone()));
    let read = OutputField {
        description: fields.text(cx, "description"),
        items: items(cx, &mut fields).map(Box::new),
        properties: fields.map(cx, "properties", |cx, pair, owner| {
            field(cx, &pair.value, format!("field `{}` in {owner}", pair.key.value))
        }),
        allowed: kind.as_ref().and_then(|kind| allowed(cx, &mut fields, kind.value)),
        pattern: pattern(cx, &mut fields),
        minimum: fields.number(cx, "minimum").map(|bound| bound.value),
        maximum: fields.number(cx, "maximum").map(|bound| bound.value),
        min_length: fields.integer(cx, "minLength").map(|bound| bound.value),
        max_length: fields.integer(cx, "maxLength").map(|bound| bound.value),
        required: fields.flag(cx, "required", true),
        nullable: fields.flag(cx, "nullable", false),
        integer: false,
        span: node.span.clone(),
        kind: known,
    };
    fields.take("enum");
    if let Some(kind) = kind {
        misplaced(cx, &fields, kind.value);
        contradictions(cx, &read, &fields);
    }
    fields.finish(cx);
    Some(read)
}

fn items(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<OutputField> {
    let pair = fields.take("items")?;
    field(cx, &pair.value, fields.owner_of("items"))
}

fn pattern(cx: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<Spanned<String>> {
    let pattern = fields.text(cx, "pattern")?;
    if let Err(error) = regex::Regex::new(&pattern.value) {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or("").trim_start_matches("error: ").to_owned();
        let message = format!("`pattern` of {} is not a regular expression: {why}", fields.owner);
        cx.error("workflow::bad_pattern", message, &pattern.span, "cannot be used");
        return None;
    }
    Some(pattern)
}

fn allowed(cx: &mut Reader<'_>, fields: &mut Fields<'_>, kind: ValueType) -> Option<Vec<Json>> {
    let items = fields.list(cx, "enum")?;
    let place = fields.place_of("enum").cloned()?;
    if items.is_empty() {
        contradiction(cx, &fields.owner, "`enum` is empty, so no value could ever fit", &place);
    }
    if matches!(kind, ValueType::Array | ValueType::Object) {
        let why = format!("`enum` goes with string, number and boolean, not with {}", kind.word());
        contradiction(cx, &fields.owner, &why, &place);
        return None;
    }
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        let value = cx.json(item);
        if fits(&value, kind) {
            values.push(value);
        } else {
            let why = format!("`enum` allows {}, which is not a {}", item.describe(), kind.word());
            contradiction(cx, &fields.owner, &why, &item.span);
        }
    }
    Some(values)
}

/// Whether a value is of a type; a boolean is not a number.
pub(super) fn fits(value: &Json, kind: ValueType) -> bool {
    match kind {
        ValueType::String => value.is_string(),
        ValueType::Number => value.is_number(),
        ValueType::Boolean => value.is_boolean(),
        ValueType::Array => value.is_array(),
        ValueType::Object => value.is_object(),
        ValueType::Any => true,
    }
}

fn misplaced(cx: &mut Reader<'_>, fields: &Fields<'_>, kind: ValueType) {
    for (key, owner) in OWNED.iter().filter(|(_, owner)| *owner != kind) {
        if let Some(place) = fields.place_of(key) {
            let why = format!("`{key}` goes with type {}, not with {}", owner.word(), kind.word());
            contradiction(cx, &fields.owner, &why, place);
        }
    }
}

fn contradictions(cx: &mut Reader<'_>, field: &OutputField, fields: &Fields<'_>) {
    let place = |key: &str| fields.place_of(key).unwrap_or(&fields.head).clone();
    if let (Some(min), Some(max)) = (field.minimum, field.maximum)
        && min > max
    {
        contradiction(
            cx,
            &fields.owner,
            &format!("`minimum` {min} is above `maximum` {max}"),
            &place("minimum"),
        );
    }
    if let (Some(min), Some(max)) = (field.min_length, field.max_length)
        && min > max
    {
        contradiction(
            cx,
            &fields.owner,
            &format!("`minLength` {min} is above `maxLength` {max}"),
            &place("minLength"),
        );
    }
}

fn contradiction(cx: &mut Reader<'_>, owner: &str, why: &str, span: &Span) {
    cx.error("workflow::bad_output_field", format!("{owner}: {why}"), span, "contradicts the definition");
}
