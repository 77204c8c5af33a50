//! The children that a composite task spawns on its way to its own answer.
//!
//! A child names what it works on by task, never by text: prompts are made from outputs when the child starts, so that a
//! journal holds every output once.

use crate::{Item, JsonText, Payload, Role, TaskId, Usage};
use serde::{Deserialize, Serialize};

/// One child, as the task that spawns it describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildSpec {
    /// Its place among the task's children, such as `2.13`: level and number.
    pub key: String,
    /// What it does.
    pub kind: ChildKind,
    /// The tasks that must have ended well before it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<TaskId>,
}

/// What a child does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildKind {
    /// Make one text of these.
    Merge {
        /// In this order.
        of: Vec<Piece>,
    },
    /// Choose one of these.
    Choose {
        /// In this order.
        of: Vec<Piece>,
    },
    /// What is wrong with an answer?
    Assess {
        /// Whose output the answer is.
        answer: TaskId,
    },
    /// Correct an answer.
    Correct {
        /// Whose output the answer is.
        answer: TaskId,
        /// Whose output the findings are.
        findings: TaskId,
    },
    /// Put a payload into the shape that a step relies on.
    Reshape {
        /// Whose output it is.
        of: TaskId,
        /// What does not fit.
        problem: String,
    },
    /// What a program asks a model.
    Prompt {
        /// The whole prompt, as a JSON string.
        text: Payload,
    },
    /// A program over some of the outputs.
    Program {
        /// What it is to find out, as a JSON string.
        query: Payload,
        /// The outputs.
        of: Vec<TaskId>,
        /// How many programs stand above it.
        depth: u32,
    },
    /// A task on the way to a goal; it asks on its own way.
    Item(Box<Item>),
    /// A role on the way to a goal.
    Role {
        /// What.
        role: Role,
        /// Why, or how this time: the strategy that is tried, what was wrong before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Results of a goal's tasks, too many for one question, become one digest.
    Collect {
        /// Of these results, or digests of them, in this order.
        of: Vec<Piece>,
    },
    /// A phase of a pipeline is tried.
    Try {
        /// The try before it, which was not accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<TaskId>,
    },
    /// Work that a phase hands to a child.
    Intent {
        /// In whose role.
        persona: String,
        /// What it is given, as JSON.
        task: Payload,
        /// How deep it stands.
        depth: u32,
    },
    /// What the children of a try came to is made into the phase's own result.
    Aggregate {
        /// The try that handed the work out.
        of: TaskId,
    },
    /// A part of the work of a composite task that needs no kind of its own: its role says all.
    Part {
        /// The word for people and ids.
        role: String,
        /// What else it is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

impl ChildKind {
    /// The word for people and ids.
    pub fn word(&self) -> &str {
        match self {
            ChildKind::Merge { .. } => "merge",
            ChildKind::Choose { .. } => "choose",
            ChildKind::Assess { .. } => "assess",
            ChildKind::Correct { .. } => "correct",
            ChildKind::Reshape { .. } => "repair_input",
            ChildKind::Prompt { .. } => "llm",
            ChildKind::Program { .. } => "rlm",
            ChildKind::Item(_) => "task",
            ChildKind::Role { role, .. } => role.word(),
            ChildKind::Collect { .. } => Role::Collect.word(),
            ChildKind::Try { .. } => "try",
            ChildKind::Intent { .. } => "child",
            ChildKind::Aggregate { .. } => "aggregate",
            ChildKind::Part { role, .. } => role,
        }
    }
}

impl ChildSpec {
    /// A child that can start at once.
    pub fn new(key: impl Into<String>, kind: ChildKind) -> ChildSpec {
        ChildSpec { key: key.into(), kind, needs: Vec::new() }
    }

    /// The tasks that end before it starts. A task of a goal says so itself.
    pub fn waits_for(&self) -> &[TaskId] {
        match &self.kind {
            ChildKind::Item(item) => &item.inputs,
            _ => &self.needs,
        }
    }

    /// The id of the child that answers. Tasks of a goal are a tree of numbers: `goal/2/1`.
    pub fn child_of(&self, task: &TaskId) -> TaskId {
        match self.kind {
            ChildKind::Item(_) => TaskId::new(Some(task), &self.key, None, 1),
            _ => TaskId::new(Some(task), self.kind.word(), Some(&self.key), 1),
        }
    }
}

/// An output, or a part of a large one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    /// Whose output.
    pub task: TaskId,
    /// Which part: the number of it and how many there are; absent for the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<[u32; 2]>,
}

impl Piece {
    /// The whole output of a task.
    pub fn whole(task: TaskId) -> Piece {
        Piece { task, part: None }
    }
}

/// An output that is not there for a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Whose.
    pub task: TaskId,
    /// Why: failed, skipped, cancelled, late.
    pub cause: String,
}

/// What a program is to work on: see `agent::program`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramCall {
    /// The model that writes the programs; its prompt is the query alone.
    pub agent: crate::AgentCall,
    /// The outputs, in order.
    pub sources: Vec<ProgramSource>,
    /// Whose outputs are not there.
    #[serde(default)]
    pub missing: Vec<Missing>,
    /// How many programs stand above it.
    pub depth: u32,
    /// The most programs that it may write.
    pub max_turns: u32,
    /// How deep programs may stand.
    pub max_depth: u32,
    /// The most model calls that it may ask for.
    pub max_calls: u32,
    /// Time for its programs, in milliseconds.
    pub time_ms: u64,
    /// Memory of a program, in bytes.
    pub memory: u64,
    /// Characters that the root may see of what is described or printed.
    pub metadata_chars: u64,
    /// Answers to what it asked last, in the order of asking.
    pub answers: Vec<ProgramAnswer>,
}

/// One output that programs can look into.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramSource {
    /// Its mark, such as `S12`.
    pub mark: String,
    /// Whose output it is.
    pub task: TaskId,
    /// What people call it.
    pub title: String,
    /// The output, as JSON.
    pub output: JsonText,
}

/// The answer to one of a program's questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramAnswer {
    /// The value; or why there is none.
    pub answer: Result<JsonText, String>,
    /// What it used.
    pub usage: Usage,
}

/// What a program asks, as a suspended attempt says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubQuery {
    /// Ask a model.
    Prompt(String),
    /// Let a program look into some of the outputs, named by their marks.
    Program {
        /// What it is to find out.
        query: String,
        /// The marks.
        of: Vec<String>,
    },
}
