//! What was said: prompts, answers, arguments and results of tools. Only where that was asked for, without known keys, and clipped.

use super::names;
use super::span::Span;
use convoke_agent::redaction::Scrubber;
use convoke_agent::{Account, Message, Role};
use convoke_model::excerpt::clipped;
use convoke_model::{JsonText, Payload, Stamped, TaskId};
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of one text that leave the machine.
const MOST: usize = 32_000;

/// What an attempt is asked, rendered again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The system prompt.
    pub system: Option<String>,
    /// The prompt.
    pub prompt: String,
}

/// Renders prompts again: they are on no record. Takes the events of one run, in order.
pub trait Prompts: Send {
    /// Takes the next event.
    fn take(&mut self, event: &Stamped);

    /// What a task is asked that starts an attempt with the next event.
    fn prompt(&mut self, task: &TaskId) -> Option<Prompt>;
}

/// Reads what an event only names.
pub type Texts = Box<dyn Fn(&Payload) -> Option<JsonText> + Send>;

/// Where contents of one run come from.
pub struct Contents {
    /// Reads what events only name.
    pub texts: Texts,
    /// Renders prompts.
    pub prompts: Box<dyn Prompts>,
    /// Takes keys out.
    pub scrubber: Arc<Scrubber>,
}

impl Contents {
    pub(super) fn clean(&self, text: &str) -> String {
        clipped(&self.scrubber.text(text), MOST)
    }

    /// The messages of a record of a conversation.
    pub(super) fn messages(&self, piece: &Payload) -> Vec<Message> {
        let text = (self.texts)(piece);
        let accounts = text.and_then(|text| Account::read(std::slice::from_ref(&text)));
        accounts.unwrap_or_default().into_iter().flat_map(|account| account.messages).collect()
    }

    /// Puts a prompt on a span.
    pub(super) fn ask(&self, span: &mut Span, prompt: &Prompt) {
        if let Some(system) = &prompt.system {
            span.set(names::SYSTEM, json!([part(&self.clean(system))]).to_string());
        }
        span.set(names::INPUT_MESSAGES, said(&[("user", self.clean(&prompt.prompt))]));
    }

    /// Puts an output on a span.
    pub(super) fn answer(&self, span: &mut Span, output: &Payload) {
        if let Some(text) = (self.texts)(output) {
            span.set(names::OUTPUT_MESSAGES, said(&[("assistant", self.clean(&in_words(&text)))]));
        }
    }

    /// Puts what was new in a turn on the span of its call.
    pub(super) fn turn(&self, span: &mut Span, messages: &[Message]) {
        let is_answer = |message: &&Message| message.role == Role::Assistant;
        let (answers, asked): (Vec<_>, Vec<_>) = messages.iter().partition(is_answer);
        for (name, messages) in [(names::INPUT_MESSAGES, asked), (names::OUTPUT_MESSAGES, answers)] {
            if !messages.is_empty() {
                let list: Vec<_> = messages.into_iter().map(|message| self.message(message)).collect();
                span.set(name, Value::from(list).to_string());
            }
        }
    }

    fn message(&self, message: &Message) -> Value {
        let text = (!message.text.is_empty()).then(|| match &message.result_of {
            Some(of) => {
                json!({"type": "tool_call_response", "id": of.id, "response": self.clean(&message.text)})
            }
            None => part(&self.clean(&message.text)),
        });
        let calls = message.tool_calls.iter().map(|call| {
            let arguments = self.clean(call.arguments.as_str());
            json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments})
        });
        json!({"role": message.role.word(), "parts": text.into_iter().chain(calls).collect::<Vec<_>>()})
    }

    /// Puts the arguments of a call on the span of its tool.
    pub(super) fn arguments(&self, span: &mut Span, arguments: &JsonText) {
        span.set(names::TOOL_ARGUMENTS, self.clean(arguments.as_str()));
    }

    /// Puts what a tool gave on its span.
    pub(super) fn result(&self, span: &mut Span, text: &str) {
        span.set(names::TOOL_RESULT, self.clean(text));
    }
}

fn part(text: &str) -> Value {
    json!({"type": "text", "content": text})
}

fn said(messages: &[(&str, String)]) -> String {
    let list = messages.iter().map(|(role, text)| json!({"role": role, "parts": [part(text)]}));
    Value::from(list.collect::<Vec<_>>()).to_string()
}

/// A text as it was said, without the quotes of JSON.
fn in_words(output: &JsonText) -> String {
    match output.value() {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
