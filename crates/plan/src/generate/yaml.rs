//! Data as YAML that people like to read: blocks, plain words where nothing can be mistaken, texts over several lines
//! as they are.

use convoke_model::is_control;
use serde_json::{Map, Value};

/// The value as a YAML document.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => mapping(fields, 0, &mut out),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut out),
        other => {
            out.push_str(&small(other));
            out.push('\n');
        }
    }
    out
}

fn mapping(fields: &Map<String, Value>, indent: usize, out: &mut String) {
    for (index, (key, value)) in fields.iter().enumerate() {
        if index > 0 {
            pad(indent, out);
        }
        out.push_str(&word(key));
        out.push(':');
        entry(value, indent, out);
    }
}

/// A value behind a key.
fn entry(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            pad(indent + 2, out);
            mapping(fields, indent + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            pad(indent + 2, out);
            sequence(items, indent + 2, out);
        }
        other => {
            out.push(' ');
            leaf(other, indent, out);
        }
    }
}

fn sequence(items: &[Value], indent: usize, out: &mut String) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            pad(indent, out);
        }
        out.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => mapping(fields, indent + 2, out),
            Value::Array(items) if !items.is_empty() => sequence(items, indent + 2, out),
            other => leaf(other, indent, out),
        }
    }
}

fn leaf(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if is_block(text) => block(text, indent + 2, out),
        other => {
            out.push_str(&small(other));
            out.push('\n');
        }
    }
}

fn small(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}

/// Whether a text can stand line by line: what begins with white space would be taken for indentation.
fn is_block(text: &str) -> bool {
    let plain = |c: char| c == '\n' || c == ' ' || (!c.is_whitespace() && !is_odd(c));
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && text.chars().all(plain)
        && text.trim_end_matches('\n').lines().all(|line| !line.ends_with(' '))
}

/// Characters that YAML takes for line breaks or does not allow, and those that a terminal obeys.
fn is_odd(c: char) -> bool {
    is_control(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn block(text: &str, indent: usize, out: &mut String) {
    let body = text.trim_end_matches('\n');
    out.push_str(match text.len() - body.len() {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    out.push('\n');
    for line in body.split('\n') {
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
    for _ in 1..text.len() - body.len() {
        out.push('\n');
    }
}

/// A text on one line: without quotes where it can only be read as itself.
fn word(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if is_odd(c) => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn is_plain(text: &str) -> bool {
    let first = text.chars().next();
    let begins = first.is_some_and(|c| c.is_alphabetic() || c == '_');
    let goes_on =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | ',' | '(' | ')' | '/' | '\'');
    let is_word = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    begins && !is_word && text.chars().all(goes_on) && !text.ends_with(' ')
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn read_back(text: &str) -> Value {
        crate::source::data_of(text).unwrap_or_else(|| panic!("not YAML:\n{text}"))
    }

    #[test]
    fn it_reads_like_something_that_somebody_wrote() {
        let value = json!({
            "name": "a team", "agents": [{"id": "x", "task": "first\nsecond", "depends_on": []}, {"id": "true", "count": 1.5}],
            "odd key!": null, "text": "a: b",
        });
        let text = "name: a team\nagents:\n  - id: x\n    task: |-\n      first\n      second\n    depends_on: []\n  - id: \"true\"\n    count: 1.5\n\"odd key!\": null\ntext: \"a: b\"\n";
        assert_eq!(print(&value), text);
        assert_eq!(read_back(text), value);
    }

    #[test]
    fn what_a_terminal_would_obey_is_quoted() {
        let value = json!({"one": "a\u{202e}b", "many\u{9b}": "first\n\u{2066}second"});
        let text = print(&value);
        assert_eq!(text.chars().find(|c| *c != '\n' && is_control(*c)), None, "{text:?}");
        assert_eq!(read_back(&text), value);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[ -~\\n\\t]{0,20}".prop_map(Value::from),
            "[a-z :#\\-'\"{}\\[\\]&*!|>%@`?,\\n]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("[ -~]{1,8}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_as_the_same(value in any_value()) {
            let value = json!({ "top": value });
            prop_assert_eq!(read_back(&print(&value)), value);
        }
    }
}
