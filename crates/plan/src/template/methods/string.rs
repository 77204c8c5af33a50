//! Methods of texts.

use std::collections::HashSet;

use minijinja::value::{Tuple, Value, ValueKind};
use minijinja::{Error, State};

use crate::template::arguments::{bind, failure, flag, integer, items, required, text};
use crate::template::formatting::braces;
use crate::template::limits::charge;
use crate::template::operators::kind_name;
use crate::template::python::is_printable;

type Outcome = Result<Value, Error>;

/// Calls a method of a text; `None` if texts have no such method.
pub(super) fn call(state: &mut State, subject: &str, method: &str, args: &[Value]) -> Option<Outcome> {
    question(subject, method)
        .map(|answer| bind(method, &[], args).map(|[]| Value::from(answer)))
        .or_else(|| changed(subject, method).map(|text| bind(method, &[], args).map(|[]| Value::from(text))))
        .or_else(|| searched(subject, method, args))
        .or_else(|| divided(subject, method, args))
        .or_else(|| built(state, subject, method, args))
}

/// The methods without arguments that answer yes or no.
fn question(subject: &str, method: &str) -> Option<bool> {
    let every = |test: fn(char) -> bool| !subject.is_empty() && subject.chars().all(test);
    let cased = |upper: bool| {
        let lower_found = subject.chars().any(char::is_lowercase);
        let upper_found = subject.chars().any(char::is_uppercase);
        if upper { upper_found && !lower_found } else { lower_found && !upper_found }
    };
    Some(match method {
        "isalnum" => every(char::is_alphanumeric),
        "isalpha" => every(char::is_alphabetic),
        "isascii" => subject.is_ascii(),
        "isdecimal" => every(|c| c.is_ascii_digit()),
        "isdigit" => every(|c| c.is_ascii_digit() || (!c.is_ascii() && c.is_numeric() && !c.is_alphabetic())),
        "isnumeric" => every(char::is_numeric),
        "isidentifier" => is_identifier(subject),
        "islower" => cased(false),
        "isupper" => cased(true),
        "isspace" => every(char::is_whitespace),
        "isprintable" => subject.chars().all(is_printable),
        "istitle" => subject.chars().any(char::is_alphabetic) && title(subject) == subject,
        _ => return None,
    })
}

fn is_identifier(subject: &str) -> bool {
    let mut characters = subject.chars();
    characters.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && characters.all(|c| c == '_' || c.is_alphanumeric())
}

/// The methods without arguments that give another text.
fn changed(subject: &str, method: &str) -> Option<String> {
    Some(match method {
        "upper" => subject.to_uppercase(),
        "lower" | "casefold" => subject.to_lowercase(),
        "capitalize" => capitalize(subject),
        "title" => title(subject),
        "swapcase" => subject.chars().flat_map(swap_case).collect(),
        _ => return None,
    })
}

fn swap_case(character: char) -> Vec<char> {
    if character.is_uppercase() {
        character.to_lowercase().collect()
    } else {
        character.to_uppercase().collect()
    }
}

/// First character upper case, the rest lower case.
pub(in crate::template) fn capitalize(subject: &str) -> String {
    let mut characters = subject.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters.as_str().to_lowercase().chars()).collect()
}

/// Python's `title`: a letter is upper case where no letter stands before it.
fn title(subject: &str) -> String {
    let mut out = String::with_capacity(subject.len());
    let mut inside = false;
    for character in subject.chars() {
        match inside {
            true => out.extend(character.to_lowercase()),
            false => out.extend(character.to_uppercase()),
        }
        inside = character.is_alphabetic();
    }
    out
}

/// The methods that look for a part.
fn searched(subject: &str, method: &str, args: &[Value]) -> Option<Outcome> {
    Some(match method {
        "find" => find(subject, method, args, false).map(|at| Value::from(at.map_or(-1, |at| at as i64))),
        "rfind" => find(subject, method, args, true).map(|at| Value::from(at.map_or(-1, |at| at as i64))),
        "index" => find(subject, method, args, false).and_then(found),
        "rindex" => find(subject, method, args, true).and_then(found),
        "count" => count(subject, args),
        "startswith" => affixed(subject, method, args, |subject, part| subject.starts_with(part)),
        "endswith" => affixed(subject, method, args, |subject, part| subject.ends_with(part)),
        _ => return None,
    })
}

fn found(at: Option<usize>) -> Outcome {
    at.map(Value::from).ok_or_else(|| failure("substring not found"))
}

/// The part of a text between two Python indexes, and how many characters stand before it.
fn window(
    subject: &str,
    method: &str,
    start: Option<Value>,
    stop: Option<Value>,
) -> Result<(String, usize), Error> {
    let characters: Vec<char> = subject.chars().collect();
    let length = characters.len();
    let place =
        |at: i64| if at < 0 { length.saturating_sub(at.unsigned_abs() as usize) } else { at as usize };
    let start = place(integer(method, start)?.unwrap_or(0)).min(length);
    let stop = place(integer(method, stop)?.unwrap_or(i64::MAX)).min(length);
    Ok((characters[start..stop.max(start)].iter().collect(), start))
}

fn find(subject: &str, method: &str, args: &[Value], last: bool) -> Result<Option<usize>, Error> {
    let [part, start, stop] = bind(method, &["sub", "start", "end"], args)?;
    let part = text(method, part)?.ok_or_else(|| failure(format!("{method} needs a text")))?;
    let (inside, before) = window(subject, method, start, stop)?;
    let at = if last { inside.rfind(&part) } else { inside.find(&part) };
    Ok(at.map(|at| before + inside[..at].chars().count()))
}

fn count(subject: &str, args: &[Value]) -> Outcome {
    let [part, start, stop] = bind("count", &["sub", "start", "end"], args)?;
    let part = text("count", part)?.ok_or_else(|| failure("count needs a text"))?;
    let (inside, _) = window(subject, "count", start, stop)?;
    Ok(Value::from(inside.matches(&part).count()))
}

fn affixed(subject: &str, method: &str, args: &[Value], fits: fn(&str, &str) -> bool) -> Outcome {
    let [parts, start, stop] = bind(method, &["prefix", "start", "end"], args)?;
    let parts = required(method, "prefix", parts)?;
    let (inside, _) = window(subject, method, start, stop)?;
    let parts = match parts.kind() {
        ValueKind::Seq | ValueKind::Iterable => items(&parts)?,
        _ => vec![parts],
    };
    for part in parts {
        let part = text(method, Some(part))?.ok_or_else(|| failure(format!("{method} needs a text")))?;
        if fits(&inside, &part) {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}

/// The methods that cut a text into parts.
fn divided(subject: &str, method: &str, args: &[Value]) -> Option<Outcome> {
    Some(match method {
        "split" => split(subject, method, args, false),
        "rsplit" => split(subject, method, args, true),
        "splitlines" => bind(method, &["keepends"], args)
            .map(|[keep]| lines(subject, flag(keep, false)).into_iter().map(Value::from).collect()),
        "partition" => partition(subject, method, args, |subject, part| subject.split_once(part)),
        "rpartition" => partition(subject, method, args, |subject, part| subject.rsplit_once(part)),
        _ => return None,
    })
}

fn split(subject: &str, method: &str, args: &[Value], from_end: bool) -> Outcome {
    let [separator, most] = bind(method, &["sep", "maxsplit"], args)?;
    let most = usize::try_from(integer(method, most)?.unwrap_or(-1)).unwrap_or(usize::MAX - 1);
    let parts: Vec<String> = match text(method, separator)? {
        Some(separator) if separator.is_empty() => return Err(failure("empty separator")),
        Some(separator) if from_end => {
            let mut parts: Vec<String> =
                subject.rsplitn(most + 1, separator.as_str()).map(str::to_owned).collect();
            parts.reverse();
            parts
        }
        Some(separator) => subject.splitn(most + 1, separator.as_str()).map(str::to_owned).collect(),
        None if from_end => {
            let backwards: String = subject.chars().rev().collect();
            let parts = words(&backwards, most);
            parts.into_iter().rev().map(|part| part.chars().rev().collect()).collect()
        }
        None => words(subject, most),
    };
    Ok(parts.into_iter().map(Value::from).collect())
}

/// Words between white space; after `most` cuts the rest stays whole.
fn words(subject: &str, most: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = subject.trim_start();
    while !rest.is_empty() {
        if parts.len() == most {
            parts.push(rest.to_owned());
            return parts;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        parts.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    parts
}

/// Python's `splitlines`.
pub(in crate::template) fn lines(subject: &str, keep: bool) -> Vec<String> {
    const ENDS: [char; 10] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut out = Vec::new();
    let mut rest = subject;
    while !rest.is_empty() {
        let Some(at) = rest.find(ENDS) else {
            out.push(rest.to_owned());
            break;
        };
        let first = rest[at..].chars().next().map_or(1, char::len_utf8);
        let width = if rest[at..].starts_with("\r\n") { 2 } else { first };
        out.push(rest[..at + if keep { width } else { 0 }].to_owned());
        rest = &rest[at + width..];
    }
    out
}

fn partition(
    subject: &str,
    method: &str,
    args: &[Value],
    cut: for<'a> fn(&'a str, &str) -> Option<(&'a str, &'a str)>,
) -> Outcome {
    let [part] = bind(method, &["sep"], args)?;
    let part = text(method, part)?.filter(|part| !part.is_empty());
    let part = part.ok_or_else(|| failure(format!("{method} needs a text that is not empty")))?;
    let three = match cut(subject, &part) {
        Some((before, after)) => [before, &part, after],
        None if method == "partition" => [subject, "", ""],
        None => ["", "", subject],
    };
    Ok(Value::from(Tuple::from(three.map(Value::from))))
}

/// The methods that build another text from arguments.
fn built(state: &mut State, subject: &str, method: &str, args: &[Value]) -> Option<Outcome> {
    Some(match method {
        "strip" => stripped(subject, method, args, true, true),
        "lstrip" => stripped(subject, method, args, true, false),
        "rstrip" => stripped(subject, method, args, false, true),
        "removeprefix" => removed(subject, method, args, |subject, part| subject.strip_prefix(part)),
        "removesuffix" => removed(subject, method, args, |subject, part| subject.strip_suffix(part)),
        "replace" => replaced(state, subject, args),
        "join" => joined(state, subject, args),
        "format" | "format_map" => formatted(state, subject, method, args),
        "center" => padded(state, subject, method, args, |space, width| space / 2 + (space & width & 1)),
        "ljust" => padded(state, subject, method, args, |_, _| 0),
        "rjust" => padded(state, subject, method, args, |space, _| space),
        "zfill" => zero_filled(state, subject, args),
        "expandtabs" => expanded(state, subject, args),
        _ => return None,
    })
}

fn stripped(subject: &str, method: &str, args: &[Value], front: bool, back: bool) -> Outcome {
    let [characters] = bind(method, &["chars"], args)?;
    let characters = text(method, characters)?;
    Ok(Value::from(strip(subject, characters.as_deref(), front, back)))
}

/// Takes white space, or the given characters, from the ends of a text.
pub(in crate::template) fn strip<'a>(
    subject: &'a str,
    characters: Option<&str>,
    front: bool,
    back: bool,
) -> &'a str {
    let given: Option<HashSet<char>> = characters.map(|characters| characters.chars().collect());
    let goes = |c: char| given.as_ref().map_or(c.is_whitespace(), |given| given.contains(&c));
    let subject = if front { subject.trim_start_matches(goes) } else { subject };
    if back { subject.trim_end_matches(&goes) } else { subject }
}

fn removed(
    subject: &str,
    method: &str,
    args: &[Value],
    cut: for<'a> fn(&'a str, &str) -> Option<&'a str>,
) -> Outcome {
    let [part] = bind(method, &["affix"], args)?;
    let part = text(method, part)?.ok_or_else(|| failure(format!("{method} needs a text")))?;
    Ok(Value::from(cut(subject, &part).unwrap_or(subject)))
}

fn replaced(state: &mut State, subject: &str, args: &[Value]) -> Outcome {
    let [old, new, most] = bind("replace", &["old", "new", "count"], args)?;
    let (Some(old), Some(new)) = (text("replace", old)?, text("replace", new)?) else {
        return Err(failure("replace needs two texts"));
    };
    replace(state, subject, &old, &new, integer("replace", most)?)
}

/// Replaces the first `most` places, or all of them.
pub(in crate::template) fn replace(
    state: &mut State,
    subject: &str,
    old: &str,
    new: &str,
    most: Option<i64>,
) -> Outcome {
    let most = usize::try_from(most.unwrap_or(-1)).unwrap_or(usize::MAX);
    let places = subject.matches(old).count().min(most);
    charge(state, subject.len().saturating_add(places.saturating_mul(new.len())))?;
    Ok(Value::from(subject.replacen(old, new, most)))
}

fn joined(state: &mut State, subject: &str, args: &[Value]) -> Outcome {
    let [parts] = bind("join", &["iterable"], args)?;
    let parts = items(&required("join", "iterable", parts)?)?;
    let mut out = String::new();
    for (at, part) in parts.iter().enumerate() {
        let part = part.as_str().ok_or_else(|| {
            failure(format!("join needs texts, but item {at} is {}: use the filter `join`", kind_name(part)))
        })?;
        charge(state, part.len() + subject.len())?;
        if at > 0 {
            out.push_str(subject);
        }
        out.push_str(part);
    }
    Ok(Value::from(out))
}

fn formatted(state: &mut State, subject: &str, method: &str, args: &[Value]) -> Outcome {
    if method == "format" {
        return braces(state, subject, args);
    }
    let [map] = bind(method, &["mapping"], args)?;
    let map = required(method, "mapping", map)?;
    let pairs = map.as_object().and_then(|map| map.try_iter_pairs()).into_iter().flatten();
    let named: minijinja::value::Kwargs = pairs.map(|(key, item)| (key.to_string(), item)).collect();
    braces(state, subject, &[Value::from(named)])
}

/// Fills up to a width; `left` says how much of the space goes in front.
fn padded(
    state: &mut State,
    subject: &str,
    method: &str,
    args: &[Value],
    left: fn(usize, usize) -> usize,
) -> Outcome {
    let [width, fill] = bind(method, &["width", "fillchar"], args)?;
    let width = integer(method, Some(required(method, "width", width)?))?.unwrap_or(0);
    let fill = text(method, fill)?.unwrap_or_else(|| " ".to_owned());
    let width = usize::try_from(width).unwrap_or(0);
    let space = width.saturating_sub(subject.chars().count());
    if fill.chars().count() != 1 {
        return Err(failure(format!("{method} fills with exactly one character")));
    }
    charge(state, subject.len().saturating_add(space.saturating_mul(fill.len())))?;
    let front = left(space, width);
    Ok(Value::from([fill.repeat(front).as_str(), subject, fill.repeat(space - front).as_str()].concat()))
}

fn zero_filled(state: &mut State, subject: &str, args: &[Value]) -> Outcome {
    let [width] = bind("zfill", &["width"], args)?;
    let width = integer("zfill", Some(required("zfill", "width", width)?))?.unwrap_or(0);
    let space = usize::try_from(width).unwrap_or(0).saturating_sub(subject.chars().count());
    charge(state, subject.len().saturating_add(space))?;
    let sign = subject.len() - subject.trim_start_matches(['+', '-']).len();
    let (sign, digits) = subject.split_at(sign.min(1));
    Ok(Value::from([sign, "0".repeat(space).as_str(), digits].concat()))
}

fn expanded(state: &mut State, subject: &str, args: &[Value]) -> Outcome {
    let [size] = bind("expandtabs", &["tabsize"], args)?;
    let size = usize::try_from(integer("expandtabs", size)?.unwrap_or(8)).unwrap_or(0).min(1000);
    let tabs = subject.bytes().filter(|byte| *byte == b'\t').count();
    charge(state, subject.len().saturating_add(tabs.saturating_mul(size)))?;
    let mut out = String::new();
    let mut column = 0;
    for character in subject.chars() {
        match character {
            '\t' if size > 0 => {
                let space = size - column % size;
                out.push_str(&" ".repeat(space));
                column += space;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(character);
                column = 0;
            }
            _ => {
                out.push(character);
                column += 1;
            }
        }
    }
    Ok(Value::from(out))
}
