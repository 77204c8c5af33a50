//! Puts the pieces of an answer together.
//!
//! An answer counts only once the service has said why it stopped: text that just ends is cut off.

use crate::fault::Fault;
use crate::parts::Parts;
use crate::trouble::Trouble;
use crate::wire::{Gather, Step};
use convoke_agent::{Finish, Reply, Request};
use convoke_model::Usage;
use serde::Deserialize;
use serde_json::Value;

/// What has come of an answer.
#[derive(Default)]
pub struct Gathering {
    parts: Parts,
    finish: Option<Finish>,
}

impl Gather for Gathering {
    fn take(&mut self, data: &str) -> Result<Step, Trouble> {
        if data.trim() == "[DONE]" {
            self.finish.get_or_insert(Finish::Stop);
            return Ok(Step::Done);
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Trouble::Fault(Fault::in_stream(&error)));
        }
        if let Some(model) = chunk.model {
            self.parts.model = model;
        }
        if let Some(tokens) = chunk.usage {
            self.parts.usage = tokens.usage();
        }
        let first = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index == 0);
        Ok(first.map_or(Step::Quiet, |choice| self.take_choice(choice)))
    }

    fn whole(&mut self, text: &str) -> Result<(), Trouble> {
        self.take(text)?;
        self.finish.get_or_insert(Finish::Stop);
        Ok(())
    }

    fn len(&self) -> usize {
        self.parts.len()
    }

    fn reply(self, request: &Request<'_>) -> Result<Reply, Trouble> {
        match self.finish {
            Some(finish) => Ok(self.parts.reply(request, finish)),
            None => Err(Trouble::Cut("it ended without a reason".into())),
        }
    }
}

impl Gathering {
    /// Takes a piece; gives what of it can be shown.
    fn take_choice(&mut self, choice: Choice) -> Step {
        if let Some(reason) = choice.finish_reason {
            self.finish = Some(finish_of(&reason));
        }
        let Some(message) = choice.delta.or(choice.message) else { return Step::Quiet };
        self.parts.refusal.push_str(&message.refusal.unwrap_or_default());
        let text = message.content.map(words).unwrap_or_default();
        self.parts.text.push_str(&text);
        let calls = message.tool_calls.unwrap_or_default();
        let arguments: String = calls.into_iter().map(|call| self.take_call(call)).collect();
        if text.is_empty() { Step::Arguments(arguments) } else { Step::Text(text) }
    }

    fn take_call(&mut self, piece: ToolCall) -> String {
        let call = self.parts.call(piece.index, &piece.id.unwrap_or_default());
        let Some(function) = piece.function else { return String::new() };
        if let Some(name) = function.name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        let arguments = function.arguments.map(written).unwrap_or_default();
        call.arguments.push_str(&arguments);
        arguments
    }
}

/// Arguments are text that holds JSON; some imitations send the JSON itself.
fn written(arguments: Value) -> String {
    match arguments {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "length" | "max_tokens" => Finish::Length,
        "content_filter" | "refusal" => Finish::Refusal,
        _ => Finish::Stop,
    }
}

/// Text, or a list of parts of which some are text.
fn words(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    #[serde(default)]
    delta: Option<Words>,
    #[serde(default)]
    message: Option<Words>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Words {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl Tokens {
    /// Nothing, if the service only fills the field in.
    fn usage(self) -> Option<Usage> {
        if self.prompt_tokens == 0 && self.completion_tokens == 0 {
            return None;
        }
        let cached = self.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        Some(Usage {
            calls: 1,
            input_tokens: self.prompt_tokens,
            output_tokens: self.completion_tokens,
            cache_read_tokens: cached.min(self.prompt_tokens),
            ..Usage::default()
        })
    }
}
