//! Finds the value in what a model wrote.
//!
//! Models wrap JSON in fences and talk around it. Looked at in turn: the whole text, the first fenced block that
//! parses, everything between the first and the last fence, then from the first bracket on. An object is preferred to
//! a list that stands before it (`see [1]: {…}`). A key that occurs twice makes a value ambiguous, so it counts as
//! malformed. Whether the value fits is `fit`'s question.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;

/// Places to start from in a text full of brackets; each costs a scan, so their number is bounded.
const MOST_STARTS: usize = 32;

/// A value and the JSON it was read from, so that numbers keep the digits they were written with.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// The value.
    pub value: Value,
    /// Its text.
    pub text: Cow<'a, str>,
}

impl<'a> Found<'a> {
    fn new(value: Value, text: &'a str) -> Found<'a> {
        Found { value, text: Cow::Borrowed(text) }
    }
}

/// The value in the text, or why there is none.
pub fn find(text: &str) -> Result<Found<'_>, String> {
    let text = text.trim();
    let whole = match parse(text) {
        Ok(value) => return Ok(Found::new(value, text)),
        Err(error) => error,
    };
    fenced(text).or_else(|| from_bracket(text)).ok_or_else(|| why_not(text, whole))
}

/// The parts of the text that look most like a value: what `repair` should try.
pub fn candidates(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = blocks(text).collect();
    parts.extend(greedy_block(text));
    parts.push(text.trim());
    parts.iter().filter_map(|part| part.find(['{', '[']).map(|at| &part[at..])).collect()
}

/// Whether a value begins in the text and the text ends before it does.
pub fn is_cut_off(text: &str) -> bool {
    let Some(at) = text.find(['{', '[']) else { return false };
    parse(&text[at..]).is_err_and(|error| error.is_eof())
}

/// Parses one value that fills the text; a key that occurs twice is an error.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

fn why_not(text: &str, error: serde_json::Error) -> String {
    match text.find(['{', '[']) {
        None => "no JSON was found in it".into(),
        Some(0) => format!("it is not valid JSON: {error}"),
        Some(at) => match parse(&text[at..]) {
            Err(error) => format!("it is not valid JSON: {error}"),
            Ok(_) => "no JSON was found in it".into(),
        },
    }
}

fn fenced(text: &str) -> Option<Found<'_>> {
    blocks(text).find_map(structured).or_else(|| greedy_block(text).and_then(structured))
}

/// The object or list that fills the block. A fenced number or word is code, not an answer.
fn structured(block: &str) -> Option<Found<'_>> {
    let block = block.trim();
    let value = parse(block).ok().filter(|value| value.is_object() || value.is_array())?;
    Some(Found::new(value, block))
}

/// The contents of the fenced blocks, each without its language word.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).map(without_language)
}

/// Everything between the first and the last fence: right when a string of the value holds a fence itself.
fn greedy_block(text: &str) -> Option<&str> {
    let start = text.find("```")? + 3;
    let end = text.rfind("```").filter(|end| *end >= start)?;
    Some(without_language(&text[start..end]))
}

fn without_language(block: &str) -> &str {
    block.trim_start_matches(|c: char| c.is_ascii_alphanumeric())
}

fn from_bracket(text: &str) -> Option<Found<'_>> {
    let mut first_list = None;
    let mut at = 0;
    for _ in 0..MOST_STARTS {
        let Some(start) = text[at..].find(['{', '[']).map(|found| at + found) else { break };
        match leading_value(&text[start..]) {
            Some(found) if found.value.is_object() => return Some(found),
            Some(found) => {
                at = start + found.text.len();
                first_list.get_or_insert(found);
            }
            None => at = start + 1,
        }
    }
    first_list
}

/// The value at the beginning of the text.
fn leading_value(text: &str) -> Option<Found<'_>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Strict>();
    let value = stream.next()?.ok()?.0;
    Some(Found::new(value, &text[..stream.byte_offset()]))
}

/// A value none of whose objects has a key twice.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((key, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key `{key}` occurs twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value_in(text: &str) -> Result<Value, String> {
        find(text).map(|found| found.value)
    }

    #[test]
    fn values_are_found_wherever_models_put_them() {
        let wanted = json!({"n": 3});
        for text in [
            "{\"n\": 3}",
            "  {\"n\":3}\n",
            "```json\n{\"n\": 3}\n```",
            "Sure!\n```\n{\"n\": 3}\n```\nAnything else?",
            "```python\nprint(1)\n```\nand\n```json\n{\"n\": 3}\n```",
            "The answer is {\"n\": 3}. Hope this helps {you}.",
            "see [1]: {\"n\": 3}",
        ] {
            assert_eq!(value_in(text).as_ref(), Ok(&wanted), "{text}");
        }
        assert_eq!(value_in("Here: [1, 2]"), Ok(json!([1, 2])));
        assert_eq!(value_in("\"text\""), Ok(json!("text")));
    }

    #[test]
    fn a_fence_inside_a_string_does_not_end_the_block() {
        let text = "```json\n{\"code\": \"```\\nx\\n```\"}\n```";
        assert_eq!(value_in(text), Ok(json!({"code": "```\nx\n```"})));
    }

    #[test]
    fn what_is_no_value_is_said_to_be_none() {
        assert_eq!(value_in("I think it is about three."), Err("no JSON was found in it".into()));
        assert!(find("{\"n\": 3").unwrap_err().starts_with("it is not valid JSON: EOF"));
        assert!(find("{\"n\": 1, \"n\": 2}").unwrap_err().contains("key `n` occurs twice"));
        assert!(find(&"[".repeat(10_000)).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}") {
            let _ = find(&text);
            let _ = candidates(&text);
        }

        #[test]
        fn never_panics_among_brackets_and_fences(parts in prop::collection::vec("```|\\{|\\}|\\[|\\]|\"|:|,|json|\n|é|1", 0..60)) {
            let text = parts.concat();
            let _ = find(&text);
            let _ = candidates(&text);
        }

        #[test]
        fn talk_around_an_object_changes_nothing(key in "[a-z]{1,8}", value in "[^\"\\\\\\p{Cc}]{0,20}", before in "[a-zA-Z ,.]{0,30}") {
            let object = json!({key: value});
            prop_assert_eq!(value_in(&format!("{before}{object} and so on")), Ok(object));
        }
    }
}
