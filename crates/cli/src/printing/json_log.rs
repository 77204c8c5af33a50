//! Standard error for programs (`--log-format json`): one JSON object a line, for each event and for each thing that is said.
//!
//! A record of an event has its name, task and attempt as fields, and the words that people would read. What was said (prompts,
//! answers, outputs) is not in it: `convoke events --format json` prints whole events.

use crate::{clock, diagnostics};
use convoke_model::{RunId, Stamped};
use convoke_plan::diagnostic::{Diagnostic, Severity};
use convoke_telemetry::records::fields;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);

/// From here on standard error is for programs.
pub fn switch_on() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether it is.
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// What is said, as a record; what is one already stays as it is.
pub fn record(text: &str) -> String {
    if text.starts_with(BEGINNING) {
        return text.to_owned();
    }
    let (level, message) = match text.split_once(": ") {
        Some(("warning" | "note", rest)) => ("warn", rest),
        Some(("error", rest)) => ("error", rest),
        Some(("hint", rest)) => ("hint", rest),
        _ => ("info", text),
    };
    json!({"time": clock::now().rfc3339(), "level": level, "message": message}).to_string()
}

/// A finding of a file, with its place.
pub fn finding(found: &Diagnostic) -> String {
    let level = if found.severity == Severity::Error { "error" } else { "warn" };
    let mut record = json!({"time": clock::now().rfc3339(), "level": level});
    let told = serde_json::to_value(diagnostics::Record::of(found)).expect("our types are JSON");
    let said = told
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| *name != "severity" && !value.is_null());
    let record_fields = record.as_object_mut().expect("just made");
    said.for_each(|(name, value)| drop(record_fields.insert(name.clone(), value.clone())));
    record.to_string()
}

/// How every record begins.
const BEGINNING: &str = "{\"time\":";

/// An event as a record, with the words for people where it has some.
pub fn event(run: &RunId, stamped: &Stamped, words: Option<String>) -> String {
    let of = fields(&stamped.event);
    let level = if of.name.ends_with("failed") { "warn" } else { "info" };
    let mut record = Map::new();
    record.insert("time".to_owned(), stamped.at.rfc3339().into());
    record.insert("level".to_owned(), level.into());
    record.insert("run".to_owned(), (*run.0).into());
    record.insert("seq".to_owned(), stamped.seq.into());
    record.insert("event".to_owned(), of.name.into());
    record.extend(of.values.into_iter().map(|(field, value)| (field.to_owned(), value)));
    record.extend(words.map(|words| ("message".to_owned(), words.into())));
    Value::Object(record).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::{Class, Event, Failure, TaskId, Timestamp};

    #[test]
    fn events_and_words_are_records_of_one_shape() {
        let failure = Failure::new(Class::Timeout, "the text of a model");
        let stamped = Stamped {
            seq: 7,
            at: Timestamp(0),
            event: Event::TaskFailed { task: TaskId("a".into()), failure },
        };
        let line = event(&RunId("r".into()), &stamped, None);
        let wanted = r#"{"time":"1970-01-01T00:00:00.000Z","level":"warn","run":"r","seq":7,"event":"task_failed","task":"a","class":"timeout"}"#;
        assert_eq!(line, wanted);
        assert_eq!(record(&line), line);
        let said: Value = serde_json::from_str(&record("warning: two\nlines")).unwrap();
        assert_eq!((said["level"].as_str(), said["message"].as_str()), (Some("warn"), Some("two\nlines")));
    }
}
