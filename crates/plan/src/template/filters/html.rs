//! Filters about HTML and addresses.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State};

use crate::template::arguments::{bind, failure, flag, integer, items, text};
use crate::template::limits::charge;
use crate::template::python::python_text;

/// Escapes as `markupsafe` does.
pub(in crate::template) fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            _ => out.push(character),
        }
    }
    out
}

fn subject(name: &str, args: &[Value]) -> Result<Value, Error> {
    let [value] = bind(name, &["value"], args)?;
    value.ok_or_else(|| failure(format!("{name} needs a value")))
}

/// `escape`: HTML escapes, once.
pub(super) fn escape(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject("escape", args)?;
    if value.is_safe() { Ok(value) } else { force_escape(state, &[value]) }
}

/// `forceescape`: HTML escapes, even where they were made already.
pub(super) fn force_escape(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let escaped = escape_text(&python_text(&subject("forceescape", args)?));
    charge(state, escaped.len())?;
    Ok(Value::from_safe_string(escaped))
}

/// `safe`: marks a text as escaped.
pub(super) fn safe(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    subject("safe", args).map(|value| Value::from_safe_string(python_text(&value)))
}

/// `striptags`: the text of HTML, white space collapsed.
pub(super) fn strip_tags(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = python_text(&subject("striptags", args)?);
    let bare = without(&without(&text, "<!--", "-->"), "<", ">");
    let collapsed = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(Value::from(unescape(&collapsed)))
}

/// A text without anything between `open` and `close`; an `open` that is never closed stays.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        let Some(length) = rest[start..].find(close) else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + length + close.len()..];
    }
    out + rest
}

/// Bytes from `&` to `;`, both included.
const LONGEST_ENTITY: usize = 11;

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        let tail = &rest[start..];
        // The longest name has nine characters: looking further would read the whole text for every `&`.
        let end = tail.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        let entity = end.and_then(|end| Some((entity(&tail[1..end])?, end)));
        match entity {
            Some((character, end)) => {
                out.push(character);
                rest = &tail[end + 1..];
            }
            None => {
                out.push('&');
                rest = &tail[1..];
            }
        }
    }
    out + rest
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

/// `xmlattr`: a map as attributes of a tag.
pub(super) fn xml_attributes(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let [map, space] = bind("xmlattr", &["d", "autospace"], args)?;
    let map = map.unwrap_or(Value::UNDEFINED);
    let pairs = map.as_object().and_then(|map| map.try_iter_pairs());
    let mut parts = Vec::new();
    for (key, item) in pairs.into_iter().flatten().filter(|(_, item)| !item.is_none() && !item.is_undefined())
    {
        let key = python_text(&key);
        if key.contains([' ', '\t', '\n', '\r', '/', '>', '=']) {
            return Err(failure(format!("xmlattr cannot write an attribute named {key:?}")));
        }
        parts.push(format!("{}=\"{}\"", escape_text(&key), escape_text(&python_text(&item))));
    }
    let joined = parts.join(" ");
    let space = if flag(space, true) && !joined.is_empty() { " " } else { "" };
    Ok(Value::from_safe_string(format!("{space}{joined}")))
}

/// `urlencode`: a text, or pairs as a query.
pub(super) fn url_encode(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = subject("urlencode", args)?;
    let pair = |key: &Value, item: &Value| format!("{}={}", quote_query(key), quote_query(item));
    match value.kind() {
        ValueKind::Map => {
            let pairs = value.as_object().and_then(|map| map.try_iter_pairs());
            let parts: Vec<String> =
                pairs.into_iter().flatten().map(|(key, item)| pair(&key, &item)).collect();
            Ok(Value::from(parts.join("&")))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let mut parts = Vec::new();
            for item in items(&value)? {
                parts.push(pair(&item.get_item_by_index(0)?, &item.get_item_by_index(1)?));
            }
            Ok(Value::from(parts.join("&")))
        }
        _ => Ok(Value::from(quote(&python_text(&value), "/"))),
    }
}

fn quote_query(value: &Value) -> String {
    quote(&python_text(value), "").replace("%20", "+")
}

fn quote(text: &str, also: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => out.push(char::from(byte)),
            _ if also.as_bytes().contains(&byte) => out.push(char::from(byte)),
            _ => out.extend(['%', hexadecimal(byte >> 4), hexadecimal(byte & 15)]),
        }
    }
    out
}

fn hexadecimal(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase()
}

/// `urlize`: addresses become links.
pub(super) fn urlize(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let parameters = ["value", "trim_url_limit", "nofollow", "target", "rel"];
    let [value, limit, nofollow, target, rel] = bind("urlize", &parameters, args)?;
    let limit = integer("urlize", limit)?.and_then(|limit| usize::try_from(limit).ok());
    let target = text("urlize", target)?.map(|target| format!(" target=\"{}\"", escape_text(&target)));
    let nofollow = if flag(nofollow, false) { "nofollow " } else { "" };
    let rel = text("urlize", rel)?
        .map_or_else(|| format!("{nofollow}noopener"), |rel| format!("{nofollow}{rel} noopener"));
    let mut out = String::new();
    for word in python_text(&value.unwrap_or(Value::UNDEFINED)).split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let address = bare.trim_end_matches(['.', ',', ')', '>', ';', '!', '?']);
        let reference = match address {
            _ if address.starts_with("http://") || address.starts_with("https://") => address.to_owned(),
            _ if address.starts_with("www.") => format!("https://{address}"),
            _ => {
                out.push_str(&escape_text(word));
                continue;
            }
        };
        let shown = match limit {
            Some(limit) if address.chars().count() > limit => {
                format!("{}...", address.chars().take(limit).collect::<String>())
            }
            _ => address.to_owned(),
        };
        let (reference, shown, target) =
            (escape_text(&reference), escape_text(&shown), target.as_deref().unwrap_or(""));
        out.push_str(&format!("<a href=\"{reference}\" rel=\"{rel}\"{target}>{shown}</a>"));
        out.push_str(&escape_text(&word[address.len()..]));
    }
    charge(state, out.len())?;
    Ok(Value::from_safe_string(out))
}
