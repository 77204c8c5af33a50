//! What an agent tells during one turn, put together.
//!
//! The answer is the last message: what an agent says before it uses a tool is talk on the way. It is known whether a
//! tool runs or a message is under way, because silence means something else each time.

use crate::phases::Stopwatch;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, SessionUpdate, ToolCall, ToolCallId, ToolCallStatus, ToolKind,
};
use convoke_agent::{Report, Sink};
use std::collections::HashMap;

/// What is known about the agent's tool calls.
#[derive(Default)]
pub struct Tools(HashMap<ToolCallId, (ToolCall, Stopwatch)>);

impl Tools {
    /// What has been told about a call that has not ended.
    pub fn get(&self, id: &ToolCallId) -> Option<&ToolCall> {
        self.0.get(id).map(|(call, _)| call)
    }
}

/// What has been told so far.
#[derive(Default)]
pub struct Telling {
    message: String,
    /// The message that pieces belong to; a tool call or a thought ends it.
    current: Option<Option<MessageId>>,
    /// Calls that have not ended.
    pub tools: Tools,
    /// Millionths of a US dollar that the agent says the session has cost.
    pub cost_micros: u64,
}

impl Telling {
    /// Takes an update, and passes on what is worth showing.
    pub fn take(&mut self, update: SessionUpdate, sink: &dyn Sink) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.say(chunk, sink),
            SessionUpdate::AgentThoughtChunk(chunk) => self.think(&chunk, sink),
            SessionUpdate::ToolCall(call) => self.call(call, sink),
            SessionUpdate::ToolCallUpdate(update) => {
                let id = update.tool_call_id.clone();
                let mut call = self.tools.get(&id).cloned().unwrap_or_else(|| ToolCall::new(id, ""));
                call.update(update.fields);
                self.call(call, sink);
            }
            SessionUpdate::UsageUpdate(usage) => {
                let dollars = usage.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd"));
                let micros = dollars.map(|cost| (cost.amount.max(0.0) * 1e6).round() as u64);
                self.cost_micros = micros.unwrap_or(self.cost_micros);
            }
            // Plans, modes and lists of commands are for editors.
            _ => {}
        }
    }

    /// Whether a tool runs.
    pub fn is_at_work(&self) -> bool {
        !self.tools.0.is_empty()
    }

    /// Whether it is in the middle of a message.
    pub fn is_speaking(&self) -> bool {
        self.current.is_some()
    }

    /// The answer.
    pub fn message(&self) -> &str {
        &self.message
    }

    fn say(&mut self, chunk: ContentChunk, sink: &dyn Sink) {
        let piece = text(&chunk.content);
        if piece.is_empty() {
            return;
        }
        if self.current.as_ref() != Some(&chunk.message_id) {
            self.current = Some(chunk.message_id);
            self.message.clear();
        }
        self.message.push_str(&piece);
        show(piece, sink);
    }

    fn think(&mut self, chunk: &ContentChunk, sink: &dyn Sink) {
        self.current = None;
        show(text(&chunk.content), sink);
    }

    fn call(&mut self, call: ToolCall, sink: &dyn Sink) {
        self.current = None;
        let id = call.tool_call_id.clone();
        let watch = self.tools.0.remove(&id).map(|(_, watch)| watch);
        if watch.is_none() && !call.title.is_empty() {
            show(format!("\n[{}]\n", call.title), sink);
        }
        let watch = watch.unwrap_or_else(Stopwatch::start);
        match call.status {
            ToolCallStatus::Completed | ToolCallStatus::Failed => {
                let failed = call.status == ToolCallStatus::Failed;
                sink.report(Report::ToolCalled { tool: name(&call), ms: watch.ms(), failed });
            }
            _ => {
                sink.report(Report::ToolStarted { tool: name(&call) });
                self.tools.0.insert(id, (call, watch));
            }
        }
    }
}

fn show(text: String, sink: &dyn Sink) {
    if !text.is_empty() {
        sink.report(Report::Progress { text });
    }
}

fn text(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        _ => String::new(),
    }
}

/// The tool's name, or else the kind of thing it does. The title is free text and may hold anything.
fn name(call: &ToolCall) -> String {
    call.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| kind(call.kind).to_owned())
}

/// The kind of thing that a tool does, as the protocol calls it.
pub fn kind(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        _ => "other",
    }
}
