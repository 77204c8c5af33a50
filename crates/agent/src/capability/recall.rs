//! The tool by which an agent reads back what was cut away: a slice of it, or the places where a text occurs.
//!
//! Positions are characters, from 0. What it gives is bounded like every other result. Finding the value behind a name,
//! and fetching it, is left to the driver.

use super::compact;
use crate::{ToolCall, ToolResult, ToolSpec};
use convoke_model::JsonText;
use convoke_model::excerpt::{around, place_of};
use serde_json::{Value, json};

/// What models call it; tools of servers have their server's name in front.
pub(crate) const NAME: &str = "read_result";

/// The bound of a slice where the settings have none.
const LONGEST: u64 = 50_000;

/// Places shown at once.
const MOST_PLACES: usize = 20;

/// Characters around a place.
const AROUND: usize = 80;

/// How models see it.
pub(crate) fn spec() -> ToolSpec {
    let description = "Reads a part of something that was left out of this conversation, by the name it was given there. \
                       Give `from` and `length` (characters) for a slice, or `find` for the places where a text occurs.";
    let input_schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "such as r1"},
            "from": {"type": "integer", "minimum": 0, "description": "where to begin; 0 if left out"},
            "length": {"type": "integer", "minimum": 1},
            "find": {"type": "string", "description": "a text to look for, from `from` on"}
        },
        "required": ["name"]
    });
    ToolSpec { name: NAME.into(), description: description.into(), input_schema }
}

/// What an agent wants to read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReadRequest {
    /// The name.
    pub name: String,
    from: usize,
    length: Option<usize>,
    find: Option<String>,
}

impl ReadRequest {
    /// Reads the arguments of a call; an error says what is wrong with them.
    pub fn of(call: &ToolCall) -> Result<ReadRequest, String> {
        let arguments = call.arguments.value();
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| arguments.get(key).and_then(Value::as_u64).map(|number| number as usize);
        let name = text("name").ok_or("`name` is missing: the name of what to read, such as `r1`")?;
        let find = text("find").filter(|text| !text.is_empty());
        Ok(ReadRequest { name, from: number("from").unwrap_or(0), length: number("length"), find })
    }

    /// The part of a kept value that it asks for.
    pub fn read(&self, kept: &JsonText, most: Option<u64>) -> ToolResult {
        let text = in_words(kept);
        let most = most.unwrap_or(LONGEST).max(1) as usize;
        let text = match &self.find {
            Some(wanted) => self.places(&text, wanted, most),
            None => self.slice(&text, most),
        };
        ToolResult { text, ..ToolResult::default() }
    }

    fn slice(&self, text: &str, most: usize) -> String {
        let length = self.length.unwrap_or(most).min(most);
        let start = place_of(text, self.from);
        let end = start + place_of(&text[start..], length);
        let (all, to) = (text.chars().count(), self.from + text[start..end].chars().count());
        format!("{}, characters {} to {to} of {all}:\n{}", self.name, self.from, &text[start..end])
    }

    fn places(&self, text: &str, wanted: &str, most: usize) -> String {
        let start = place_of(text, self.from);
        let found: Vec<usize> =
            text[start..].match_indices(wanted).take(MOST_PLACES + 1).map(|(at, _)| start + at).collect();
        if found.is_empty() {
            return format!("{}: {wanted:?} does not occur from character {} on", self.name, self.from);
        }
        let more = if found.len() > MOST_PLACES { " (there are more: go on from the last)" } else { "" };
        let mut shown = format!("{}: places of {wanted:?}{more}:", self.name);
        let (mut counted, mut position) = (start, self.from.min(text[..start].chars().count()));
        for at in found.into_iter().take(MOST_PLACES) {
            position += text[counted..at].chars().count();
            counted = at;
            let line = format!("\n{position}: {}", surroundings(text, at, wanted.len()));
            if shown.chars().count() + line.chars().count() > most {
                break;
            }
            shown.push_str(&line);
        }
        shown
    }
}

/// A piece of text around a place, on one line.
fn surroundings(text: &str, at: usize, length: usize) -> String {
    around(text, at..at + length.min(AROUND), AROUND).replace(['\n', '\r'], " ")
}

/// A kept value as an agent reads it: a result is its text, turns are told.
fn in_words(kept: &JsonText) -> String {
    match kept.value() {
        Value::String(text) => text,
        other => compact::in_words(&other).unwrap_or_else(|| other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: Value, text: &str, most: u64) -> String {
        let call = ToolCall::new("1", NAME, &arguments.to_string());
        ReadRequest::of(&call).unwrap().read(&JsonText::of(text), Some(most)).text
    }

    #[test]
    fn slices_are_of_characters_and_bounded() {
        let text = "äbcdefghij";
        assert_eq!(
            read(json!({"name": "r1", "from": 1, "length": 3}), text, 100),
            "r1, characters 1 to 4 of 10:\nbcd"
        );
        assert_eq!(read(json!({"name": "r1"}), text, 4), "r1, characters 0 to 4 of 10:\näbcd");
        assert_eq!(read(json!({"name": "r1", "from": 99}), text, 4), "r1, characters 99 to 99 of 10:\n");
    }

    #[test]
    fn texts_are_found_with_their_places() {
        let text = format!("{}needle one\n{}needle two", "é".repeat(500), "x".repeat(500));
        let found = read(json!({"name": "r1", "find": "needle"}), &text, 1000);
        assert!(
            found.contains("\n500: ") && found.contains("\n1011: ") && found.contains("needle two"),
            "{found}"
        );
        assert!(read(json!({"name": "r1", "find": "needle", "from": 501}), &text, 1000).contains("\n1011: "));
        assert!(read(json!({"name": "r1", "find": "haystack"}), &text, 1000).contains("does not occur"));
        let many = read(json!({"name": "r1", "find": "x"}), &text, 600);
        assert!(many.chars().count() <= 600 && many.contains("there are more"), "{many}");
    }

    #[test]
    fn a_request_without_a_name_is_refused() {
        assert!(ReadRequest::of(&ToolCall::new("1", NAME, "{}")).unwrap_err().contains("`name`"));
        assert!(ReadRequest::of(&ToolCall::new("1", NAME, "oops")).is_err());
    }
}
