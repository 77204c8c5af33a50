//! What a command has printed so far, and the reply or the fault that it makes.
//!
//! The answer is what the command says is its answer, or else its last message, or else, where no line is JSON, all that
//! it printed. Only what it states in fields decides what kind of failure there was, never its words.

use super::shapes::{ALL, Sign};
use crate::fault::Fault;
use crate::phases::Stopwatch;
use convoke_agent::{Finish, Reply, Report, Request, Sink, tokens_in};
use convoke_model::excerpt::{clipped, tokens};
use convoke_model::{Class, Usage};
use serde_json::Value;
use std::collections::HashMap;

/// Words of a command are cut here.
const MOST_WORDS: usize = 600;

/// What has been heard.
#[derive(Default)]
pub struct Heard {
    begun: bool,
    /// Whether one of the known commands prints; then the general rule no longer holds.
    is_known: bool,
    message: String,
    /// The message is put together from pieces that go on coming.
    in_pieces: bool,
    answer: Option<String>,
    plain: String,
    is_json: bool,
    /// Tools at work, by their ids: since when, and their names.
    tools: HashMap<String, (Stopwatch, String)>,
    usage: Option<Usage>,
    model: String,
    warned: Option<Value>,
    failed: Option<Value>,
}

/// What went wrong.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What kind of failure.
    pub class: Class,
    /// The finer word.
    pub reason: String,
    /// What the command says about it.
    pub message: String,
    /// When to come back, if that is said.
    pub retry_after_ms: Option<u64>,
}

impl Heard {
    /// Whether anything was printed.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether it is in the middle of a message.
    pub fn is_speaking(&self) -> bool {
        self.in_pieces
    }

    /// Takes a line, and passes on what is worth showing.
    pub fn take(&mut self, line: String, sink: &dyn Sink) {
        self.begun = true;
        match serde_json::from_str::<Value>(&line) {
            Ok(object @ Value::Object(_)) => {
                self.is_json = true;
                self.signs(&object, sink);
            }
            _ => {
                self.plain.push_str(&line);
                self.plain.push('\n');
            }
        }
    }

    /// Takes the end: an object may have been printed over several lines.
    pub fn finish(&mut self) {
        if !self.is_json
            && let Ok(object @ Value::Object(_)) = serde_json::from_str::<Value>(&self.plain)
        {
            self.is_json = true;
            self.signs(&object, &convoke_agent::Silent);
        }
    }

    fn signs(&mut self, line: &Value, sink: &dyn Sink) {
        let read = ALL.iter().find_map(|shape| Some((shape, (shape.read)(line)?)));
        let Some((shape, signs)) = read else { return };
        if self.is_known && shape.is_general {
            return;
        }
        self.is_known |= !shape.is_general;
        for sign in signs {
            self.sign(sign, sink);
        }
    }

    fn sign(&mut self, sign: Sign, sink: &dyn Sink) {
        match sign {
            Sign::Piece(piece) => self.piece(&piece, sink),
            Sign::Message(message) => self.message(message, sink),
            Sign::Answer(answer) => self.answer = Some(answer),
            Sign::ToolStarted { id, name } => self.tool_started(id, name, sink),
            Sign::ToolEnded { id, name, failed } => self.tool_ended(&id, name, failed, sink),
            Sign::Used(usage) => *self.usage.get_or_insert_default() += usage,
            Sign::UsedInAll(usage) => self.usage = Some(usage),
            Sign::Model(model) => self.model = model,
            Sign::Warned(about) => self.warned = Some(about),
            Sign::Failed(about) => self.failed = Some(about),
        }
    }

    fn piece(&mut self, piece: &str, sink: &dyn Sink) {
        if !std::mem::replace(&mut self.in_pieces, true) {
            self.message.clear();
        }
        self.message.push_str(piece);
        show(piece, sink);
    }

    fn message(&mut self, message: String, sink: &dyn Sink) {
        // What came in pieces has been shown already.
        if !std::mem::replace(&mut self.in_pieces, false) {
            show(&message, sink);
        }
        if !message.trim().is_empty() {
            self.message = message;
        }
    }

    fn tool_started(&mut self, id: String, name: String, sink: &dyn Sink) {
        self.in_pieces = false;
        sink.report(Report::ToolStarted { tool: name.clone() });
        self.tools.insert(id, (Stopwatch::start(), name));
    }

    fn tool_ended(&mut self, id: &str, name: String, failed: bool, sink: &dyn Sink) {
        self.in_pieces = false;
        let (ms, announced) =
            self.tools.remove(id).map_or((0, String::new()), |(watch, name)| (watch.ms(), name));
        let said = [name, announced].into_iter().find(|name| !name.is_empty());
        let tool = said.unwrap_or_else(|| "tool".to_owned());
        sink.report(Report::ToolCalled { tool, ms, failed });
    }

    /// What went wrong, if anything did.
    pub fn fault(&self, ended_well: bool) -> Option<Wrong> {
        match (&self.failed, ended_well) {
            (Some(about), _) => Some(wrong(about)),
            (None, true) => None,
            (None, false) => Some(self.warned.as_ref().map_or_else(unsaid, wrong)),
        }
    }

    /// The reply.
    pub fn reply(self, request: &Request<'_>) -> Reply {
        let said = if self.is_json { self.message } else { self.plain.trim().to_owned() };
        let text = self.answer.unwrap_or(said);
        // A model that says nothing of tokens is told of as one that used none.
        let usage = match self.usage.filter(|usage| usage.input_tokens + usage.output_tokens > 0) {
            Some(usage) => Usage { calls: 1, ..usage },
            None => Usage {
                calls: 1,
                input_tokens: tokens_in(request.messages),
                output_tokens: tokens(&text),
                estimated: true,
                ..Usage::default()
            },
        };
        let model = if self.model.is_empty() { request.model.to_owned() } else { self.model };
        Reply::said(text, Finish::Stop, usage, model)
    }
}

fn unsaid() -> Wrong {
    Wrong {
        class: Class::Transient,
        reason: "agent_failed".into(),
        message: String::new(),
        retry_after_ms: None,
    }
}

/// A fault with its machine-readable code; without one, something that may pass.
fn wrong(about: &Value) -> Wrong {
    let words = ["message", "result"].iter().find_map(|key| about.get(key)?.as_str()).unwrap_or_default();
    let message = clipped(words, MOST_WORDS);
    let failure = Fault::stated(about).unwrap_or_else(|| Fault::in_stream(about)).failure("");
    let reason = match failure.reason {
        Some(reason) if reason != "server_error" => reason,
        _ => "agent_failed".into(),
    };
    Wrong { class: failure.class, reason, message, retry_after_ms: failure.retry_after_ms }
}

fn show(text: &str, sink: &dyn Sink) {
    if !text.is_empty() {
        sink.report(Report::Progress { text: text.to_owned() });
    }
}

#[cfg(test)]
mod tests;
