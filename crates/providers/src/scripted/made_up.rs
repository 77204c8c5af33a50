//! Answers that no model gave: the same for the same question, and of the declared shape.
//!
//! Everything is the simplest thing that fits, and what decides between ways (booleans, choices) is the first or true,
//! so that loops which wait for approval end. What names something else is left empty: it would name nothing.

use convoke_agent::{Purpose, Request, Role};
use convoke_model::excerpt::first_chars;
use convoke_model::{FieldType, OutputField};
use indexmap::IndexMap;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Number, Value};

/// Lists have this many items: more than one, so that what comes after them is seen to work on many.
const ITEMS: usize = 3;

/// How much of a prompt is quoted.
const QUOTED: usize = 80;

/// Patterns that want more than this are not simple.
const MOST_CHARACTERS: usize = 10_000;

/// What is made up where a program is wanted.
const PROGRAM: &str = "```python\nfinal(f\"Scripted answer from {len(outputs())} outputs\")\n```";

/// An answer to the request.
pub fn answer(request: &Request<'_>) -> String {
    if request.purpose == Purpose::Program {
        return PROGRAM.to_owned();
    }
    match request.schema {
        Some(schema) => Value::Object(object(&demanded(&schema.fields), "")).to_string(),
        None => format!("Scripted answer to: {}", beginning(request)),
    }
}

fn beginning<'a>(request: &Request<'a>) -> &'a str {
    let asked = request.messages.iter().rev().find(|message| message.role == Role::User);
    let text = asked.map_or("", |message| message.text.trim());
    let line = text.lines().next().unwrap_or_default();
    first_chars(line, QUOTED)
}

/// The fields that an answer must have. What may be left out of it is for special cases, and together they would
/// contradict each other.
fn demanded(fields: &IndexMap<String, OutputField>) -> IndexMap<String, OutputField> {
    let demanded = fields.iter().filter(|(_, field)| field.required);
    demanded.map(|(name, field)| (name.clone(), field.clone())).collect()
}

fn object(fields: &IndexMap<String, OutputField>, suffix: &str) -> Map<String, Value> {
    fields.iter().map(|(name, field)| (name.clone(), value(name, field, suffix))).collect()
}

fn value(name: &str, field: &OutputField, suffix: &str) -> Value {
    if let Some(first) = field.choices.as_ref().and_then(|choices| choices.first()) {
        return first.clone();
    }
    match field.ty {
        FieldType::Array if field.items.as_deref().is_some_and(|item| item.refers) => {
            Value::Array(Vec::new())
        }
        _ if field.refers && field.nullable => Value::Null,
        FieldType::String | FieldType::Any => Value::String(text(name, field, suffix)),
        FieldType::Number => number(field),
        FieldType::Boolean => Value::Bool(true),
        FieldType::Array => list(name, field, suffix),
        FieldType::Object => field
            .properties
            .as_ref()
            .map_or(Value::Object(Map::new()), |fields| Value::Object(object(fields, suffix))),
    }
}

fn list(name: &str, field: &OutputField, suffix: &str) -> Value {
    let item = |index: usize| {
        let suffix = format!("{suffix} {index}");
        match &field.items {
            Some(item) => value(name, item, &suffix),
            None => Value::String(format!("{name}{suffix}")),
        }
    };
    (1..=ITEMS).map(item).collect()
}

/// One, or the number next to it that is allowed.
fn number(field: &OutputField) -> Value {
    let least = field.minimum.unwrap_or(f64::NEG_INFINITY);
    let most = field.maximum.unwrap_or(f64::INFINITY);
    let chosen = 1f64.max(least).min(most);
    if chosen.fract() == 0.0 && chosen.abs() < 1e15 {
        return Value::from(chosen as i64);
    }
    Number::from_f64(chosen).map_or(Value::from(0), Value::Number)
}

fn text(name: &str, field: &OutputField, suffix: &str) -> String {
    if let Some(found) = field.pattern.as_deref().and_then(matching) {
        return found;
    }
    let mut text = format!("{}{suffix}", name.replace('_', " "));
    let length = text.chars().count();
    if let Some(least) = field.min_length.map(|least| least as usize).filter(|least| length < *least) {
        text.extend(" and so on".chars().cycle().take(least - length));
    }
    match field.max_length {
        Some(most) => first_chars(&text, most as usize).to_owned(),
        None => text,
    }
}

/// A short text in which the pattern is found, if the pattern is simple.
fn matching(pattern: &str) -> Option<String> {
    let mut out = String::new();
    write(&regex_syntax::parse(pattern).ok()?, &mut out)?;
    Some(out)
}

fn write(hir: &Hir, out: &mut String) -> Option<()> {
    if out.len() > MOST_CHARACTERS {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => out.push(member(class)?),
        HirKind::Repetition(repetition) => {
            for _ in 0..repetition.min {
                write(&repetition.sub, out)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, out))?,
        HirKind::Alternation(ways) => write(ways.first()?, out)?,
    }
    Some(())
}

/// A readable member of the class if it has one.
fn member(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let holds = |c: char| class.ranges().iter().any(|range| range.start() <= c && c <= range.end());
    ('a'..='z')
        .chain('A'..='Z')
        .chain('1'..='9')
        .find(|c| holds(*c))
        .or_else(|| Some(class.ranges().first()?.start()))
}
