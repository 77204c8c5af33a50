//! What host and worker say to each other. One request, one report, in turn.
//!
//! Saved states are attached to the message as bytes ([`crate::frame`]); an empty attachment is none.

use crate::answer::Answer;
use crate::limits::Limits;
use crate::outcome::{Kind, Printed};
use crate::sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Changes with the meaning of any message.
pub const VERSION: u32 = 3;

/// What the host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// First: confine yourself, like this.
    Hello {
        /// The protocol of the host.
        version: u32,
        /// The bounds.
        limits: Limits,
        /// Whether programs run even where the worker cannot be confined.
        allow_unsandboxed: bool,
    },
    /// Run a program. A program that waits is given up. A saved session may be attached.
    Start(Start),
    /// Go on with the attached program, which waits for the answer to a call.
    Resume {
        /// Which call it waits at.
        call: u64,
        /// The answer.
        answer: Answer,
        /// The names of host functions.
        functions: Vec<String>,
        /// Whether the program is saved where it waits next.
        save: bool,
    },
    /// Go on: the answer to the call that the program waits at.
    Answer {
        /// The answer.
        answer: Answer,
        /// Whether the program is saved where it waits next.
        save: bool,
    },
    /// Save the program that waits. It goes on waiting.
    Save,
}

/// A program to run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start {
    /// The text.
    pub program: String,
    /// Variables that it finds.
    pub inputs: Map<String, Value>,
    /// Whether it finds the variables of the program before it in this worker.
    pub kept: bool,
    /// The names of host functions.
    pub functions: Vec<String>,
    /// Whether the program is saved where it waits first, and its variables at its end.
    pub save: bool,
}

/// What the worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// It is confined and runs programs; or it is not, and ends.
    Ready {
        /// The protocol of the worker.
        version: u32,
        /// What was enforced.
        sandbox: Sandbox,
    },
    /// The program waits. It may be attached.
    Call(Calling),
    /// The program ended. Its variables may be attached.
    Ended {
        /// The value of its last line.
        value: Value,
        /// How large the value is, if it is too large to be given.
        cut_value: Option<u64>,
        /// What was printed since the last report.
        printed: Printed,
    },
    /// The program failed. Its variables may be attached.
    Failed(Failing),
    /// The program that waits is attached, unless it is too long.
    Saved,
    /// The attached state cannot be read.
    Unusable {
        /// Why.
        cause: String,
    },
}

/// A call of a host function.
#[derive(Debug, Serialize, Deserialize)]
pub struct Calling {
    /// Which call of the program, from 1.
    pub call: u64,
    /// The function.
    pub function: String,
    /// Its arguments by position.
    pub args: Vec<Value>,
    /// Its arguments by name.
    pub kwargs: Map<String, Value>,
    /// What was printed since the last report.
    pub printed: Printed,
}

/// A failure of the program.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failing {
    /// What kind.
    pub kind: Kind,
    /// In one line.
    pub message: String,
    /// The line of the program.
    pub line: Option<u32>,
    /// Python's traceback.
    pub traceback: String,
    /// What could be written instead, where that is known.
    pub hint: Option<String>,
    /// What was printed since the last report.
    pub printed: Printed,
    /// Whether its variables are still there for a next program.
    pub kept: bool,
    /// Whether it was begun. One that a look over it refuses is not.
    pub begun: bool,
}
