//! Puts the pieces of an answer together.
//!
//! Knows nothing of the network. An answer counts only once the service has said why it stopped: text that just ends
//! is cut off. Arguments of a function call are a structured answer as well; they win over text beside them.

use super::Trouble;
use super::fault::Fault;
use convoke_agent::{Finish, Reply, Request, tokens_in, tokens_of};
use convoke_model::Usage;
use serde::Deserialize;
use serde_json::Value;

/// What has come of an answer.
#[derive(Default)]
pub struct Gathering {
    text: String,
    arguments: String,
    refusal: String,
    finish: Option<Finish>,
    complete: bool,
    usage: Option<Tokens>,
    model: String,
}

impl Gathering {
    /// Takes the next piece; gives the text in it, if any.
    pub fn take(&mut self, data: &str) -> Result<Option<String>, Trouble> {
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(Trouble::Fault(Fault::in_stream(&error)));
        }
        if let Some(model) = chunk.model {
            self.model = model;
        }
        if chunk.usage.is_some() {
            self.usage = chunk.usage;
        }
        let first = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index == 0);
        Ok(first.and_then(|choice| self.take_choice(choice)))
    }

    /// Notes that the service has said all.
    pub fn complete(&mut self) {
        self.complete = true;
    }

    /// How much has come, in bytes.
    pub fn len(&self) -> usize {
        self.text.len() + self.arguments.len()
    }

    fn take_choice(&mut self, choice: Choice) -> Option<String> {
        if let Some(reason) = choice.finish_reason {
            self.finish = Some(finish_of(&reason));
        }
        let message = choice.delta.or(choice.message)?;
        if let Some(refusal) = message.refusal {
            self.refusal.push_str(&refusal);
        }
        let text = message.content.map(words).unwrap_or_default();
        self.text.push_str(&text);
        let arguments = message.tool_calls.and_then(first_arguments).unwrap_or_default();
        self.arguments.push_str(&arguments);
        let piece = if text.is_empty() { arguments } else { text };
        (!piece.is_empty()).then_some(piece)
    }

    /// The whole answer.
    pub fn reply(self, request: &Request<'_>) -> Result<Reply, Trouble> {
        let finish = match (self.finish, self.complete) {
            _ if !self.refusal.is_empty() => Finish::Refusal,
            (Some(finish), _) => finish,
            (None, true) => Finish::Stop,
            (None, false) => return Err(Trouble::Cut("it ended without a reason".into())),
        };
        let text = [self.arguments, self.text, self.refusal].into_iter().find(|text| !text.is_empty());
        let text = text.unwrap_or_default();
        let usage = self.usage.and_then(Tokens::usage).unwrap_or_else(|| estimate(request, &text));
        Ok(Reply { text, finish, usage, model: self.model })
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "length" | "max_tokens" => Finish::Length,
        "content_filter" | "refusal" => Finish::Refusal,
        _ => Finish::Stop,
    }
}

fn estimate(request: &Request<'_>, text: &str) -> Usage {
    Usage {
        calls: 1,
        input_tokens: tokens_in(request.messages),
        output_tokens: tokens_of(text),
        estimated: true,
        ..Usage::default()
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

fn first_arguments(calls: Vec<ToolCall>) -> Option<String> {
    calls.into_iter().find(|call| call.index == 0)?.function?.arguments
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
    index: u32,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    arguments: Option<String>,
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
