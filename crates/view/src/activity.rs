//! What tasks are doing between two events: the tool that runs, the text that comes in.
//!
//! Nothing of it is in the journal: it is shown and forgotten. Events take it away again, so a task that has ended, or
//! whose turn is recorded, has none.

use convoke_model::excerpt::{last_chars, tokens_of_bytes};
use convoke_model::{Event, TaskId};
use std::collections::HashMap;

/// Characters of a text's end that a line has a use for.
const TAIL: usize = 160;

/// Something that a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// The next piece of an answer's text.
    Says {
        /// The task.
        task: TaskId,
        /// The piece.
        text: String,
    },
    /// A tool is about to be called.
    Calls {
        /// The task.
        task: TaskId,
        /// The tool.
        tool: String,
    },
}

/// What one task does, as another process tells it: the whole of it at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The task.
    pub task: TaskId,
    /// The end of the text that has come in.
    pub text: String,
    /// Bytes of the whole text.
    pub bytes: u64,
    /// Tools that run.
    pub tools: Vec<String>,
}

/// What every running task does.
#[derive(Debug, Clone)]
pub struct Activity {
    tasks: HashMap<TaskId, Now>,
    /// Characters of a text's end that are kept.
    tail: usize,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity::keeping(TAIL)
    }
}

/// What one task does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Now {
    /// Tools that run, in the order of their calls.
    pub tools: Vec<String>,
    /// The end of the text that has come in.
    pub tail: String,
    bytes: u64,
}

impl Now {
    /// Tokens that have come in and are not recorded yet: an estimate, until the service says how many there were.
    pub fn tokens(&self) -> u64 {
        tokens_of_bytes(self.bytes)
    }

    /// Bytes that have come in and are not recorded yet.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn hear(&mut self, text: &str, most: usize) {
        self.bytes += text.len() as u64;
        self.tail.push_str(text);
        self.tail.drain(..self.tail.len() - last_chars(&self.tail, most).len());
    }
}

impl Activity {
    /// Nothing is said yet; of each text so many characters are kept.
    pub fn keeping(tail: usize) -> Activity {
        Activity { tasks: HashMap::new(), tail }
    }

    /// Every task that does something.
    pub fn all(&self) -> impl Iterator<Item = (&TaskId, &Now)> {
        self.tasks.iter()
    }

    /// Takes what a task does.
    pub fn take(&mut self, doing: Doing) {
        match doing {
            Doing::Says { task, text } => self.tasks.entry(task).or_default().hear(&text, self.tail),
            Doing::Calls { task, tool } => self.tasks.entry(task).or_default().tools.push(tool),
        }
    }

    /// Takes what all tasks do at one moment, in place of what was known.
    pub fn replace(&mut self, said: Vec<Said>) {
        let tail = self.tail;
        let now = |said: Said| {
            let text = last_chars(&said.text, tail).to_owned();
            (said.task, Now { tools: said.tools, tail: text, bytes: said.bytes })
        };
        self.tasks = said.into_iter().map(now).collect();
    }

    /// Takes the next event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::ToolCalled { task, tool, .. } => self.called(task, tool),
            Event::TurnRecorded { task, .. } => self.recorded(task),
            Event::AttemptStarted { task, .. }
            | Event::AttemptFinished { task, .. }
            | Event::AttemptFailed { task, .. }
            | Event::AttemptSuspended { task, .. }
            | Event::AttemptLost { task, .. }
            | Event::AttemptDetached { task, .. }
            | Event::TaskCancelled { task, .. } => drop(self.tasks.remove(task)),
            _ => {}
        }
    }

    fn called(&mut self, task: &TaskId, tool: &str) {
        let Some(now) = self.tasks.get_mut(task) else { return };
        if let Some(at) = now.tools.iter().position(|running| running == tool) {
            now.tools.remove(at);
        }
    }

    /// What was said so far is in the record, with what it used.
    fn recorded(&mut self, task: &TaskId) {
        if let Some(now) = self.tasks.get_mut(task) {
            *now = Now { tools: std::mem::take(&mut now.tools), ..Now::default() };
        }
    }

    /// What a task does.
    pub fn of(&self, task: &TaskId) -> Option<&Now> {
        self.tasks.get(task)
    }

    /// Tokens of all tasks that have come in and are not recorded yet, about.
    pub fn tokens(&self) -> u64 {
        self.tasks.values().map(Now::tokens).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_testkit::events::{attempt, done, id};

    fn says(task: &str, text: &str) -> Doing {
        Doing::Says { task: id(task), text: text.to_owned() }
    }

    fn called(tool: &str) -> Event {
        Event::ToolCalled { task: id("a"), attempt: 1, tool: tool.to_owned(), ms: 3, failed: false }
    }

    #[test]
    fn a_tool_runs_until_its_call_is_recorded() {
        let mut activity = Activity::default();
        activity.apply(&attempt("a", 1));
        for tool in ["read", "write", "read"] {
            activity.take(Doing::Calls { task: id("a"), tool: tool.to_owned() });
        }
        activity.apply(&called("read"));
        assert_eq!(activity.of(&id("a")).unwrap().tools, ["write", "read"]);
        activity.apply(&done("a"));
        assert_eq!(activity.of(&id("a")), None);
    }

    #[test]
    fn what_another_process_tells_takes_the_place_of_what_was_known() {
        let mut activity = Activity::default();
        activity.take(says("a", "known"));
        let text = format!("{} the end", "é".repeat(400));
        let said =
            |task: &str| Said { task: id(task), text: text.clone(), bytes: 4_000, tools: vec!["t".into()] };
        activity.replace(vec![said("b")]);
        let now = activity.of(&id("b")).unwrap();
        assert_eq!((now.tail.chars().count(), now.tokens(), now.tools.len()), (TAIL, 1_000, 1));
        assert_eq!(activity.of(&id("a")), None);
        activity.replace(vec![]);
        assert_eq!(activity.tokens(), 0);
    }

    #[test]
    fn text_counts_until_it_is_recorded_and_only_its_end_is_kept() {
        let mut activity = Activity::default();
        activity.take(says("a", &"x".repeat(1_000)));
        activity.take(says("a", " the end"));
        activity.take(says("b", "yes"));
        let now = activity.of(&id("a")).unwrap();
        assert_eq!((now.tokens(), now.tail.chars().count()), (252, TAIL));
        assert!(now.tail.ends_with("x the end"));
        assert_eq!(activity.tokens(), 253);
        activity.apply(&done("a"));
        assert_eq!(activity.tokens(), 1);
    }
}
