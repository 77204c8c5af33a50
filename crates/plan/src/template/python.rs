//! The text of values, as Python's `str` and `repr` write them.
//!
//! Everything that turns a value into text goes through here: emitted expressions, `~`, `join`, `%s`, messages.

use std::fmt::Write;

use minijinja::value::{Value, ValueKind};

use super::globals::Range;
use super::list::{Group, View};

/// The text of a value as Python's `str` gives it: `True`, `None`, `1.0`, `1e+20`, `['a', 1]`.
pub fn python_text(value: &Value) -> String {
    let mut out = String::new();
    write_text(&mut out, value);
    out
}

/// The text of a value as Python's `repr` gives it: texts are quoted.
pub(super) fn python_repr(value: &Value) -> String {
    let mut out = String::new();
    write_repr(&mut out, value);
    out
}

pub(super) fn write_text(out: &mut String, value: &Value) {
    match value.as_str() {
        Some(text) => out.push_str(text),
        None if value.is_undefined() => {}
        None => write_repr(out, value),
    }
}

pub(super) fn write_repr(out: &mut String, value: &Value) {
    write_nested(out, value, 0);
}

/// How deep a value is shown; a namespace can hold itself.
const DEPTH: usize = 250;

fn write_nested(out: &mut String, value: &Value, depth: usize) {
    match value.kind() {
        _ if depth > DEPTH => out.push_str("..."),
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::String => write_quoted(out, value.as_str().unwrap_or_default()),
        ValueKind::Number => write_number(out, value),
        ValueKind::Map => write_map(out, value, depth),
        ValueKind::Seq | ValueKind::Iterable => write_sequence(out, value, depth),
        _ => write_display(out, value),
    }
}

fn write_display(out: &mut String, value: &Value) {
    let _ = write!(out, "{value}");
}

fn write_number(out: &mut String, value: &Value) {
    match (value.is_integer(), f64::try_from(value.clone())) {
        (false, Ok(number)) => out.push_str(&float_text(number)),
        _ => write_display(out, value),
    }
}

/// A float as Python prints it: the shortest digits that read back, an exponent below 1e-4 and from 1e16.
pub(super) fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if number != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') { plain } else { plain + ".0" }
}

fn write_sequence(out: &mut String, value: &Value, depth: usize) {
    if let Some(range) = value.downcast_object_ref::<Range>() {
        return range.write_repr(out);
    }
    let (open, close) = brackets(value).unwrap_or(("[", "]"));
    out.push_str(open);
    let mut count = 0;
    for item in value.try_iter().into_iter().flatten() {
        if count > 0 {
            out.push_str(", ");
        }
        write_nested(out, &item, depth + 1);
        count += 1;
    }
    if count == 1 && close == ")" {
        out.push(',');
    }
    out.push_str(close);
}

/// Brackets of the sequences that are no plain lists.
fn brackets(value: &Value) -> Option<(&'static str, &'static str)> {
    if value.is_tuple() || value.downcast_object_ref::<Group>().is_some() {
        return Some(("(", ")"));
    }
    value.downcast_object_ref::<View>().map(View::brackets)
}

fn write_map(out: &mut String, value: &Value, depth: usize) {
    out.push('{');
    let pairs = value.as_object().and_then(|object| object.try_iter_pairs());
    for (at, (key, item)) in pairs.into_iter().flatten().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        write_nested(out, &key, depth + 1);
        out.push_str(": ");
        write_nested(out, &item, depth + 1);
    }
    out.push('}');
}

/// A text in quotes: single ones unless the text has a single and no double one.
fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => write_escape(out, c),
        }
    }
    out.push(quote);
}

fn write_escape(out: &mut String, character: char) {
    let code = character as u32;
    let _ = match code {
        0..=0xff => write!(out, "\\x{code:02x}"),
        0x100..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Python's `isprintable` for one character.
///
/// The standard library keeps the same table for its own escapes, but only shows it through `escape_debug`; the
/// leading letter keeps combining marks from being escaped for another reason.
pub(super) fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    if character.is_alphanumeric() {
        return true;
    }
    let probe: String = ['a', character].into_iter().collect();
    probe.escape_debug().nth(1) == Some(character)
}
