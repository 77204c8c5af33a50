//! What a program did until it stopped: it asked for something, it ended, or it failed.

use convoke_model::{Class, Failure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What comes next, after a program was started or a call was answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// The program waits for the answer to a call.
    Call(Box<Call>),
    /// The program came to its end.
    Ended(Box<Ended>),
    /// The program failed. The host did not.
    Failed(Box<Failed>),
}

/// A program's call of a host function. The program waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Which call of the program it is, from 1.
    pub number: u64,
    /// The name of the function.
    pub function: String,
    /// The arguments by position.
    pub args: Vec<Value>,
    /// The arguments by name.
    pub kwargs: Map<String, Value>,
    /// What was printed since the program last stopped.
    pub printed: Printed,
    /// The waiting program, unless it was not to be saved or is longer than [`crate::Limits::state_bytes`].
    pub paused: Option<Paused>,
}

impl Call {
    /// What identifies the call in a replay: the function and everything it was given.
    pub fn digest(&self) -> String {
        let said = serde_json::json!([self.function, self.args, self.kwargs]);
        blake3::hash(said.to_string().as_bytes()).to_hex().to_string()
    }
}

/// A program's end.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The value of its last line if that is an expression, else null. What is no JSON is shown as Python would.
    pub value: Value,
    /// How large the value is, if it is too large to be given. The value is null then.
    pub cut_value: Option<u64>,
    /// What was printed since the program last stopped.
    pub printed: Printed,
    /// Its variables, for a next program in another worker.
    pub session: Option<Session>,
}

/// Why a program did not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// What kind of failure.
    pub kind: Kind,
    /// In one line: what, and why.
    pub message: String,
    /// The line of the program, from 1.
    pub line: Option<u32>,
    /// Python's traceback, or the message if there is none.
    pub traceback: String,
    /// What the writer of the program could do instead.
    pub hint: Option<String>,
    /// What was printed since the program last stopped.
    pub printed: Printed,
    /// The variables that it left, for a next program in another worker. None where they are gone or too large.
    pub session: Option<Session>,
    /// Whether the variables that it left are still in the worker. They are not where they took up its memory.
    pub kept: bool,
    /// Whether any of it was run. A program that a look over it refuses, or that is too long, is not begun.
    pub begun: bool,
    /// How the worker ended, if it did.
    pub death: Option<Death>,
}

impl Failed {
    /// Whether the worker is gone with the program.
    pub fn is_death(&self) -> bool {
        self.death.is_some()
    }

    /// As a failure of the step whose program this was.
    pub fn failure(&self) -> Failure {
        let class = match (self.kind, self.death) {
            (Kind::Time, _) => Class::Timeout,
            // Only the machine's owner or its kernel sends this one.
            (Kind::Died, Some(Death { signal: Some(libc::SIGKILL), .. })) => Class::Transient,
            _ => Class::InvalidOutput,
        };
        let failure = Failure::new(class, format!("program: {}", self.message)).reason(self.kind.word());
        match &self.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The kinds of failure of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is no Python.
    Syntax,
    /// It raised an exception that it did not catch.
    Exception,
    /// It needs something that is not there: a statement, a module.
    Unsupported,
    /// It needs more memory than it may have.
    Memory,
    /// It took longer than it may.
    Time,
    /// Its functions call each other deeper than they may.
    Recursion,
    /// It wanted a file, the clock or the environment.
    RefusedOsCall,
    /// It made more calls of host functions than it may.
    Calls,
    /// Its text or its inputs are longer than they may be.
    TooLarge,
    /// Its worker died of it.
    Died,
}

impl Kind {
    /// The word used in files and messages.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Syntax => "program_syntax",
            Kind::Exception => "program_exception",
            Kind::Unsupported => "program_unsupported",
            Kind::Memory => "program_memory",
            Kind::Time => "program_time",
            Kind::Recursion => "program_recursion",
            Kind::RefusedOsCall => "program_refused_os_call",
            Kind::Calls => "program_calls",
            Kind::TooLarge => "program_too_large",
            Kind::Died => "program_died",
        }
    }
}

/// How a worker ended that should not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Death {
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its exit code, if no signal did.
    pub code: Option<i32>,
    /// Whether the host ended it because it said nothing for too long.
    pub by_host: bool,
}

impl std::fmt::Display for Death {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.signal, self.code) {
            (Some(signal), _) => write!(f, "signal {signal}"),
            (None, Some(code)) => write!(f, "exit code {code}"),
            (None, None) => f.write_str("it cannot be ended"),
        }
    }
}

/// What a program printed, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    /// The beginning.
    pub text: String,
    /// How many bytes came after it and were not kept.
    pub cut: u64,
}

/// A waiting program. It can be gone on with in another worker of the same build.
#[derive(Clone, PartialEq, Eq)]
pub struct Paused(pub Vec<u8>);

/// The variables that a program left, for the next one.
#[derive(Clone, PartialEq, Eq)]
pub struct Session(pub Vec<u8>);

impl std::fmt::Debug for Paused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Paused({} bytes)", self.0.len())
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({} bytes)", self.0.len())
    }
}
