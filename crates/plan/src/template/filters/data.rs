//! Filters about whole values: defaults and JSON.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State};

use crate::template::arguments::{bind, defined, failure, flag, split};
use crate::template::json::{Layout, dump};
use crate::template::limits::{OUTPUT_BYTES, charge, shallow, too_large};
use crate::template::python::{python_repr, write_repr};

/// `default`: replaces what is undefined or null, and with `boolean` whatever is false.
pub(super) fn default(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    replace_missing(args, Value::is_none)
}

/// `d`: Jinja2's own `default`, which leaves a null alone.
pub(super) fn jinja_default(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    replace_missing(args, |_| false)
}

fn replace_missing(args: &[Value], also: fn(&Value) -> bool) -> Result<Value, Error> {
    let (places, named) = split(args)?;
    let value = places.first().cloned().unwrap_or(Value::UNDEFINED);
    let argument = |at: usize, name: &str| {
        let by_name = named.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        places.get(at).cloned().or(by_name)
    };
    if let Some((unknown, _)) =
        named.iter().find(|(key, _)| key != "default_value" && key != "default" && key != "boolean")
    {
        return Err(failure(format!("default has no argument `{unknown}`")));
    }
    let otherwise = argument(1, "default_value").or_else(|| argument(1, "default"));
    let falsy = flag(argument(2, "boolean"), false) && !value.is_true();
    if value.is_undefined() || also(&value) || falsy {
        return Ok(otherwise.unwrap_or_else(|| Value::from("")));
    }
    Ok(value)
}

/// `json`: readable JSON in the order of the value, ASCII only.
pub(super) fn json(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, indent] = bind("json", &["value", "indent"], args)?;
    let value = value.unwrap_or(Value::UNDEFINED);
    let indent = match indent {
        None => Some("  ".to_owned()),
        Some(indent) => indentation(&indent)?,
    };
    let text = dump(&value, &Layout { indent, sorted: false }).ok_or_else(too_large)?;
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// The characters of one level of indentation.
const WIDEST_INDENT: usize = 64;

/// What `json.dumps` makes of its `indent`: a number of spaces, a text, or nothing.
fn indentation(indent: &Value) -> Result<Option<String>, Error> {
    if indent.is_none() {
        return Ok(None);
    }
    if let Some(text) = indent.as_str() {
        return match text.chars().nth(WIDEST_INDENT) {
            Some(_) => Err(failure(format!("indent is at most {WIDEST_INDENT} characters"))),
            None => Ok(Some(text.to_owned())),
        };
    }
    let width =
        indent.as_i64().ok_or_else(|| failure(format!("indent cannot be {}", python_repr(indent))))?;
    Ok(Some(" ".repeat(usize::try_from(width).unwrap_or(0).min(WIDEST_INDENT))))
}

/// `tojson`: sorted keys, safe inside HTML.
pub(super) fn tojson(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, indent] = bind("tojson", &["value", "indent"], args)?;
    let value = value.unwrap_or(Value::UNDEFINED);
    let indent = indent.map_or(Ok(None), |indent| indentation(&indent))?;
    let text = dump(&value, &Layout { indent, sorted: true }).ok_or_else(too_large)?;
    charge(state, text.len())?;
    let safe =
        text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026").replace('\'', "\\u0027");
    Ok(Value::from_safe_string(safe))
}

/// `pprint`: as Python's `pprint.pformat` in 80 columns.
pub(super) fn pretty(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind("pprint", &["value"], args)?;
    let value = value.unwrap_or(Value::UNDEFINED);
    defined(&value)?;
    shallow(state, &value)?;
    let mut out = String::new();
    write_pretty(&mut out, &value, 0, 0);
    charge(state, out.len())?;
    Ok(Value::from(out))
}

const COLUMNS: usize = 80;

/// Writes a value in one line if it fits behind `indent`, with `after` characters to follow; else one item a line.
fn write_pretty(out: &mut String, value: &Value, indent: usize, after: usize) {
    let wraps = matches!(value.kind(), ValueKind::Map | ValueKind::Seq | ValueKind::Iterable);
    if !wraps || value.len() == Some(0) {
        return write_repr(out, value);
    }
    if let Some(flat) = flat_within(value, COLUMNS.saturating_sub(indent + after)) {
        return out.push_str(&flat);
    }
    let inside = indent + 1;
    if value.kind() == ValueKind::Map {
        let pairs = sorted_pairs(value);
        write_lines(out, ("{", "}"), inside, pairs.len(), |out, at, after_item| {
            let key = python_repr(&pairs[at].0);
            out.push_str(&key);
            out.push_str(": ");
            write_pretty(out, &pairs[at].1, inside + key.chars().count() + 2, after_item + after);
        });
        return;
    }
    let items: Vec<Value> = value.try_iter().into_iter().flatten().collect();
    let brackets = match (value.is_tuple(), items.len()) {
        (true, 1) => ("(", ",)"),
        (true, _) => ("(", ")"),
        _ => ("[", "]"),
    };
    write_lines(out, brackets, inside, items.len(), |out, at, after_item| {
        write_pretty(out, &items[at], inside, after_item + after);
    });
}

fn write_lines(
    out: &mut String,
    (open, close): (&str, &str),
    indent: usize,
    count: usize,
    mut write: impl FnMut(&mut String, usize, usize),
) {
    out.push_str(open);
    for at in 0..count {
        if out.len() > OUTPUT_BYTES {
            return;
        }
        if at > 0 {
            out.push_str(",\n");
            out.push_str(&" ".repeat(indent));
        }
        write(out, at, 1);
    }
    out.push_str(close);
}

fn sorted_pairs(map: &Value) -> Vec<(Value, Value)> {
    let pairs = map.as_object().and_then(|map| map.try_iter_pairs());
    let mut pairs: Vec<_> = pairs.into_iter().flatten().collect();
    pairs.sort_by(|left, right| left.0.cmp(&right.0));
    pairs
}

/// One line, with the keys of maps sorted, if it has at most `room` characters.
///
/// Writing stops where there is no more room, so that asking at every level of a value does not read all below it.
fn flat_within(value: &Value, room: usize) -> Option<String> {
    let mut out = String::new();
    write_flat(&mut out, value, room);
    (out.chars().count() <= room).then_some(out)
}

fn write_flat(out: &mut String, value: &Value, room: usize) {
    // No character has more than four bytes.
    let is_full = |out: &String| out.len() > room * 4;
    match value.kind() {
        _ if is_full(out) => {}
        ValueKind::Map => {
            out.push('{');
            for (at, (key, item)) in sorted_pairs(value).iter().enumerate() {
                if is_full(out) {
                    return;
                }
                out.push_str(if at > 0 { ", " } else { "" });
                write_repr(out, key);
                out.push_str(": ");
                write_flat(out, item, room);
            }
            out.push('}');
        }
        ValueKind::Seq if !value.is_tuple() => {
            out.push('[');
            for (at, item) in value.try_iter().into_iter().flatten().enumerate() {
                if is_full(out) {
                    return;
                }
                out.push_str(if at > 0 { ", " } else { "" });
                write_flat(out, &item, room);
            }
            out.push(']');
        }
        _ => write_repr(out, value),
    }
}
