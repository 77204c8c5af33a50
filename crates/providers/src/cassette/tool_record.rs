//! Stands before real tools and writes down what they are asked and give.
//!
//! Changes nothing about a call. Every list is written down with the task that asked for it, but what is in it only
//! when that has changed, however many agents ask. A line that cannot be written is missed by the replay, which says so;
//! there is no sink here that could be told.

use super::call::identity;
use super::record::Recorder;
use super::tool_call::{CallLine, CallOutcome, ListLine, ListOutcome, ToolLine, asked};
use convoke_agent::{Asker, Review, Tool, ToolResult, Toolbox};
use convoke_model::{Class, Failure, JsonText, Servers};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Tools whose calls are written down.
pub struct RecordingTools {
    toolbox: Arc<dyn Toolbox>,
    recorder: Arc<Recorder>,
    /// The tools that were written down last for each set of servers.
    listed: Mutex<HashMap<String, ListOutcome>>,
    /// Calls that have begun.
    begun: AtomicU64,
}

impl RecordingTools {
    pub(super) fn new(toolbox: Arc<dyn Toolbox>, recorder: Arc<Recorder>) -> RecordingTools {
        RecordingTools { toolbox, recorder, listed: Mutex::default(), begun: AtomicU64::new(0) }
    }

    /// The lock is held while it is written: `same` means the last list before it on the tape.
    fn note(&self, mut line: ListLine) {
        let mut listed = self.listed.lock().expect("a panic poisoned this lock");
        if matches!(line.outcome, ListOutcome::Tools(_)) {
            let before = listed.insert(identity(&line.servers), line.outcome.clone());
            if before.as_ref() == Some(&line.outcome) {
                line.outcome = ListOutcome::Same;
            }
        }
        self.recorder.tape.write_tool(&ToolLine::ToolList(line)).ok();
    }
}

impl Toolbox for RecordingTools {
    fn list<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
    ) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(async move {
            let outcome = self.toolbox.list(asker, servers).await;
            self.note(ListLine::new(asker, servers, &outcome, &self.recorder.scrubber));
            outcome
        })
    }

    fn call<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(async move {
            let begun = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
            let line = CallLine::new(asker, begun, asked(tool, arguments, &self.recorder.scrubber));
            let mut entry = Entry { recorder: &self.recorder, line: Some(line) };
            let outcome = self.toolbox.call(asker, servers, tool, arguments, cancel).await;
            entry.close(&outcome);
            outcome
        })
    }

    fn review<'a>(
        &'a self,
        asker: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
    ) -> BoxFuture<'a, Review> {
        self.toolbox.review(asker, servers, tool, arguments)
    }
}

/// A call under way; dropped before its end, or cancelled, it is written down as cut off.
struct Entry<'a> {
    recorder: &'a Recorder,
    line: Option<CallLine>,
}

impl Entry<'_> {
    fn close(&mut self, outcome: &Result<ToolResult, Failure>) {
        let is_cancelled = outcome.as_ref().is_err_and(|failure| failure.class == Class::Cancelled);
        if let Some(line) = self.line.as_mut().filter(|_| !is_cancelled) {
            line.outcome = CallOutcome::of(outcome, &self.recorder.scrubber);
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            self.recorder.tape.write_tool(&ToolLine::ToolCall(line)).ok();
        }
    }
}
