//! Repairs almost-JSON without asking again.
//!
//! Only slips whose meaning is beyond doubt: trailing commas, single quotes, bare keys, comments, Python's `True`,
//! `False` and `None`, raw line breaks in text, and closing brackets missing at the very end. Text that stops inside a
//! string or behind a colon is cut off, not slipped, and stays an error. Valid JSON comes out with the same value.

use crate::answer::{self, Found};
use std::borrow::Cow;

/// Deeper nesting is nothing a model writes by mistake.
const MOST_DEPTH: usize = 64;

/// The value that the text stands for, if it can be repaired without guessing.
pub fn repair(text: &str) -> Option<Found<'static>> {
    let mut reader = Reader { rest: text, out: String::with_capacity(text.len()), depth: 0 };
    reader.value()?;
    reader.space()?;
    // Talk behind the value is no part of it, but another bracket might be the real answer.
    if reader.rest.contains(['{', '[', '}', ']']) {
        return None;
    }
    let value = answer::parse(&reader.out).ok()?;
    Some(Found { value, text: Cow::Owned(reader.out) })
}

/// Reads tolerantly and writes strictly; `None` means: not beyond doubt.
struct Reader<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<()> {
        self.space()?;
        match self.rest.chars().next()? {
            '{' => self.nested('{', '}', Reader::entry),
            '[' => self.nested('[', ']', Reader::value),
            quote @ ('"' | '\'') => self.text(quote),
            _ => self.word(),
        }
    }

    /// An object or a list: elements, commas between them, and a closing bracket that may be missing at the end.
    fn nested(&mut self, open: char, close: char, element: fn(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        self.skip(open);
        self.out.push(open);
        self.space()?;
        let mut closed = self.skip(close);
        while !closed {
            element(self)?;
            self.space()?;
            let comma = self.skip(',');
            self.space()?;
            closed = self.skip(close) || (self.rest.is_empty() && !comma);
            if !closed && !comma {
                return None;
            }
            if !closed {
                self.out.push(',');
            }
        }
        self.depth -= 1;
        self.out.push(close);
        Some(())
    }

    fn entry(&mut self) -> Option<()> {
        match self.rest.chars().next()? {
            quote @ ('"' | '\'') => self.text(quote)?,
            _ => self.bare_key()?,
        }
        self.space()?;
        if !self.skip(':') {
            return None;
        }
        self.out.push(':');
        self.value()
    }

    fn bare_key(&mut self) -> Option<()> {
        let key = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return None;
        }
        self.out.push('"');
        self.out.push_str(key);
        self.out.push('"');
        Some(())
    }

    fn text(&mut self, quote: char) -> Option<()> {
        self.skip(quote);
        self.out.push('"');
        loop {
            let c = self.next()?;
            match c {
                '\\' => self.escape()?,
                '"' if quote == '\'' => self.out.push_str("\\\""),
                c if c == quote => break,
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c.is_ascii_control() => return None,
                c => self.out.push(c),
            }
        }
        self.out.push('"');
        Some(())
    }

    fn escape(&mut self) -> Option<()> {
        match self.next()? {
            '\'' => self.out.push('\''),
            c => {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        Some(())
    }

    /// A number or a constant; a word at the very end may be cut off, so only a whole constant counts there.
    fn word(&mut self) -> Option<()> {
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        let constant = match word {
            "true" | "True" => "true",
            "false" | "False" => "false",
            "null" | "None" => "null",
            _ if self.rest.is_empty() => return None,
            number => {
                serde_json::from_str::<serde_json::Number>(number).ok()?;
                number
            }
        };
        self.out.push_str(constant);
        Some(())
    }

    /// Skips blanks and comments; a comment that does not end is beyond repair.
    fn space(&mut self) -> Option<()> {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = &comment[comment.find("*/")? + 2..];
            } else {
                return Some(());
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, wanted: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(wanted) else { return false };
        self.rest = rest;
        true
    }
}

impl<'a> Reader<'a> {
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn repaired(text: &str) -> Option<Value> {
        repair(text).map(|found| found.value)
    }

    #[test]
    fn slips_are_repaired() {
        for (text, value) in [
            ("{\"a\": 1, \"b\": [1, 2,],}", json!({"a": 1, "b": [1, 2]})),
            ("{'a': 'it\\'s \"so\"'}", json!({"a": "it's \"so\""})),
            ("{a: True, b_c: None}", json!({"a": true, "b_c": null})),
            ("{\"a\": \"one\ntwo\"}", json!({"a": "one\ntwo"})),
            ("{\"a\": 1 /* one */, // two\n \"b\": 2}", json!({"a": 1, "b": 2})),
            ("{\"a\": {\"b\": [\"x\"", json!({"a": {"b": ["x"]}})),
            ("{\"a\": 1,} as you asked", json!({"a": 1})),
        ] {
            assert_eq!(repaired(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_in_doubt_is_left_alone() {
        for text in [
            "",
            "{",
            "[",
            "prose",
            "{\"a\": \"cut",
            "{\"a\": 12",
            "{\"a\":",
            "{\"a\"",
            "{\"a\": tru",
            "{\"a\": true,",
            "{\"a\" 1}",
            "{\"a\": 1 \"b\": 2}",
            "{'a': 'it's'}",
            "{\"a\": 1,, }",
            "{\"a\": 1,} or {\"a\": 2}",
            "{\"a\": 01}",
            "{\"a\": 1, \"a\": 2,}",
        ] {
            assert_eq!(repaired(text), None, "{text}");
        }
        assert_eq!(repaired(&"[".repeat(100_000)), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn never_changes_valid_json(value in any_json()) {
            let text = json!([value]).to_string();
            // Not the value itself: a number may change its last digit when it is read.
            let value = serde_json::from_str::<Value>(&text).unwrap();
            prop_assert_eq!(repaired(&text), Some(value.clone()));
            prop_assert_eq!(repaired(&serde_json::to_string_pretty(&value).unwrap()).is_some(), true);
        }

        #[test]
        fn never_panics(text in "(?s).{0,100}") {
            let _ = repair(&format!("{{{text}"));
        }
    }
}
