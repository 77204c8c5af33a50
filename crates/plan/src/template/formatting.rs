//! `%` formatting and `str.format`: minijinja's, with Python's `%r` and `!r`, and with bounded widths.

use minijinja::formatting::{FormatStyle, format};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use super::arguments::{defined, failure, split};
use super::limits::{charge, too_large, weight_within};
use super::python::{python_repr, python_text};

/// Formats with `%`; one map serves `%(name)s`.
pub(super) fn percent(state: &mut State, pattern: &str, places: &[Value]) -> Result<Value, Error> {
    bounded(pattern, '%', places)?;
    let (pattern, places) = with_representations(pattern, places);
    let text = format(FormatStyle::Printf, &pattern, &places)?;
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// Formats with `{}`.
pub(super) fn braces(state: &mut State, pattern: &str, args: &[Value]) -> Result<Value, Error> {
    bounded(pattern, '{', args)?;
    let (pattern, args) = with_conversions(pattern, args)?;
    let text = format(FormatStyle::StrFormat, &pattern, &args)?;
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// The arguments of the filter `format`: places, or one map of names.
pub(super) fn places(args: &[Value]) -> Result<Vec<Value>, Error> {
    let (places, named) = split(args)?;
    places.iter().try_for_each(defined)?;
    match named.is_empty() {
        true => Ok(places.to_vec()),
        false => Ok(vec![Value::from_pairs(named)]),
    }
}

/// The author of a text writes its widths, and a value may be asked for often, so the result is bounded before it is
/// built.
fn bounded(pattern: &str, mark: char, values: &[Value]) -> Result<(), Error> {
    let widths = pattern.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut padding = 0usize;
    for digits in widths {
        let width = digits.parse().ok().filter(|width: &usize| *width <= WIDEST);
        padding =
            padding.saturating_add(width.ok_or_else(|| failure("a width in a format is at most 99999"))?);
    }
    let largest = values.iter().map(largest_part).max().unwrap_or(0);
    let fields = pattern.matches(mark).count();
    let most = pattern.len().saturating_add(padding).saturating_add(fields.saturating_mul(largest));
    if most > FORMATTED { Err(too_large()) } else { Ok(()) }
}

/// The most that one field can show of a value: of a map it shows one entry.
fn largest_part(value: &Value) -> usize {
    let entries = value.as_object().filter(|_| value.kind() == ValueKind::Map);
    match entries.and_then(|map| map.try_iter_pairs()) {
        Some(pairs) => pairs.map(|(_, item)| weight_within(&item, FORMATTED)).max().unwrap_or(0),
        None => weight_within(value, FORMATTED),
    }
}

/// The widest field.
const WIDEST: usize = 99_999;
/// Bytes that a format may come to if every field took the largest value.
const FORMATTED: usize = 256 << 20;

/// Turns `%r` into `%s` of the representation, and gives every `%s` its Python text.
fn with_representations(pattern: &str, places: &[Value]) -> (String, Vec<Value>) {
    let mut out = String::with_capacity(pattern.len());
    let mut places = places.to_vec();
    let mut shown_by_name: Vec<(Value, Value)> = Vec::new();
    let mut place = 0;
    let mut rest = pattern;
    // Without it no directive has a name; asked once, because each `%(` would look for it up to the end.
    let last_name = pattern.rfind(')').map_or(0, |at| pattern.len() - at);
    while let Some(at) = rest.find('%') {
        let (before, directive) = rest.split_at(at);
        out.push_str(before);
        let names = directive.len() >= last_name && last_name > 0;
        let length = directive_length(directive, names);
        let (directive, after) = directive.split_at(length);
        rest = after;
        let conversion = directive.chars().last().unwrap_or('%');
        place += directive.matches('*').count();
        if conversion == '%' || directive.len() < 2 {
            out.push_str(directive);
            continue;
        }
        let by_name = directive.starts_with("%(");
        if let Some(value) = places.get_mut(place).filter(|_| !by_name) {
            *value = shown(value, conversion);
        }
        place += usize::from(!by_name);
        match conversion {
            'r' | 'a' if by_name => {
                out.push_str(&named_representation(directive, &places, &mut shown_by_name));
            }
            'r' | 'a' => out.extend([&directive[..directive.len() - 1], "s"]),
            _ => out.push_str(directive),
        }
    }
    out.push_str(rest);
    if let Some(map) = places.first_mut().filter(|_| !shown_by_name.is_empty()) {
        let pairs = map.as_object().and_then(|map| map.try_iter_pairs()).into_iter().flatten();
        *map = Value::from_pairs(pairs.chain(shown_by_name).collect::<Vec<_>>());
    }
    (out, places)
}

/// `%(name)r` reads the representation that is put beside the name.
fn named_representation(directive: &str, places: &[Value], shown: &mut Vec<(Value, Value)>) -> String {
    let (name, tail) = directive[2..].split_once(')').unwrap_or(("", ""));
    let key = format!("{name} as shown");
    if let Some(map) = places.first() {
        let value = map.get_attr(name).map(|value| python_repr(&value)).unwrap_or_default();
        shown.push((Value::from(key.as_str()), Value::from(value)));
    }
    format!("%({key}){}s", &tail[..tail.len().saturating_sub(1)])
}

/// From `%` to the letter that ends the directive.
fn directive_length(text: &str, has_names: bool) -> usize {
    let named = text.starts_with("%(") && has_names;
    let named = if named { text.find(')').map_or(1, |at| at + 1) } else { 1 };
    let flags = |c: char| {
        c.is_ascii_digit() || matches!(c, '#' | '0' | '-' | ' ' | '+' | '.' | '*' | 'l' | 'h' | 'L')
    };
    let rest = &text[named..];
    let end = rest.find(|c: char| !flags(c)).unwrap_or(rest.len());
    let letter = rest[end..].chars().next().map_or(0, char::len_utf8);
    named + end + letter
}

/// A value as `%s` or `%r` shows it; other conversions want the value itself.
fn shown(value: &Value, conversion: char) -> Value {
    match conversion {
        'r' | 'a' => Value::from(python_repr(value)),
        's' if value.kind() != ValueKind::String => Value::from(python_text(value)),
        'd' | 'i' | 'u' => whole(value),
        _ => value.clone(),
    }
}

/// `%d` cuts a fraction off.
fn whole(value: &Value) -> Value {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() && number.is_finite() && number.abs() < 1e18 => {
            Value::from(number as i64)
        }
        _ => value.clone(),
    }
}

/// Turns `{name!r:>9}` into a field of its own that holds the representation.
fn with_conversions(pattern: &str, args: &[Value]) -> Result<(String, Vec<Value>), Error> {
    if !pattern.contains('!') {
        return Ok((pattern.to_owned(), args.to_vec()));
    }
    let (places, mut named) = split(args)?;
    let mut out = String::with_capacity(pattern.len());
    let mut next = 0;
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let doubled = tail.starts_with("{{") || tail.starts_with("}}");
        if doubled || tail.starts_with('}') {
            let (brace, after) = tail.split_at(if doubled { 2 } else { 1 });
            out.push_str(brace);
            rest = after;
            continue;
        }
        // A field that is never closed is an error that minijinja words.
        let Some(end) = tail.find('}') else {
            rest = tail;
            break;
        };
        let (field, spec) =
            tail[1..end].split_once(':').map_or((&tail[1..end], None), |(field, spec)| (field, Some(spec)));
        let (name, conversion) = field.split_once('!').map_or((field, None), |(name, how)| (name, Some(how)));
        let name = if name.is_empty() {
            next += 1;
            (next - 1).to_string()
        } else {
            name.to_owned()
        };
        let key = match conversion {
            None => name,
            Some(how) => {
                let key = format!("shown{}", named.len());
                let value = field_value(&name, places, &named)?;
                let text = if how == "s" { python_text(&value) } else { python_repr(&value) };
                named.push((key.clone(), Value::from(text)));
                key
            }
        };
        out.push_str(&spec.map_or_else(|| format!("{{{key}}}"), |spec| format!("{{{key}:{spec}}}")));
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    let mut args = places.to_vec();
    args.push(Value::from(named.into_iter().collect::<Kwargs>()));
    Ok((out, args))
}

fn field_value(name: &str, places: &[Value], named: &[(String, Value)]) -> Result<Value, Error> {
    let found = match name.parse::<usize>() {
        Ok(at) => places.get(at),
        Err(_) => named.iter().find(|(key, _)| key == name).map(|(_, value)| value),
    };
    found.cloned().ok_or_else(|| failure(format!("the format has no value for `{name}`")))
}
