//! Puts the events of OpenAI's responses together.
//!
//! The last event holds everything again; pieces only serve watchers, and services whose last event is bare.

use crate::fault::Fault;
use crate::parts::Parts;
use crate::trouble::Trouble;
use crate::wire::{Gather, Step};
use convoke_agent::{Finish, Reply, Request};
use convoke_model::{JsonText, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

/// What has come of an answer.
#[derive(Default)]
pub struct Gathering {
    /// Items that are complete.
    items: Vec<Value>,
    /// How much text has come in pieces.
    heard: usize,
    last: Option<Response>,
}

impl Gather for Gathering {
    fn take(&mut self, data: &str) -> Result<Step, Trouble> {
        if data.trim() == "[DONE]" {
            return Ok(Step::Done);
        }
        let event: Event =
            serde_json::from_str(data).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        match event.kind.as_str() {
            "error" => Err(Trouble::Fault(Fault::in_stream(&told(data, event.error)))),
            "response.output_text.delta" => Ok(Step::Text(self.hear(event.delta))),
            "response.function_call_arguments.delta" => Ok(Step::Arguments(self.hear(event.delta))),
            "response.output_item.done" => {
                self.items.extend(event.item);
                Ok(Step::Quiet)
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.finish(event.response.unwrap_or_default())?;
                Ok(Step::Done)
            }
            _ => Ok(Step::Quiet),
        }
    }

    fn whole(&mut self, text: &str) -> Result<(), Trouble> {
        let response = serde_json::from_str(text).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        self.finish(response)
    }

    fn len(&self) -> usize {
        self.heard
    }

    fn reply(self, request: &Request<'_>) -> Result<Reply, Trouble> {
        let Some(last) = self.last else { return Err(Trouble::Cut("it ended without a reason".into())) };
        let finish = last.finish();
        let items = if last.output.is_empty() { self.items } else { last.output };
        let mut parts =
            Parts { usage: last.usage.and_then(Tokens::usage), model: last.model, ..Parts::default() };
        let mut thoughts = Vec::new();
        for item in items {
            take_item(&mut parts, &mut thoughts, item);
        }
        parts.thoughts = (!thoughts.is_empty()).then(|| JsonText::of(&thoughts));
        Ok(parts.reply(request, finish))
    }
}

impl Gathering {
    fn hear(&mut self, piece: String) -> String {
        self.heard += piece.len();
        piece
    }

    fn finish(&mut self, response: Response) -> Result<(), Trouble> {
        match response.error.as_ref().filter(|error| !error.is_null()) {
            Some(error) => Err(Trouble::Fault(Fault::in_stream(error))),
            None if response.status == "failed" => Err(Trouble::Fault(Fault::in_stream(&json!({})))),
            None => {
                self.last = Some(response);
                Ok(())
            }
        }
    }
}

/// An error event carries its words itself, or below a key.
fn told(data: &str, error: Option<Value>) -> Value {
    let flat = || {
        let mut flat: Value = serde_json::from_str(data).unwrap_or_default();
        // Its type says that it is an error, and nothing of the kind.
        flat.as_object_mut().map(|flat| flat.remove("type"));
        flat
    };
    error.filter(|error| !error.is_null()).unwrap_or_else(flat)
}

fn take_item(parts: &mut Parts, thoughts: &mut Vec<Value>, item: Value) {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    match item.get("type").and_then(Value::as_str) {
        Some("message") => {
            let content =
                item.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            for part in content {
                parts.text.push_str(&text(part, "text"));
                parts.refusal.push_str(&text(part, "refusal"));
            }
        }
        Some("function_call") => {
            let call = parts.call(parts.calls.len() as u64, &text(&item, "call_id"));
            call.name = text(&item, "name");
            call.arguments = text(&item, "arguments");
        }
        // Only what is sealed can be understood again by a service that stores nothing.
        Some("reasoning") if item.get("encrypted_content").is_some_and(Value::is_string) => {
            thoughts.push(item)
        }
        _ => {}
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    delta: String,
    #[serde(default)]
    item: Option<Value>,
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Response {
    model: String,
    status: String,
    output: Vec<Value>,
    usage: Option<Tokens>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Incomplete {
    reason: String,
}

impl Response {
    fn finish(&self) -> Finish {
        let reason = self.incomplete_details.as_ref().map_or("", |details| &details.reason);
        match (reason, self.status.as_str()) {
            ("content_filter", _) => Finish::Refusal,
            ("max_output_tokens", _) | (_, "incomplete") => Finish::Length,
            _ => Finish::Stop,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Tokens {
    /// Nothing, if the service only fills the field in.
    fn usage(self) -> Option<Usage> {
        if self.input_tokens == 0 && self.output_tokens == 0 {
            return None;
        }
        let cached = self.input_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Some(Usage {
            calls: 1,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cache_read_tokens: cached.min(self.input_tokens),
            ..Usage::default()
        })
    }
}
