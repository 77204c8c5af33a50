//! What the work comes to: the result with its origin, in the form that every merge has.

use super::session::Session;
use convoke_model::citations::citations;
use convoke_model::synthesis::{astray, cited, lead_nowhere, readable, usage_value};
use convoke_model::{Digest, JsonText, OutputSchema, ProgramCall, Usage, fit};
use serde_json::{Map, Value, json};

/// The output of the attempt: a report, or for a program below another one its value alone.
pub(super) fn output(call: &ProgramCall, session: &Session, result: Value, usage: &Usage) -> JsonText {
    if call.depth > 0 {
        return JsonText::of(&json!({ "result": result }));
    }
    let text = readable(&result);
    let named = cited(&text, call.sources.len());
    let mut notes = notes(session);
    notes.extend(lead_nowhere(&astray(&text, call.sources.len())));
    let source = |(index, source): (usize, &convoke_model::ProgramSource)| {
        json!({
            "mark": source.mark, "task": source.task, "title": source.title,
            "digest": Digest::of(source.output.as_str().as_bytes()), "cited": named.contains(&index),
        })
    };
    let sources: Vec<Value> = call.sources.iter().enumerate().map(source).collect();
    let source_text = |at: usize| readable(&call.sources[at].output.value());
    let checked = citations(&text, call.sources.len(), &source_text);
    let mut report = json!({
        "result": result, "strategy": "rlm", "sources": sources, "missing": call.missing,
        "rounds": session.state.turns, "calls": usage.calls, "usage": usage_value(usage), "notes": notes,
    });
    if !checked.is_empty() {
        report["citations"] = json!(checked);
    }
    JsonText::of(&report)
}

fn notes(session: &Session) -> Vec<String> {
    let state = &session.state;
    let unanswered = (state.unanswered > 0).then(|| {
        format!("{} of {} questions of its programs were not answered", state.unanswered, state.asked)
    });
    let lost =
        (state.lost > 0).then(|| format!("{} of its programs were ended for what they used", state.lost));
    unanswered.into_iter().chain(lost).collect()
}

/// The value as a result, or why it is none.
pub(super) fn accepted(value: Value, schema: Option<&OutputSchema>) -> Result<Value, String> {
    let is_empty = match &value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    };
    match schema {
        _ if is_empty => Err("it is empty".to_owned()),
        None => Ok(value),
        Some(schema) => fitting(value, schema),
    }
}

fn fitting(value: Value, schema: &OutputSchema) -> Result<Value, String> {
    let object = match value {
        Value::Object(object) => object,
        other if schema.fields.contains_key("result") => Map::from_iter([("result".to_owned(), other)]),
        other => return Err(format!("expected a dict, got {}", fit::describe(&other))),
    };
    let violations = fit::violations(schema, &object);
    if violations.is_empty() { Ok(Value::Object(object)) } else { Err(violations.join("; ")) }
}
