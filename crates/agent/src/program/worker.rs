//! The traits by which an attempt has programs run: start a worker, run a program in it until it stops, answer its calls.
//!
//! A program that fails is no failure of the attempt: its writer is told. A failure here means that no worker can
//! run programs. A worker that is dropped is gone with its program.

use convoke_model::{Class, Failure};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// Runs programs that models write.
pub trait Programs: Send + Sync {
    /// What programs may use, in words for the model that writes them.
    fn guide(&self) -> &str;

    /// Starts a worker that has no program yet.
    fn start(&self, bounds: ProgramBounds) -> BoxFuture<'_, Result<Box<dyn ProgramWorker>, Failure>>;
}

/// The bounds of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramBounds {
    /// How long one program may compute.
    pub time: Duration,
    /// How long all programs of the worker may compute.
    pub total: Duration,
    /// Memory of a program, in bytes.
    pub memory: u64,
    /// The names of the functions that programs may call.
    pub functions: &'static [&'static str],
}

/// One worker. Variables of a program are there for the next one.
pub trait ProgramWorker: Send {
    /// Runs a program until it stops. One that waits for an answer is given up.
    fn run<'a>(&'a mut self, program: &'a str) -> BoxFuture<'a, Result<Step, Failure>>;

    /// Answers the call that the program waits at, and lets it go on.
    fn answer(&mut self, call: u64, answer: Given) -> BoxFuture<'_, Result<Step, Failure>>;

    /// The program that waits, to be gone on with elsewhere; nothing if it is too large.
    fn save(&mut self) -> BoxFuture<'_, Option<Vec<u8>>>;

    /// Goes on with a saved program, which waits for the answer to this call. Nothing if it cannot be read here.
    fn resume<'a>(
        &'a mut self,
        saved: &'a [u8],
        call: u64,
        answer: Given,
    ) -> BoxFuture<'a, Result<Option<Step>, Failure>>;
}

/// How far a program came.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Why it stopped.
    pub stop: Stop,
    /// What it printed since it last stopped, as far as that was kept.
    pub printed: String,
    /// How many bytes more it printed.
    pub cut: u64,
}

/// Why a program stopped.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// It calls a function, and waits.
    Call(HostCall),
    /// It is over; the value of its last line.
    Ended(Value),
    /// It went wrong.
    Failed(Trouble),
}

/// A program's call of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCall {
    /// Which call of the program it is, from 1.
    pub number: u64,
    /// The function.
    pub function: String,
    /// The arguments by position.
    pub args: Vec<Value>,
    /// The arguments by name.
    pub kwargs: Map<String, Value>,
}

/// What a program is given for a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// The call's value.
    Value(Value),
    /// An exception, which the program may catch.
    Error {
        /// Which.
        kind: ErrorKind,
        /// What it says.
        message: String,
    },
}

impl Given {
    /// An exception.
    pub fn error(kind: ErrorKind, message: impl Into<String>) -> Given {
        Given::Error { kind, message: message.into() }
    }
}

/// The exceptions that functions raise in programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// An argument is missing, unknown or of the wrong type.
    Type,
    /// An argument has a value that cannot be used.
    Value,
    /// There is no output of this name.
    Key,
    /// No answer came.
    Runtime,
}

/// What went wrong with a program, for the model that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of thing.
    pub kind: TroubleKind,
    /// Where and why.
    pub message: String,
    /// What could be done instead.
    pub hint: Option<String>,
}

/// The kinds of trouble that make a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// The program is wrong. Its variables are still there.
    Program,
    /// The program was not begun: it has constructs that the interpreter does not know, and all of them are told.
    Refused,
    /// It took more memory than it may have.
    Memory,
    /// It took longer than it may.
    Time,
    /// Its worker died of it.
    Died,
}

impl TroubleKind {
    /// Whether the worker, and with it the variables, is lost.
    pub fn is_loss(self) -> bool {
        matches!(self, TroubleKind::Memory | TroubleKind::Time | TroubleKind::Died)
    }
}

/// Runs no programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrograms;

impl Programs for NoPrograms {
    fn guide(&self) -> &str {
        ""
    }

    fn start(&self, _bounds: ProgramBounds) -> BoxFuture<'_, Result<Box<dyn ProgramWorker>, Failure>> {
        let failure = Failure::new(Class::Fatal, "programs cannot be run here").reason("no_interpreter");
        Box::pin(std::future::ready(Err(failure)))
    }
}
