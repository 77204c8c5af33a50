//! Which recorded list answers a question about tools. Pure: knows no waiting.
//!
//! A task gets its own lists, the n-th for its n-th question, and the last of them for ever. On cassettes that do not say
//! whose a list was, failures come once each, then the list for ever. A task that was not there when the cassette was
//! made gets what others got first.

use super::call::identity;
use super::nearest::{difference, nearest};
use super::tool_call::{ListLine, ListOutcome};
use convoke_model::TaskId;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// The lists of tools on a cassette.
pub struct Shelf {
    lists: Vec<ListLine>,
    of: HashMap<String, Mutex<Left>>,
}

/// What has been recorded for some servers, by place.
#[derive(Default)]
struct Left {
    /// What a task has not been given yet, and what it is given for ever.
    own: HashMap<TaskId, VecDeque<usize>>,
    nobodys: VecDeque<usize>,
    /// What a task is given that has no lists: tools, if there are any.
    others: Option<usize>,
}

impl Shelf {
    /// The lists of a cassette, in its order.
    pub fn new(mut lists: Vec<ListLine>) -> Shelf {
        let mut of: HashMap<String, Mutex<Left>> = HashMap::new();
        let mut last: HashMap<String, ListOutcome> = HashMap::new();
        for (at, line) in lists.iter_mut().enumerate() {
            let servers = identity(&line.servers);
            match (&line.outcome, last.get(&servers)) {
                (ListOutcome::Same, Some(tools)) => line.outcome = tools.clone(),
                (ListOutcome::Tools(_), _) => drop(last.insert(servers.clone(), line.outcome.clone())),
                _ => {}
            }
            of.entry(servers).or_default().get_mut().expect("nobody else has it yet").put(at, line);
        }
        Shelf { lists, of }
    }

    /// The tools of some servers, or why that is not known.
    pub fn list(&self, servers: &Value, task: &TaskId) -> Result<&ListOutcome, String> {
        let Some(left) = self.of.get(&identity(servers)) else { return Err(self.nearest(servers)) };
        let mut left = left.lock().expect("a panic poisoned this lock");
        let is_failure = |at: usize| matches!(self.lists[at].outcome, ListOutcome::Failure(_));
        match left.own(task, is_failure).or_else(|| left.nobodys(is_failure)).or(left.others) {
            Some(at) => Ok(&self.lists[at].outcome),
            None => Err("only failures to list them were recorded, and fewer".to_owned()),
        }
    }

    fn nearest(&self, servers: &Value) -> String {
        match nearest(&self.lists, |line| (true, &line.servers), servers) {
            Some((_, line)) => format!("the nearest differ at {}", difference(&line.servers, servers)),
            None => "the cassette has no tools".to_owned(),
        }
    }
}

impl Left {
    fn put(&mut self, at: usize, line: &ListLine) {
        match &line.task {
            Some(task) => self.own.entry(task.clone()).or_default().push_back(at),
            None => self.nobodys.push_back(at),
        }
        if !matches!(line.outcome, ListOutcome::Failure(_)) {
            self.others.get_or_insert(at);
        }
    }

    fn own(&mut self, task: &TaskId, is_failure: impl Fn(usize) -> bool) -> Option<usize> {
        let own = self.own.get_mut(task)?;
        match own.len() {
            1 if !is_failure(own[0]) => Some(own[0]),
            _ => own.pop_front(),
        }
    }

    /// A list was written down only when it had changed, so how often each was given is unknown.
    fn nobodys(&mut self, is_failure: impl Fn(usize) -> bool) -> Option<usize> {
        match self.nobodys.front() {
            Some(at) if is_failure(*at) => self.nobodys.pop_front(),
            other => other.copied(),
        }
    }
}
