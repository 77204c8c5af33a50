//! A run as a whole: what it was started with, how it goes on, and how it stands.
//!
//! Words of a status are part of files and of the command line: they never change.

use super::Superseded;
use crate::{Digest, Payload, RunId, TaskId, Usage};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The first event of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run's name.
    pub run: RunId,
    /// The workflow's name.
    pub workflow: String,
    /// The workflow file, as it was given.
    pub file: String,
    /// The folder the run was started in.
    pub folder: String,
    /// The plan's identity.
    pub plan: Digest,
    /// What the workflow is given.
    pub inputs: Payload,
    /// Jitter and random choices start from here.
    pub seed: u64,
    /// Gates take their first option.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_gates: bool,
    /// The version that started it.
    pub version: String,
    /// Words that the user attached.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metadata: IndexMap<String, serde_json::Value>,
    /// The configuration that differed from the defaults, by key; values that may be secrets are hidden.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub configuration: IndexMap<String, String>,
    /// The run that it is made from, where it does not begin from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
}

/// The run that another one is made from. It is kept for as long as that one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Its name.
    pub run: RunId,
    /// What was taken from it.
    pub how: BaseKind,
}

/// What a run takes from its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaseKind {
    /// A copy of its events up to one of them.
    Fork {
        /// The last event that was copied.
        seq: u64,
        /// The hash of the record that holds it, in the base's journal.
        hash: Digest,
    },
    /// Outputs of tasks that would come out the same.
    Reuse,
}

/// A copy of another run's events goes on by itself. What those events spent is that run's; time and budgets begin here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunForked {
    /// The run whose events come before this one.
    pub run: RunId,
    /// The last event that was copied.
    pub seq: u64,
    /// The hash of the record that holds it, in that run's journal.
    pub hash: Digest,
    /// Outputs that a person has set: their tasks take them when they would start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<SetOutput>,
    /// The plan from here on, and what is done again because of it or because of what was set.
    pub change: PlanChanged,
}

/// An output that a person has set in place of a task's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SetOutput {
    /// The task.
    pub task: TaskId,
    /// The output.
    pub output: Payload,
}

/// From where a task has an output that it did not make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenFrom {
    /// A task of another run, whose definition and inputs were the same.
    Run {
        /// The run.
        run: RunId,
        /// Its task.
        task: TaskId,
        /// What that task used, and this one did not.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        saved: Usage,
    },
    /// The command line of the fork: a person has set it.
    Set,
}

/// Why a task cannot take the output of another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Affected {
    /// That run has no such task.
    New,
    /// That run's task did not succeed.
    Unfinished,
    /// That run's task has an output that a person set (`fork --set`): nobody's answer.
    Set,
    /// A part of its definition is another one: `prompt`, `model`, `command`, …
    Changed(String),
    /// An input of the workflow has another value.
    Input(String),
    /// Another task's output is another one.
    Output(String),
    /// A text came out differently, and no input of it that has a name did.
    Rendered(String),
    /// It reads a variable of the environment, whose value then is not on record.
    Environment(String),
}

/// A run that had ended is open again: what failed or was cancelled gets another chance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReopened {
    /// The tasks that are open again; what they finished below them stays.
    pub tasks: Vec<TaskId>,
    /// The tasks that begin anew, with everything below them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarted: Vec<TaskId>,
    /// Phases that had failed: they get new tries, behind those they had. One that was stopped goes on with its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<TaskId>,
    /// Phases that ran and begin anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<Superseded>,
    /// Goals and tasks of goals that are done again: what was decided about them after the last child that stays
    /// is forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewound: Vec<TaskId>,
    /// Tasks that failed because the outcome of an attempt is unknown: a person is asked before they run again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<TaskId>,
    /// The tasks that wait for a person again, with the question that they asked last. Of all others no question is open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asking: Vec<TaskId>,
}

/// A changed workflow file was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChanged {
    /// The plan from here on.
    pub plan: Digest,
    /// Tasks that run again, with everything below them.
    pub dropped: Vec<TaskId>,
    /// Groups that are open again because of some of their members; what is unchanged below them stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened: Vec<TaskId>,
    /// Phases that ran and begin anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<Superseded>,
    /// The tasks that wait for a person from here on, with the question that they asked last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asking: Vec<TaskId>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A process drives it.
    Running,
    /// It waits for a person.
    Parked,
    /// It waits for the machine: its disk is full. Not in a journal, which could not take it; its owner's lock file says so.
    Blocked,
    /// No process drives it and it is not at its end.
    Interrupted,
    /// It ended well.
    Succeeded,
    /// It ended, but something was skipped because of a failure.
    Partial,
    /// It failed.
    Failed,
    /// It ended without anything having run.
    SkippedAll,
    /// It was stopped.
    Cancelled,
}

impl RunStatus {
    /// All of them.
    pub const ALL: [RunStatus; 9] = {
        use RunStatus::*;
        [Running, Parked, Blocked, Interrupted, Succeeded, Partial, Failed, SkippedAll, Cancelled]
    };

    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Parked => "parked",
            RunStatus::Blocked => "blocked",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Succeeded => "succeeded",
            RunStatus::Partial => "partial",
            RunStatus::Failed => "failed",
            RunStatus::SkippedAll => "skipped_all",
            RunStatus::Cancelled => "cancelled",
        }
    }

    /// The status that a word names.
    pub fn from_word(word: &str) -> Option<RunStatus> {
        RunStatus::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether the run has come to its end.
    pub fn is_end(self) -> bool {
        !matches!(self, RunStatus::Running | RunStatus::Parked | RunStatus::Blocked | RunStatus::Interrupted)
    }
}

/// Under which a run that was made from a sentence keeps it (`metadata`).
pub const GOAL: &str = "goal";

impl RunStarted {
    /// The sentence that the run was made from.
    pub fn sentence(&self) -> Option<&str> {
        self.metadata.get(GOAL).filter(|_| self.workflow == GOAL).and_then(serde_json::Value::as_str)
    }
}
