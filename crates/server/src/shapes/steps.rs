//! What led to a question: the last things that its agent did, or the steps that ended just before it.
//!
//! A fold over the events of a run, with a bound for each task.

use convoke_model::{Event, TaskId};
use convoke_view::{owner, words};
use std::collections::{HashMap, VecDeque};

/// Things that are kept of one task.
const MOST: usize = 3;

/// The last things that happened, by the task that did them and by the scope that they happened in.
#[derive(Debug, Default)]
pub(crate) struct LastSteps {
    calls: HashMap<TaskId, VecDeque<String>>,
    ends: HashMap<Option<TaskId>, VecDeque<String>>,
}

impl LastSteps {
    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::ToolCalled { task, tool, failed, .. } => {
                let text =
                    if *failed { format!("called {tool}, which failed") } else { format!("called {tool}") };
                keep(self.calls.entry(task.clone()).or_default(), text);
            }
            Event::AttemptStarted { task, .. } => drop(self.calls.remove(task)),
            Event::TaskSucceeded { task, .. } | Event::AttemptFinished { task, .. } => {
                self.ended(task, format!("{} is done", words::task(task)));
            }
            Event::TaskFailed { task, failure } => {
                self.ended(
                    task,
                    format!("{} failed: {}", words::task(task), words::first_line(&failure.message)),
                );
            }
            _ => {}
        }
    }

    /// What led to a question of this task, the last at the end.
    pub fn of(&self, task: &TaskId) -> Vec<String> {
        let around = std::iter::successors(Some(task.clone()), owner);
        let mut scopes = around.clone().skip(1).map(Some).chain([None]);
        let own = around.filter_map(|task| self.calls.get(&task)).next();
        let before = || scopes.find_map(|scope| self.ends.get(&scope));
        own.or_else(before).map(|steps| steps.iter().cloned().collect()).unwrap_or_default()
    }

    /// A step that ends is one thing in its scope, however many events say so.
    fn ended(&mut self, task: &TaskId, text: String) {
        self.calls.remove(task);
        let ends = self.ends.entry(owner(task)).or_default();
        if ends.back() != Some(&text) {
            keep(ends, text);
        }
    }
}

fn keep(steps: &mut VecDeque<String>, text: String) {
    steps.push_back(text);
    if steps.len() > MOST {
        steps.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::events::{attempt, done, id};

    fn called(task: &str, tool: &str, failed: bool) -> Event {
        Event::ToolCalled { task: id(task), attempt: 1, tool: tool.to_owned(), ms: 1, failed }
    }

    #[test]
    fn an_agent_has_its_calls_and_a_gate_what_ended_before_it() {
        let mut steps = LastSteps::default();
        [done("a"), done("b"), attempt("c", 1)].iter().for_each(|event| steps.apply(event));
        assert_eq!(steps.of(&id("gate")), ["a is done", "b is done"]);
        for tool in ["read", "list", "write", "run"] {
            steps.apply(&called("c", tool, tool == "run"));
        }
        assert_eq!(steps.of(&id("c")), ["called list", "called write", "called run, which failed"]);
        assert_eq!(steps.of(&id("c/ask")), steps.of(&id("c")), "a question on the way of a step");
        assert_eq!(steps.of(&id("gate")), ["a is done", "b is done"]);
        steps.apply(&done("c"));
        assert_eq!(steps.of(&id("gate")), ["a is done", "b is done", "c is done"]);
    }
}
