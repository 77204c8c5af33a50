//! What is shown, as values: the newest look at runs, questions, limits, and at the run and the task that are open.
//!
//! Made by the program from the folds that the server has, too. Texts are as they are; drawing makes them harmless.

use convoke_model::{RunId, RunStatus, TaskId, Timestamp};
use convoke_view::Row;

/// All runs and what they ask.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunsSeen {
    /// The newest runs, newest first.
    pub runs: Vec<RunLine>,
    /// The questions of all runs, oldest first.
    pub questions: Vec<Asked>,
    /// Whether questions of more runs may be missing.
    pub is_cut: bool,
    /// Why the runs cannot be listed.
    pub problem: Option<String>,
}

/// One run of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// Its name.
    pub run: RunId,
    /// Its workflow's name.
    pub workflow: String,
    /// How it stands.
    pub status: RunStatus,
    /// When it was started.
    pub started: Timestamp,
    /// How long processes drove it until its last event.
    pub worked_ms: u64,
    /// Its last event.
    pub last: Timestamp,
    /// Whether a process drives it.
    pub live: bool,
    /// Attempts under way.
    pub running: u64,
    /// Tasks that were seen, ended well, failed.
    pub total: u64,
    /// Tasks that ended well.
    pub done: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Questions that wait.
    pub asks: usize,
    /// What it has cost, in words.
    pub cost: Option<String>,
    /// Why its journal cannot be read to the end.
    pub problem: Option<String>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The run.
    pub run: RunId,
    /// Its workflow.
    pub workflow: String,
    /// The task that asks.
    pub task: TaskId,
    /// `TASK~NUMBER`
    pub id: String,
    /// The hash of what is shown: an answer carries it.
    pub shown: String,
    /// `choice`, `questions`, `plan`, `unknown` or `approval`.
    pub kind: String,
    /// The whole of what is asked.
    pub text: String,
    /// What may be chosen.
    pub options: Vec<Choice>,
    /// Fields of a form.
    pub fields: Vec<Field>,
    /// When it was asked.
    pub opened: Timestamp,
    /// When the time to answer is over.
    pub until: Option<Timestamp>,
    /// What led to it.
    pub last_steps: Vec<String>,
    /// The same for questions that may be answered together.
    pub alike: String,
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What is handed in.
    pub value: String,
    /// As people read it.
    pub label: String,
    /// What follows, where that is known.
    pub then: Option<String>,
    /// A text that it asks for, by its name.
    pub prompt_for: Option<String>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// What may be chosen; empty where any text is an answer.
    pub choices: Vec<String>,
    /// What is offered.
    pub default: Option<String>,
    /// Whether it must be answered.
    pub required: bool,
}

/// What processes share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapacitySeen {
    /// Every limit.
    pub limits: Vec<LimitLine>,
    /// Processes that take part, in words.
    pub processes: Vec<String>,
    /// Why it cannot be shown.
    pub problem: Option<String>,
}

/// One limit, its amounts in words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitLine {
    /// Of what.
    pub name: String,
    /// The limit.
    pub limit: String,
    /// What is in use; of a budget, what is spent and set aside.
    pub used: String,
    /// In use of a thousand.
    pub permille: Option<u16>,
    /// Held by processes that are silent.
    pub held: Option<String>,
    /// Demands that wait.
    pub queued: u32,
    /// Open, or paused and for how long.
    pub state: String,
    /// Where the limit comes from: stated, learned, set by a person.
    pub origin: String,
    /// Who holds it, those with most first.
    pub holders: Vec<String>,
}

/// The run that is open.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSeen {
    /// Its name.
    pub run: RunId,
    /// Its workflow's name.
    pub workflow: String,
    /// How it stands.
    pub status: RunStatus,
    /// Whether a process drives it.
    pub live: bool,
    /// How long it was worked on, in words.
    pub worked: String,
    /// Steps that ended and all that are known.
    pub ended: u64,
    /// Steps that there are or will be.
    pub total: u64,
    /// Steps that failed.
    pub failed: u64,
    /// Steps at work.
    pub running: u64,
    /// About how long it takes, in words, where that is known.
    pub eta: Option<String>,
    /// What it has cost, and of which budget, in words.
    pub spent: Option<String>,
    /// What it waits for, or why it failed, in words.
    pub notice: Option<String>,
    /// Why its journal cannot be read on.
    pub problem: Option<String>,
    /// Rows that have changed since the look before, with their places; all of them where `is_whole`.
    pub rows: Vec<(usize, Row)>,
    /// Whether `rows` are all there are.
    pub is_whole: bool,
    /// What tasks do at this moment, in a few words.
    pub doing: Vec<(TaskId, String)>,
}

/// The task that is open.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSeen {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// Lines about it: a name and a value.
    pub facts: Vec<(String, String)>,
    /// Its texts.
    pub sections: Vec<Section>,
}

/// A text of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether it grows at this moment.
    pub grows: bool,
}
