//! Which recorded line answers a question about tools. Pure: knows no waiting.
//!
//! Equal calls are answered in their recorded order, but one that was cut off only if no other is left: a run that was
//! interrupted and went on has recorded it twice. Failures to list tools come once each, then the list for ever.

use super::call::identity;
use super::nearest::{difference, nearest};
use super::tool_call::{CallLine, CallOutcome, ListLine, ListOutcome, ToolLine};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// Everything about tools on a cassette.
pub struct Shelf {
    lists: Vec<ListLine>,
    calls: Vec<CallLine>,
    left: Mutex<Left>,
}

/// What has not been given yet, by request.
#[derive(Default)]
struct Left {
    lists: HashMap<String, VecDeque<usize>>,
    calls: HashMap<String, VecDeque<usize>>,
}

impl Shelf {
    /// The lines of a cassette.
    pub fn new(lines: Vec<ToolLine>) -> Shelf {
        let (mut lists, mut calls, mut left) = (Vec::new(), Vec::new(), Left::default());
        for line in lines {
            match line {
                ToolLine::ToolList(line) => {
                    left.lists.entry(identity(&line.servers)).or_default().push_back(lists.len());
                    lists.push(line);
                }
                ToolLine::ToolCall(line) => {
                    left.calls.entry(identity(&line.request)).or_default().push_back(calls.len());
                    calls.push(line);
                }
            }
        }
        Shelf { lists, calls, left: Mutex::new(left) }
    }

    /// The tools of some servers, or why that is not known.
    pub fn list(&self, servers: &Value) -> Result<&ListOutcome, String> {
        let mut left = self.left.lock().expect("nobody panics while holding it");
        let known = left.lists.get_mut(&identity(servers)).filter(|known| !known.is_empty());
        let Some(known) = known else { return Err(self.nearest_list(servers)) };
        let outcome = &self.lists[known[0]].outcome;
        if matches!(outcome, ListOutcome::Failure(_)) {
            known.pop_front();
        }
        Ok(outcome)
    }

    /// What a call gave, or why that is not known.
    pub fn call(&self, request: &Value) -> Result<&CallOutcome, String> {
        let mut left = self.left.lock().expect("nobody panics while holding it");
        let Some(free) = left.calls.get_mut(&identity(request)) else {
            return Err(self.nearest_call(request));
        };
        let answered = free.iter().position(|at| self.calls[*at].outcome != CallOutcome::CutOff);
        match free.remove(answered.unwrap_or(0)) {
            Some(at) => Ok(&self.calls[at].outcome),
            None => Err("it was recorded less often than it is made".to_owned()),
        }
    }

    fn nearest_list(&self, servers: &Value) -> String {
        match nearest(&self.lists, |line| (true, &line.servers), servers) {
            Some((_, line)) if difference(&line.servers, servers).is_empty() => {
                "only failures to list them were recorded, and fewer".to_owned()
            }
            Some((_, line)) => format!("the nearest differ at {}", difference(&line.servers, servers)),
            None => "the cassette has no tools".to_owned(),
        }
    }

    fn nearest_call(&self, request: &Value) -> String {
        let is_same =
            |line: &CallLine| ["server", "tool"].iter().all(|key| line.request[key] == request[key]);
        match nearest(&self.calls, |line| (is_same(line), &line.request), request) {
            Some((at, line)) => {
                let tool = line.request["tool"].as_str().unwrap_or_default();
                let difference = difference(&line.request, request);
                format!(
                    "the nearest is call {} of a tool, of `{tool}`, which differs at {difference}",
                    at + 1
                )
            }
            None => "the cassette has no calls of tools".to_owned(),
        }
    }
}
