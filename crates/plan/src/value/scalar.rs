//! Scalars: YAML's core schema, and numbers as Python reads them.

use serde_json::{Number, Value};

/// What a plain YAML 1.2 scalar means: null, a boolean, a number, or its own text.
///
/// Numbers may have `_` between digits and leading zeros, as in ruamel.yaml; a number that JSON cannot hold exactly as
/// an integer, or at all (`.inf`), stays a text.
pub fn core_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            yaml_integer(text).or_else(|| yaml_float(text)).unwrap_or_else(|| Value::String(text.to_owned()))
        }
    }
}

fn yaml_integer(text: &str) -> Option<Value> {
    let (negative, digits) = signed(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (radix, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits),
    };
    let plain = digits.replace('_', "");
    if plain.is_empty() || !plain.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    integer(negative, &plain, radix)
}

fn yaml_float(text: &str) -> Option<Value> {
    let (_, digits) = signed(text);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit())
        || (digits.starts_with('.') && digits[1..].starts_with(|c: char| c.is_ascii_digit()));
    let shaped = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '_' | '.' | 'e' | 'E' | '+' | '-'));
    if !begins || !shaped || !digits.contains(['.', 'e', 'E']) {
        return None;
    }
    float(&text.replace('_', ""))
}

fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn integer(negative: bool, digits: &str, radix: u32) -> Option<Value> {
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    let number = if negative { -magnitude } else { magnitude };
    i64::try_from(number).map(Value::from).or_else(|_| u64::try_from(number).map(Value::from)).ok()
}

fn float(text: &str) -> Option<Value> {
    text.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number)
}

/// An integer as Python's `int()` reads it: single `_` between digits, leading zeros allowed.
pub(super) fn python_integer(text: &str) -> Option<Value> {
    let (negative, digits) = signed(text);
    let grouped =
        digits.split('_').all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()));
    if grouped { integer(negative, &digits.replace('_', ""), 10) } else { None }
}

/// A finite float as Python's `float()` reads it.
pub(super) fn python_float(text: &str) -> Option<Value> {
    let (_, digits) = signed(text);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let bytes = text.as_bytes();
    let between = |at: usize| {
        let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        digit(at.checked_sub(1)) && digit(at.checked_add(1))
    };
    let grouped = text.match_indices('_').all(|(at, _)| between(at));
    if begins && grouped { float(&text.replace('_', "")) } else { None }
}
