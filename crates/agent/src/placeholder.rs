//! Finds answers that have the right shape and say nothing: `string`, `TODO`, `<your answer>`, the field's own name.
//!
//! Careful rather than complete: such an answer is sent back once, and what is short may still be meant ("none",
//! "unknown", "ok"). A word that the author uses is no placeholder, nor is anything chosen from a list or found by a
//! pattern.

use convoke_model::{FieldType, OutputField, OutputSchema};
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// Texts that are nothing but filler, in lower case.
const FILLER: [&str; 19] = [
    "string",
    "str",
    "text",
    "value",
    "todo",
    "tbd",
    "fixme",
    "xxx",
    "n/a",
    "example",
    "sample",
    "placeholder",
    "foo",
    "foo bar",
    "foobar",
    "your answer",
    "your answer here",
    "answer here",
    "insert text here",
];

/// Words that stand for something to come, where they fill a pair of brackets.
const TO_COME: [&str; 11] =
    ["your", "insert", "enter", "answer", "value", "text", "string", "placeholder", "here", "todo", "fill"];

/// Words that several fields may well have in common.
const COMMON: [&str; 14] = [
    "none", "unknown", "ok", "yes", "no", "pass", "fail", "high", "medium", "low", "true", "false", "good",
    "n/a",
];

/// Fields that must be equal before that is suspicious.
const MANY: usize = 3;

/// Why the answer is a placeholder, in words for the model; `None` if it is none.
pub(crate) fn find(schema: &OutputSchema, answer: &Map<String, Value>, author: &[&str]) -> Option<String> {
    let mut found = Vec::new();
    inspect_fields(&schema.fields, answer, "", author, &mut found);
    if found.is_empty() {
        found.extend(all_equal(schema, answer));
    }
    (!found.is_empty()).then(|| found.join("; "))
}

fn inspect_fields(
    fields: &IndexMap<String, OutputField>,
    object: &Map<String, Value>,
    place: &str,
    author: &[&str],
    found: &mut Vec<String>,
) {
    for (name, field) in fields {
        if let Some(value) = object.get(name) {
            let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            inspect(name, field, value, &place, author, found);
        }
    }
}

fn inspect(
    name: &str,
    field: &OutputField,
    value: &Value,
    place: &str,
    author: &[&str],
    found: &mut Vec<String>,
) {
    match value {
        Value::String(text) if is_free(field) => {
            if let Some(why) = filler(name, field, text.trim(), author) {
                found.push(format!("field `{place}` is {text:?}, {why}"));
            }
        }
        Value::Object(object) => {
            let fields = field.properties.as_ref().into_iter();
            fields.for_each(|fields| inspect_fields(fields, object, place, author, found));
        }
        Value::Array(items) => {
            let Some(item) = &field.items else { return };
            for (at, value) in items.iter().enumerate() {
                inspect(name, item, value, &format!("{place}[{at}]"), author, found);
            }
        }
        _ => {}
    }
}

/// Whether the field takes any text, so that the text is the model's own.
fn is_free(field: &OutputField) -> bool {
    field.ty == FieldType::String
        && field.choices.is_none()
        && field.pattern.is_none()
        && field.required
        && !field.nullable
}

fn filler(name: &str, field: &OutputField, text: &str, author: &[&str]) -> Option<&'static str> {
    let plain = text.to_lowercase();
    let plain = plain.trim_end_matches(['.', '!', ':']);
    let description = field.description.as_deref().unwrap_or_default();
    if is_ellipsis(text) || plain.starts_with("lorem ipsum") {
        return Some("which is filler");
    }
    if FILLER.contains(&plain)
        && !has_word(description, text)
        && !author.iter().any(|words| has_word(words, text))
    {
        return Some("which is filler");
    }
    if is_to_come(plain) {
        return Some("which only says what should stand there");
    }
    if plain == spaced(name) || plain == name.to_lowercase() {
        return Some("which is the field's own name");
    }
    let echoed = description.trim().to_lowercase();
    let echoes = echoed.contains(' ') && plain == echoed.trim_end_matches(['.', '!', ':']);
    echoes.then_some("which is the field's own description")
}

fn is_ellipsis(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| matches!(c, '.' | '…' | '_' | '-' | ' ')) && text != "-"
}

/// `<your answer>`, `[insert text]`, `{{value}}`: brackets around words that stand for something to come.
fn is_to_come(text: &str) -> bool {
    let inner = ['<', '[', '{']
        .into_iter()
        .zip(['>', ']', '}'])
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let Some(inner) = inner else { return false };
    let inner = inner.trim_matches(['<', '>', '[', ']', '{', '}', ' ']);
    let words = || inner.split([' ', '_', '-']);
    words().all(|word| word.chars().all(char::is_alphanumeric)) && words().any(|word| TO_COME.contains(&word))
}

fn spaced(name: &str) -> String {
    name.replace(['_', '-'], " ").to_lowercase()
}

/// Whether a text has the word, written the same way.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let stands_alone = |at: usize| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    };
    !word.is_empty() && text.match_indices(word).any(|(at, _)| stands_alone(at))
}

/// The same text in every field, where there are several.
fn all_equal(schema: &OutputSchema, answer: &Map<String, Value>) -> Option<String> {
    let free = schema.fields.iter().filter(|(_, field)| is_free(field));
    let texts: Vec<&str> = free.filter_map(|(name, _)| answer.get(name)?.as_str()).collect();
    let first = texts.first()?.trim();
    let is_same = texts.len() >= MANY && texts.iter().all(|text| text.trim() == first);
    let is_plain = first.is_empty() || COMMON.contains(&first.to_lowercase().as_str());
    (is_same && !is_plain).then(|| format!("all {} text fields are {first:?}", texts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(fields: Value, answer: Value) -> Option<String> {
        let schema: OutputSchema = serde_json::from_value(fields).unwrap();
        find(&schema, answer.as_object().unwrap(), &["Is it TODO or DONE? Say a string."])
    }

    fn one(text: &str) -> Option<String> {
        let field = json!({"type": "string", "description": "The city's name."});
        of(json!({"capital_city": field}), json!({"capital_city": text}))
    }

    #[test]
    fn filler_is_found_and_named() {
        for text in [
            "String",
            "N/A",
            "tbd.",
            "...",
            "…",
            "---",
            "<your answer>",
            "[insert text here]",
            "{{value}}",
            "<city_name_here>",
            "example",
            "Lorem ipsum dolor sit amet",
            "capital_city",
            "Capital City",
            "The city's name",
            "the city's name.",
        ] {
            assert!(one(text).is_some(), "{text}");
        }
        assert_eq!(one("N/A").unwrap(), "field `capital_city` is \"N/A\", which is filler");
    }

    #[test]
    fn what_may_be_meant_is_left_alone() {
        for text in [
            "none",
            "unknown",
            "ok",
            "Paris",
            "-",
            "TODO",
            "string",
            "No example was given",
            "<b>bold</b>",
            "[1]",
            "[link]",
            "{\"a\": 1}",
            "a string theory",
            "see the text",
            "",
            "3.5",
            "<html>",
        ] {
            assert_eq!(one(text), None, "{text}");
        }
    }

    #[test]
    fn chosen_optional_and_patterned_texts_are_left_alone() {
        for rule in [
            json!({"type": "string", "enum": ["N/A", "x"]}),
            json!({"type": "string", "pattern": "N/A|x"}),
            json!({"type": "string", "nullable": true}),
        ] {
            assert_eq!(of(json!({"f": rule}), json!({"f": "N/A"})), None);
        }
    }

    #[test]
    fn nested_texts_are_looked_at() {
        let rows = json!({"rows": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}});
        let found = of(rows, json!({"rows": [{"name": "Ann"}, {"name": "..."}]})).unwrap();
        assert!(found.contains("`rows[1].name`"), "{found}");
    }

    #[test]
    fn the_same_everywhere_is_suspicious_unless_it_is_common() {
        let text = json!({"type": "string"});
        let fields = json!({"a": text, "b": text, "c": text});
        let all = |word: &str| of(fields.clone(), json!({"a": word, "b": word, "c": word}));
        assert!(all("The quick answer").unwrap().contains("all 3 text fields"));
        assert_eq!(all("none"), None);
        assert_eq!(of(json!({"a": text, "b": text}), json!({"a": "same words", "b": "same words"})), None);
    }
}
