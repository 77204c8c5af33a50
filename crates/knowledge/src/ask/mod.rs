//! Questions in SPARQL that others wrote: read-only, bounded, and refused in words.
//!
//! `refuse` looks at a query before anything runs, `answer` runs it, `statements` has graphs that come with a query, `prepared` has questions with words a person understands. Bounds of
//! memory are the worker's process (`worker`): nothing in here can keep an expression from growing a text.

mod answer;
mod prepared;
mod refuse;
mod statements;

pub use answer::{Answer, Form, answer};
pub use prepared::{Parameter, Prepared, find, prepared};
pub use statements::Statements;

use serde::{Deserialize, Serialize};

/// What a query may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Milliseconds.
    pub time_ms: u64,
    /// Quads that it looks at.
    pub quads: u64,
    /// Rows of the answer.
    pub rows: usize,
    /// Bytes of the answer.
    pub bytes: usize,
    /// Bytes of the query.
    pub text: usize,
    /// How deep groups may stand in each other.
    pub depth: usize,
    /// Bytes of memory of the process.
    pub memory: u64,
}

impl Bounds {
    /// For an agent: what fits into a prompt.
    pub const AGENT: Bounds = Bounds {
        time_ms: 5_000,
        quads: 5_000_000,
        rows: 500,
        bytes: 64 * 1024,
        text: 16 * 1024,
        depth: 60,
        memory: 512 << 20,
    };

    /// For a person and for programs of theirs.
    pub const PERSON: Bounds = Bounds {
        time_ms: 60_000,
        quads: u64::MAX,
        rows: 100_000,
        bytes: 64 << 20,
        text: 256 * 1024,
        depth: 120,
        memory: 2 << 30,
    };
}

/// Which graphs a query sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// All.
    All,
    /// These.
    Only(Vec<String>),
}

/// A query with everything about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// SPARQL 1.1: SELECT, ASK, CONSTRUCT or DESCRIBE.
    pub query: String,
    /// What it may use.
    pub bounds: Bounds,
    /// What it sees.
    pub view: View,
    /// How it is answered.
    pub form: Form,
    /// Statements that are asked instead of what is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Statements>,
}
