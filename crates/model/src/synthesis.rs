//! One answer of many: how outputs are marked, how they read, what a merge comes to.
//!
//! The n-th source of a merge has the mark `Sn`. Prompts show it before each output, models put it behind what they
//! took from there, and the result lists which sources its text names. Every merge, by questions or by programs,
//! uses the same words.

use crate::Usage;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The mark of a source, counted from 0.
pub fn mark(index: usize) -> String {
    format!("S{}", index + 1)
}

/// The sources, counted from 0, that a text names in square brackets: `[S3]`, `[S3, S7]`.
pub fn cited(text: &str, sources: usize) -> BTreeSet<usize> {
    marks_in(text).filter_map(|word| index_of(word, sources)).collect()
}

/// Marks in a text that no source has, in the order of the text, each once.
pub fn astray(text: &str, sources: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in marks_in(text).filter(|word| index_of(word, sources).is_none()) {
        let mark = format!("[{word}]");
        if !found.contains(&mark) && found.len() < MOST_ASTRAY {
            found.push(mark);
        }
    }
    found
}

/// A note about such marks.
pub fn lead_nowhere(marks: &[String]) -> Option<String> {
    let what = if marks.len() == 1 { "is no source" } else { "are no sources" };
    (!marks.is_empty()).then(|| format!("the answer cites {}, which {what}", marks.join(", ")))
}

/// Marks that lead nowhere and are worth telling.
const MOST_ASTRAY: usize = 10;

/// Words in square brackets that look like marks.
fn marks_in(text: &str) -> impl Iterator<Item = &str> {
    let insides = text.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    insides.flat_map(|inside| inside.split([',', ' ', ';'])).filter(|word| {
        let number = word.strip_prefix(['S', 's']);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The source that a mark stands for, however a model spells it: `S3`, `[S3]`, `s3`, `3`.
pub fn index_of(spelt: &str, sources: usize) -> Option<usize> {
    let bare = spelt.trim().trim_matches(['[', ']']);
    let number = bare.strip_prefix(['S', 's']).unwrap_or(bare);
    let number: usize = number.parse().ok()?;
    (1..=sources).contains(&number).then(|| number - 1)
}

/// A single output as a result: the text of an answer without a declared shape, else the value.
pub fn bare(value: Value) -> Value {
    match value {
        Value::Object(mut fields)
            if fields.contains_key("result") && (fields.len() == 1 || is_report(&fields)) =>
        {
            fields.remove("result").unwrap_or_default()
        }
        value => value,
    }
}

/// A value as a text: what is a single text stands for itself.
pub fn readable(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => match fields.get("result") {
            // The answer of an agent without a declared shape, or of another merge.
            Some(Value::String(text)) if fields.len() == 1 => text.clone(),
            Some(result) if is_report(fields) => readable(result),
            _ => pretty(value),
        },
        Value::Null => String::new(),
        other => pretty(other),
    }
}

fn pretty(value: &Value) -> String {
    // Small values are laid out, large ones are as short as their size says.
    let short = value.to_string();
    match short.len() {
        0..=2000 => serde_json::to_string_pretty(value).unwrap_or(short),
        _ => short,
    }
}

/// Whether this is what a reduce or verify step gives.
pub fn is_report(fields: &Map<String, Value>) -> bool {
    fields.contains_key("calls") && (fields.contains_key("strategy") || fields.contains_key("verdict"))
}

/// What was used, as reports say it.
pub fn usage_value(usage: &Usage) -> Value {
    let mut fields = Map::new();
    fields.insert("calls".into(), json!(usage.calls));
    fields.insert("input_tokens".into(), json!(usage.input_tokens));
    fields.insert("output_tokens".into(), json!(usage.output_tokens));
    fields.insert("cost_usd".into(), json!(usage.cost_usd()));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_where_they_stand_in_brackets() {
        let text = "One [S1]. Two [S2, S10] and [s3]. Not [S99], not S4, not [see 5 notes]… [S2]";
        let found: Vec<_> = cited(text, 10).into_iter().collect();
        assert_eq!(found, [0, 1, 2, 9]);
        assert_eq!(astray(&format!("{text} [S99; S0]"), 10), ["[S99]", "[S0]"]);
        assert_eq!(index_of("[S3]", 3), Some(2));
        assert_eq!(index_of("S4", 3), None);
    }

    #[test]
    fn an_answer_reads_as_its_text_and_a_record_as_json() {
        assert_eq!(readable(&json!({ "result": "words" })), "words");
        assert_eq!(readable(&json!("words")), "words");
        assert_eq!(readable(&json!({ "result": "words", "strategy": "flat", "calls": 0 })), "words");
        assert_eq!(readable(&json!({ "a": 1 })), "{\n  \"a\": 1\n}");
    }

    #[test]
    fn a_result_is_taken_out_of_an_answer_and_a_report_and_nothing_else() {
        assert_eq!(bare(json!({ "result": { "a": 1 } })), json!({ "a": 1 }));
        assert_eq!(bare(json!({ "result": 1, "strategy": "flat", "calls": 0 })), json!(1));
        let record = json!({ "result": 1, "unit": "m" });
        assert_eq!(bare(record.clone()), record);
    }
}
