//! What a scalar means by the core schema of YAML 1.2.
//!
//! `yes`, `no`, `on` and `off` are text. `007` is the number seven; its text is kept, so a text field can say how it
//! was written.

use super::{Scalar, Style};
use convoke_model::excerpt::first_line;

/// The typed reading of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(&'a str),
}

/// Reads a scalar: only plain ones can be anything but text.
pub fn typed(scalar: &Scalar) -> Typed<'_> {
    match scalar.style {
        Style::Plain => plain(&scalar.raw),
        _ => Typed::Text(&scalar.raw),
    }
}

/// A scalar as JSON; a number without a finite value stays text.
pub(super) fn as_written(scalar: &Scalar) -> serde_json::Value {
    match typed(scalar) {
        Typed::Null => serde_json::Value::Null,
        Typed::Bool(value) => value.into(),
        Typed::Integer(value) => value.into(),
        Typed::Float(value) => serde_json::Number::from_f64(value)
            .map_or_else(|| scalar.raw.as_str().into(), serde_json::Value::Number),
        Typed::Text(text) => text.into(),
    }
}

fn plain(raw: &str) -> Typed<'_> {
    match raw {
        "" | "~" | "null" | "Null" | "NULL" => Typed::Null,
        "true" | "True" | "TRUE" => Typed::Bool(true),
        "false" | "False" | "FALSE" => Typed::Bool(false),
        _ => number(raw).unwrap_or(Typed::Text(raw)),
    }
}

fn number(raw: &str) -> Option<Typed<'_>> {
    let first = *raw.as_bytes().first()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return None;
    }
    integer(raw).or_else(|| float(raw).map(Typed::Float))
}

fn integer(raw: &str) -> Option<Typed<'_>> {
    if let Some(octal) = raw.strip_prefix("0o") {
        return digits(octal, |c| ('0'..='7').contains(&c)).and_then(|d| radix(d, 8));
    }
    if let Some(hex) = raw.strip_prefix("0x") {
        return digits(hex, |c| c.is_ascii_hexdigit()).and_then(|d| radix(d, 16));
    }
    let unsigned = raw.strip_prefix(['+', '-']).unwrap_or(raw);
    digits(unsigned, |c| c.is_ascii_digit())?;
    // Too long for an integer: still a number.
    Some(raw.parse().map_or_else(|_| Typed::Float(raw.parse().unwrap_or(f64::INFINITY)), Typed::Integer))
}

fn digits(text: &str, allowed: impl Fn(char) -> bool) -> Option<&str> {
    (!text.is_empty() && text.chars().all(allowed)).then_some(text)
}

fn radix(digits: &str, radix: u32) -> Option<Typed<'static>> {
    i64::from_str_radix(digits, radix).ok().map(Typed::Integer)
}

fn float(raw: &str) -> Option<f64> {
    let unsigned = raw.strip_prefix(['+', '-']).unwrap_or(raw);
    match unsigned {
        ".inf" | ".Inf" | ".INF" => {
            return Some(if raw.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    // Rust also reads "inf" and "nan", which are text in YAML.
    let looks = unsigned.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'))
        && unsigned.bytes().any(|b| b.is_ascii_digit());
    if looks { raw.parse().ok() } else { None }
}

/// The word for a scalar, as a message says it.
pub fn describe(scalar: &Scalar) -> String {
    match typed(scalar) {
        Typed::Null => "nothing".to_owned(),
        Typed::Bool(value) => format!("the boolean `{value}`"),
        Typed::Integer(_) | Typed::Float(_) => format!("the number `{}`", scalar.raw),
        Typed::Text(text) => format!("the text `{}`", shorten(text)),
    }
}

/// The beginning of a text, short enough for a message.
pub fn shorten(text: &str) -> String {
    const LIMIT: usize = 60;
    first_line(text, LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let cases = [
            ("yes", Typed::Text("yes")),
            ("on", Typed::Text("on")),
            ("True", Typed::Bool(true)),
            ("tRUE", Typed::Text("tRUE")),
            ("~", Typed::Null),
            ("007", Typed::Integer(7)),
            ("-12", Typed::Integer(-12)),
            ("0o17", Typed::Integer(15)),
            ("0xff", Typed::Integer(255)),
            ("1.0", Typed::Float(1.0)),
            (".5", Typed::Float(0.5)),
            ("1e3", Typed::Float(1000.0)),
            ("1_000", Typed::Text("1_000")),
            ("-", Typed::Text("-")),
            ("+", Typed::Text("+")),
            ("inf", Typed::Text("inf")),
            (".inf", Typed::Float(f64::INFINITY)),
            ("1.2.3", Typed::Text("1.2.3")),
            ("2026-01-01", Typed::Text("2026-01-01")),
            ("${N}", Typed::Text("${N}")),
        ];
        for (raw, expected) in cases {
            assert_eq!(plain(raw), expected, "{raw}");
        }
    }

    #[test]
    fn a_number_too_long_for_an_integer_is_still_a_number() {
        assert_eq!(plain("99999999999999999999"), Typed::Float(1e20));
    }
}
