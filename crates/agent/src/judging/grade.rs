//! A second model's verdict on an answer.
//!
//! Read in the same way for every purpose. What an unclear verdict means is decided elsewhere (`conversation::review`):
//! a validator's lets the answer pass with a note, one about success criteria does not.

use crate::{answer, judge};
use convoke_model::{FieldType, OutputField, OutputSchema};
use serde_json::Value;
use std::sync::LazyLock;

/// The shape that a grader is asked for.
pub static SCHEMA: LazyLock<OutputSchema> = LazyLock::new(|| {
    let mut issues = OutputField::of(FieldType::Array);
    issues.items = Some(Box::new(OutputField::of(FieldType::String)));
    let passed = OutputField::of(FieldType::Boolean);
    OutputSchema { fields: [("passed".to_owned(), passed), ("issues".to_owned(), issues)].into() }
});

/// What a grader found.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer meets the criteria.
    Passed,
    /// It does not; this must change.
    Rejected(Vec<String>),
    /// There is no clear verdict; the reason.
    Unclear(String),
}

/// Reads a verdict leniently: `"false"` is false, one issue may stand alone. What a grader thinks aloud is no verdict.
pub fn read(text: &str) -> Verdict {
    let text = judge::without_thoughts(text);
    let value = match answer::find(text) {
        Ok(found) => found.value,
        Err(error) => return Verdict::Unclear(error),
    };
    match value.get("passed").and_then(truth) {
        None => Verdict::Unclear("it has no `passed` that is true or false".into()),
        Some(true) => Verdict::Passed,
        Some(false) => Verdict::Rejected(issues(value.get("issues"))),
    }
}

fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn issues(value: Option<&Value>) -> Vec<String> {
    let found: Vec<String> = match value {
        Some(Value::Array(items)) => items.iter().map(words).collect(),
        None | Some(Value::Null) => Vec::new(),
        Some(one) => vec![words(one)],
    };
    if found.is_empty() { vec!["the criteria are not met".into()] } else { found }
}

fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_leniently() {
        let rejected = |issues: &[&str]| Verdict::Rejected(issues.iter().map(|s| s.to_string()).collect());
        assert_eq!(read("{\"passed\": true, \"issues\": []}"), Verdict::Passed);
        assert_eq!(read("```json\n{\"passed\": \"False\", \"issues\": \"dull\"}\n```"), rejected(&["dull"]));
        assert_eq!(read("{\"passed\": false, \"issues\": [\"a\", 2]}"), rejected(&["a", "2"]));
        assert_eq!(read("{\"passed\": false}"), rejected(&["the criteria are not met"]));
    }

    #[test]
    fn thoughts_are_no_verdict() {
        let aloud = "<think>so {\"passed\": true}? no</think>{\"passed\": false, \"issues\": [\"dull\"]}";
        assert_eq!(read(aloud), Verdict::Rejected(vec!["dull".into()]));
    }

    #[test]
    fn what_is_unclear_is_no_rejection() {
        for text in ["{\"passed\": \"yes\"}", "looks good", "{\"issues\": [\"x\"]}", "{\"passed\": 0}", "[]"]
        {
            assert!(matches!(read(text), Verdict::Unclear(_)), "{text}");
        }
    }
}
