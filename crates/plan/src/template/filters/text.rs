//! Filters about texts.

use std::borrow::Cow;

use minijinja::value::Value;
use minijinja::{Error, State};

use crate::template::arguments::{bind, failure, flag, integer, required, text};
use crate::template::formatting::{percent, places};
use crate::template::limits::{Cost, charge, charge_call};
use crate::template::methods::{lines, replace as replace_in, strip, with_capital};

use crate::template::python::python_text;

/// The text of the only argument.
fn subject(name: &str, args: &[Value]) -> Result<String, Error> {
    let [value] = bind(name, &["s"], args)?;
    Ok(python_text(&required(name, "s", value)?))
}

/// `upper`.
pub(super) fn upper(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    subject("upper", args).map(|text| Value::from(text.to_uppercase()))
}

/// `lower`.
pub(super) fn lower(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    subject("lower", args).map(|text| Value::from(text.to_lowercase()))
}

/// `capitalize`.
pub(super) fn capitalize(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    subject("capitalize", args).map(|text| Value::from(with_capital(&text)))
}

/// `string`.
pub(super) fn string(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind("string", &["value"], args)?;
    let value = value.unwrap_or_else(|| Value::from(""));
    if value.as_str().is_some() {
        return Ok(value);
    }
    let text = python_text(&value);
    charge(state, text.len())?;
    Ok(Value::from(text))
}

/// `title`: words begin after white space, `-` and opening brackets, which is not what the method does.
pub(super) fn title(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = subject("title", args)?;
    let mut out = String::with_capacity(text.len());
    let mut begins = true;
    for character in text.chars() {
        let separates = character.is_whitespace() || "-({[<".contains(character);
        match begins && !separates {
            true => out.extend(character.to_uppercase()),
            false => out.extend(character.to_lowercase()),
        }
        begins = separates;
    }
    Ok(Value::from(out))
}

/// `trim`.
pub(super) fn trim(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, characters] = bind("trim", &["value", "chars"], args)?;
    let value = python_text(&required("trim", "value", value)?);
    let characters = text("trim", characters)?;
    Ok(Value::from(strip(&value, characters.as_deref(), true, true)))
}

/// `replace`.
pub(super) fn replace(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, old, new, most] = bind("replace", &["s", "old", "new", "count"], args)?;
    let part =
        |name: &str, part: Option<Value>| required("replace", name, part).map(|part| python_text(&part));
    let (value, old, new) = (part("s", value)?, part("old", old)?, part("new", new)?);
    replace_in(state, &value, &old, &new, integer("replace", most)?)
}

/// `center`.
pub(super) fn center(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, width] = bind("center", &["value", "width"], args)?;
    let value = Value::from(python_text(&required("center", "value", value)?));
    value.call_method(state, "center", &[width.unwrap_or(Value::from(80))])
}

/// `format`: `%` formatting with arguments by place or by name.
pub(super) fn format(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let (value, rest) = args.split_first().ok_or_else(|| failure("format needs a text"))?;
    crate::template::arguments::defined(value)?;
    let places = places(rest)?;
    percent(state, &python_text(value), &places)
}

/// `truncate`: cuts at a word, unless the text is only a little too long.
pub(super) fn truncate(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, length, kill, end, leeway] =
        bind("truncate", &["s", "length", "killwords", "end", "leeway"], args)?;
    let value = required("truncate", "s", value)?;
    let size = |argument, otherwise| {
        Ok::<_, Error>(integer("truncate", argument)?.map_or(otherwise, |n| n.max(0) as usize))
    };
    let (length, leeway) = (size(length, 255)?, size(leeway, 5)?);
    let end = text("truncate", end)?.unwrap_or_else(|| "...".to_owned());
    let end_length = end.chars().count();
    if length < end_length {
        return Err(failure(format!("truncate needs a length of at least {end_length}, not {length}")));
    }
    // Only the beginning of a text is looked at, so cutting a long one short is cheap.
    if value.as_str().is_none() {
        charge_call(state, Cost::Whole, std::slice::from_ref(&value))?;
    }
    let text = value.as_str().map_or_else(|| Cow::Owned(python_text(&value)), Cow::Borrowed);
    if text.chars().nth(length.saturating_add(leeway)).is_none() {
        return Ok(if value.as_str().is_some() { value } else { Value::from(text.into_owned()) });
    }
    charge(state, length.saturating_mul(4))?;
    let kept: String = text.chars().take(length - end_length).collect();
    let kept = match kept.rsplit_once(' ') {
        Some((words, _)) if !flag(kill, false) => words.to_owned(),
        _ => kept,
    };
    Ok(Value::from(kept + &end))
}

/// `wordcount`: runs of letters, digits and `_`.
pub(super) fn word_count(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = subject("wordcount", args)?;
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    Ok(Value::from(words.count()))
}

/// `indent`: every line but the first, and not the blank ones, unless asked.
pub(super) fn indent(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [value, width, first, blank] = bind("indent", &["s", "width", "first", "blank"], args)?;
    let value = python_text(&required("indent", "s", value)?);
    let indentation = match width {
        None => "    ".to_owned(),
        Some(width) => match width.as_str() {
            Some(text) => text.to_owned(),
            None => " ".repeat(integer("indent", Some(width))?.unwrap_or(0).clamp(0, 1000) as usize),
        },
    };
    let (first, blank) = (flag(first, false), flag(blank, false));
    let lines = lines(&(value + "\n"), false);
    charge(state, lines.iter().map(|line| line.len() + indentation.len() + 1).sum())?;
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let indented = if at == 0 { first } else { blank || !line.is_empty() };
        if indented {
            out.push_str(&indentation);
        }
        out.push_str(line);
    }
    Ok(Value::from(out))
}
