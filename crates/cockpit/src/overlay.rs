//! What lies over a place and takes the keys: help, a question that is being answered, words that are typed, a yes or no.

use crate::answering::Answering;
use crate::typing::Line;
use convoke_model::{RunId, TaskId};

/// What lies on top.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// The keys.
    Help,
    /// A question.
    Question(Box<Answering>),
    /// Words are typed.
    Typing(For, Line),
    /// A yes or no.
    Sure(Act),
}

/// What typed words are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum For {
    /// Guidance, for a task or for all goals of the run.
    Guidance(RunId, Option<TaskId>),
    /// The tasks that are shown have this word.
    Search,
}

/// What is done once a person has said yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A run stops.
    Stop {
        /// The run.
        run: RunId,
        /// Without letting attempts finish.
        now: bool,
    },
    /// A run goes on.
    Resume(RunId),
    /// A task is done again.
    Retry {
        /// The run.
        run: RunId,
        /// The task.
        task: TaskId,
        /// Effects may be repeated.
        repeat_effects: bool,
        /// What would be repeated, in the words of the refusal.
        effects: Option<String>,
    },
}
