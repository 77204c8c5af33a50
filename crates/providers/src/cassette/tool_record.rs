//! Stands before real tools and writes down what they are asked and give.
//!
//! Changes nothing about a call. Which tools there are is written once, however many agents ask; every failure is. A
//! line that cannot be written is missed by the replay, which says so; here nobody could be told.

use super::call::identity;
use super::record::Desk;
use super::tool_call::{CallLine, CallOutcome, ListLine, ListOutcome, ToolLine};
use convoke_agent::{Tool, ToolResult, Toolbox};
use convoke_model::{Class, Failure, JsonText, Servers};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Tools whose calls are written down.
pub struct RecordingTools {
    toolbox: Arc<dyn Toolbox>,
    desk: Arc<Desk>,
    /// The last list of each set of servers.
    listed: Mutex<HashMap<String, ListOutcome>>,
}

impl RecordingTools {
    pub(super) fn new(toolbox: Arc<dyn Toolbox>, desk: Arc<Desk>) -> RecordingTools {
        RecordingTools { toolbox, desk, listed: Mutex::default() }
    }

    fn note(&self, line: ListLine) {
        let is_list = matches!(line.outcome, ListOutcome::Tools(_));
        let mut listed = self.listed.lock().expect("nobody panics while holding it");
        let before = listed.insert(identity(&line.servers), line.outcome.clone());
        if !(is_list && before.as_ref() == Some(&line.outcome)) {
            self.desk.tape.write_tool(&ToolLine::ToolList(line)).ok();
        }
    }
}

impl Toolbox for RecordingTools {
    fn list<'a>(&'a self, servers: &'a Servers) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        Box::pin(async move {
            let outcome = self.toolbox.list(servers).await;
            self.note(ListLine::new(servers, &outcome, &self.desk.scrubber));
            outcome
        })
    }

    fn call<'a>(
        &'a self,
        servers: &'a Servers,
        tool: &'a Tool,
        arguments: &'a JsonText,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        Box::pin(async move {
            let line = CallLine::new(tool, arguments, &self.desk.scrubber);
            let mut entry = Entry { desk: &self.desk, line: Some(line) };
            let outcome = self.toolbox.call(servers, tool, arguments, cancel).await;
            entry.close(&outcome);
            outcome
        })
    }
}

/// A call under way; dropped before its end, or cancelled, it is written down as cut off.
struct Entry<'a> {
    desk: &'a Desk,
    line: Option<CallLine>,
}

impl Entry<'_> {
    fn close(&mut self, outcome: &Result<ToolResult, Failure>) {
        let is_cancelled = outcome.as_ref().is_err_and(|failure| failure.class == Class::Cancelled);
        if let Some(line) = self.line.as_mut().filter(|_| !is_cancelled) {
            line.outcome = CallOutcome::of(outcome, &self.desk.scrubber);
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            self.desk.tape.write_tool(&ToolLine::ToolCall(line)).ok();
        }
    }
}
