//! Puts the events of Anthropic's stream together.
//!
//! An answer counts once `message_stop` has come, or at least the reason why it stops.

use crate::fault::Fault;
use crate::parts::Parts;
use crate::trouble::Trouble;
use crate::wire::{Gather, Step};
use convoke_agent::{Finish, Reply, Request};
use convoke_model::{JsonText, Usage};
use serde::Deserialize;
use serde_json::Value;

/// What has come of an answer.
#[derive(Default)]
pub struct Gathering {
    parts: Parts,
    finish: Option<Finish>,
    tokens: Tokens,
    /// Blocks of thinking, as they go back.
    thoughts: Vec<(u64, Value)>,
}

impl Gather for Gathering {
    fn take(&mut self, data: &str) -> Result<Step, Trouble> {
        let event: Event =
            serde_json::from_str(data).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        match event.kind.as_str() {
            "error" => return Err(Trouble::Fault(Fault::in_stream(&event.error.unwrap_or_default()))),
            "message_start" => self.begin(event.message.unwrap_or_default()),
            "content_block_start" => {
                return Ok(self.open(event.index, event.content_block.unwrap_or_default()));
            }
            "content_block_delta" => {
                return Ok(self.apply_delta(event.index, event.delta.unwrap_or_default()));
            }
            "message_delta" => self.end(event.delta.unwrap_or_default(), event.usage),
            "message_stop" => return Ok(Step::Done),
            // The service may add events; `ping` is one.
            _ => {}
        }
        Ok(Step::Quiet)
    }

    fn whole(&mut self, text: &str) -> Result<(), Trouble> {
        let mut message: Message =
            serde_json::from_str(text).map_err(|error| Trouble::Unreadable(error.to_string()))?;
        let (blocks, reason) = (std::mem::take(&mut message.content), message.stop_reason.take());
        self.begin(message);
        for (index, block) in blocks.into_iter().enumerate() {
            self.open(index as u64, block);
        }
        self.finish = Some(reason.as_deref().map_or(Finish::Stop, finish_of));
        Ok(())
    }

    fn len(&self) -> usize {
        self.parts.len()
    }

    fn reply(mut self, request: &Request<'_>) -> Result<Reply, Trouble> {
        let Some(finish) = self.finish else {
            return Err(Trouble::Cut("it ended without a reason".into()));
        };
        self.parts.usage = self.tokens.usage();
        let thoughts: Vec<Value> = self.thoughts.into_iter().map(|(_, block)| block).collect();
        self.parts.thoughts = (!thoughts.is_empty()).then(|| JsonText::of(&thoughts));
        Ok(self.parts.reply(request, finish))
    }
}

impl Gathering {
    fn begin(&mut self, message: Message) {
        self.parts.model = message.model;
        self.tokens.update(message.usage);
    }

    fn open(&mut self, index: u64, block: Value) -> Step {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str) {
            Some("text") => self.add_text(text("text")),
            Some("tool_use") => {
                let call = self.parts.call(index, &text("id"));
                call.name = text("name");
                // In a stream the input begins as an empty object, and its text follows.
                let input =
                    block.get("input").filter(|input| input.as_object().is_some_and(|it| !it.is_empty()));
                call.arguments = input.map(Value::to_string).unwrap_or_default();
                Step::Quiet
            }
            Some("thinking" | "redacted_thinking") => {
                self.thoughts.push((index, block));
                Step::Quiet
            }
            _ => Step::Quiet,
        }
    }

    fn apply_delta(&mut self, index: u64, delta: Delta) -> Step {
        match delta.kind.as_str() {
            "text_delta" => self.add_text(delta.text),
            "input_json_delta" => {
                self.parts.call(index, "").arguments.push_str(&delta.partial_json);
                Step::Arguments(delta.partial_json)
            }
            "thinking_delta" => self.add_thought(index, "thinking", &delta.thinking),
            "signature_delta" => self.add_thought(index, "signature", &delta.signature),
            _ => Step::Quiet,
        }
    }

    fn add_text(&mut self, text: String) -> Step {
        self.parts.text.push_str(&text);
        Step::Text(text)
    }

    fn add_thought(&mut self, index: u64, key: &str, piece: &str) -> Step {
        if let Some((_, block)) = self.thoughts.iter_mut().find(|(at, _)| *at == index) {
            match block.get_mut(key) {
                Some(Value::String(so_far)) => so_far.push_str(piece),
                _ => block[key] = Value::from(piece),
            }
        }
        Step::Quiet
    }

    fn end(&mut self, delta: Delta, usage: Option<Tokens>) {
        if let Some(reason) = delta.stop_reason {
            self.finish = Some(finish_of(&reason));
        }
        self.tokens.update(usage);
    }
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::Refusal,
        _ => Finish::Stop,
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    index: u64,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    content_block: Option<Value>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Message {
    #[serde(default)]
    model: String,
    #[serde(default)]
    content: Vec<Value>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Delta {
    #[serde(rename = "type")]
    kind: String,
    text: String,
    partial_json: String,
    thinking: String,
    signature: String,
    stop_reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Tokens {
    /// Later numbers are sums over the whole answer, and a number that is left out has not changed.
    fn update(&mut self, later: Option<Tokens>) {
        let Some(later) = later else { return };
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = later.cache_read_input_tokens.or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens =
            later.cache_creation_input_tokens.or(self.cache_creation_input_tokens);
    }

    /// The service counts cached tokens apart; here they are part of the tokens sent.
    fn usage(&self) -> Option<Usage> {
        let (fresh, output) = (self.input_tokens.unwrap_or(0), self.output_tokens.unwrap_or(0));
        let read = self.cache_read_input_tokens.unwrap_or(0);
        let written = self.cache_creation_input_tokens.unwrap_or(0);
        let input_tokens = fresh + read + written;
        (input_tokens + output > 0).then(|| Usage {
            calls: 1,
            input_tokens,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: written,
            ..Usage::default()
        })
    }
}
