//! What a comparison of two runs came to. Its JSON is the interface of `convoke diff --format json`.

use convoke_model::{RunId, RunStatus, TaskId, Usage};
use serde::Serialize;

/// How two runs differ; in each pair the first run comes first.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Whether nothing differs but times, names and what was paid.
    pub equal: bool,
    /// The runs.
    pub runs: [RunTotals; 2],
    /// What differs and follows from no other difference: those with an effect first, in the order of their events.
    pub causes: Vec<Cause>,
    /// What follows from causes, by task path.
    pub consequences: Vec<Consequence>,
    /// What else is different and has no effect of its own that could be shown.
    pub circumstances: Vec<Change>,
    /// What was paid and how long it took, of tasks in which that differs.
    pub tasks: Vec<TaskTotals>,
}

/// What kind of cause a difference is. The words are part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An input of the run.
    Input,
    /// A prompt of the plan.
    Prompt,
    /// A model or its provider.
    Model,
    /// A limit: concurrency, budget, timeout, retries, bounds.
    Limit,
    /// Another setting of a step or of the configuration.
    Setting,
    /// The steps of the plan, or how they hang together.
    Plan,
    /// A model's answer to the same question.
    Answer,
    /// The result of the same tool call or command.
    ToolResult,
    /// A person: an answer at a gate, guidance.
    Person,
    /// A fault: a rate limit, a timeout, a lost attempt.
    Fault,
    /// The order of events: another winner of a race.
    Order,
    /// Something outside: files, tools on offer, what the runs of a project share.
    Environment,
    /// A person or a signal stopped one of the runs.
    Stop,
    /// One of the runs has not come to its end.
    Unfinished,
    /// The events do not say why.
    Unexplained,
}

impl Kind {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Input => "input",
            Kind::Prompt => "prompt",
            Kind::Model => "model",
            Kind::Limit => "limit",
            Kind::Setting => "setting",
            Kind::Plan => "plan",
            Kind::Answer => "answer",
            Kind::ToolResult => "tool_result",
            Kind::Person => "person",
            Kind::Fault => "fault",
            Kind::Order => "order",
            Kind::Environment => "environment",
            Kind::Stop => "stop",
            Kind::Unfinished => "unfinished",
            Kind::Unexplained => "unexplained",
        }
    }
}

/// A difference that follows from no other one.
#[derive(Debug, Clone, Serialize)]
pub struct Cause {
    /// What kind.
    pub kind: Kind,
    /// The task or step that it is about; absent for the run as a whole.
    pub task: Option<String>,
    /// Further tasks or steps in which the same differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The difference in words.
    pub what: String,
    /// The event of each run where it shows; absent where it does not.
    pub events: [Option<u64>; 2],
    /// Old and new texts.
    pub changes: Vec<Change>,
    /// How many consequences follow from it.
    pub consequences: usize,
    /// Whether anything in the runs shows it. A changed step that did not run has no effect.
    pub has_effect: bool,
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Which: `prompt`, `model`, `retry.max_attempts`, …
    pub field: String,
    /// In the first run.
    pub before: Option<String>,
    /// In the second run.
    pub after: Option<String>,
}

/// A difference that follows from another one.
#[derive(Debug, Clone, Serialize)]
pub struct Consequence {
    /// The task; absent for the run as a whole.
    pub task: Option<String>,
    /// The difference in words.
    pub what: String,
    /// The event of each run where it shows; absent where it does not.
    pub events: [Option<u64>; 2],
    /// The cause at the root of it: its place in `causes`.
    pub cause: usize,
    /// What it follows from directly.
    pub follows_from: Since,
    /// Old and new texts; empty for all but the first consequences of a long list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// What a consequence follows from directly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// A difference in this task.
    Task(String),
    /// A cause that is no task's.
    Cause,
}

/// A run as a whole.
#[derive(Debug, Clone, Serialize)]
pub struct RunTotals {
    /// Its name.
    pub run: Option<RunId>,
    /// The workflow's name.
    pub workflow: String,
    /// How it stands.
    pub status: Option<RunStatus>,
    /// How many events it has.
    pub events: u64,
    /// The rest.
    #[serde(flatten)]
    pub totals: Totals,
}

/// What was paid and how long it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Attempts.
    pub attempts: u32,
    /// How long it was worked on, in milliseconds.
    pub ms: u64,
    /// Tokens and money.
    pub usage: Usage,
}

/// The totals of one task in both runs.
#[derive(Debug, Clone, Serialize)]
pub struct TaskTotals {
    /// The task.
    pub task: TaskId,
    /// Absent in a run that does not have the task.
    pub totals: [Option<Totals>; 2],
}

/// The name of a task; what belongs to no task is the run's.
pub fn task_name(task: &TaskId) -> Option<String> {
    (!task.0.is_empty() && !task.0.starts_with(RUN)).then(|| task.to_string())
}

/// Facts about the run as a whole stand under names that no task has.
pub(super) const RUN: char = '\u{0}';
