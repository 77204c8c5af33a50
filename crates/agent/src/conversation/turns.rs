//! Turns with tools: what the model wants called, and what came of it.
//!
//! Words to the agent go into the last result: a message of its own between results and reply is something that not
//! every service takes.

use super::{Conversation, Premise, Stage};
use crate::capability::stuck::Verdict;
use crate::capability::{evict, limits, recall, stuck};
use crate::{Message, Reply, ToolCall, ToolResult};

impl Conversation {
    pub(super) fn wants_tools(&mut self, premise: &Premise<'_>, reply: &Reply) -> Stage {
        let most = premise.max_iterations();
        if !limits::may_call(self.state.memory.rounds, most) {
            return Stage::failed(limits::exceeded(premise.step, most));
        }
        self.transcript.push(Message::of_reply(reply));
        Stage::Calling
    }

    /// The calls whose results are missing.
    pub(super) fn open_calls(&self) -> &[ToolCall] {
        self.transcript.messages().last().map_or(&[], |message| &message.tool_calls)
    }

    /// Takes the results of the calls, in their order.
    pub fn feed_results(&mut self, premise: &Premise<'_>, results: Vec<ToolResult>) {
        if self.state.stage != Stage::Calling {
            return;
        }
        self.unwritten.moved = true;
        self.state.rulings.clear();
        self.begins_calls = false;
        let calls = self.open_calls().to_vec();
        self.note_called(premise, &calls, &results);
        let looked_back = self.look_back(premise, &calls, &results);
        let words = looked_back.as_deref().unwrap_or_default();
        let last = calls.len() - 1;
        for (at, (call, result)) in calls.iter().zip(results).enumerate() {
            let (failed, unknown) = (result.failed, result.unknown);
            let mut text = self.shown(premise, call, result.text);
            if at == last {
                words.iter().for_each(|word| text.push_str(&aside(word)));
            }
            self.transcript.push(Message::tool_result(call, text, failed).of_unknown_outcome(unknown));
        }
        if let Err(stage) = looked_back {
            self.state.stage = stage;
            return;
        }
        self.state.stage = Stage::ASKING;
        self.make_room(premise);
        self.warn(premise);
    }

    /// What the agent is told about its doings, or the end of it.
    fn look_back(
        &mut self,
        premise: &Premise<'_>,
        calls: &[ToolCall],
        results: &[ToolResult],
    ) -> Result<Vec<String>, Stage> {
        let capabilities = &premise.call.settings.capabilities;
        let memory = &mut self.state.memory;
        let mut words = Vec::new();
        memory.rounds += 1;
        if let Some(bounds) = capabilities.stuck_loop {
            match memory.stuck.observe(bounds, calls.iter().zip(results)) {
                Verdict::Fine => {}
                Verdict::Tell(word) => words.push(word),
                Verdict::Stuck(what) => return Err(Stage::failed(stuck::failure(premise.step, &what))),
            }
        }
        words.extend(limits::note(memory.rounds, premise.max_iterations()));
        Ok(words)
    }

    /// A result as the model sees it.
    fn shown(&mut self, premise: &Premise<'_>, call: &ToolCall, text: String) -> String {
        let most = premise.call.settings.capabilities.tool_output;
        match most.filter(|most| call.name != recall::NAME && evict::is_longer(&text, *most)) {
            Some(most) => self.evicted(text, most),
            None if text.trim().is_empty() => "(it gave no text)".into(),
            None => text,
        }
    }

    /// Keeps a text elsewhere and gives what is left of it here.
    pub(super) fn evicted(&mut self, text: String, most: u64) -> String {
        let shown = evict::shown(&text, most, &self.shelf.next_name());
        self.shelf.keep_text(text);
        shown
    }
}

/// Words of ours among those of a tool.
pub(super) fn aside(word: &str) -> String {
    format!("\n\n[Note from the system, not from the tool: {word}]")
}
