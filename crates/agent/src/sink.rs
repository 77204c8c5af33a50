//! What an attempt tells while it runs.
//!
//! Reports are facts for the watchers and for the governor; nothing that the attempt does depends on them.

use convoke_model::{EffectCommit, ModelCall, Usage};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Takes reports. Must not block.
pub trait Sink: Send + Sync {
    /// Takes one report.
    fn report(&self, report: Report);

    /// Until when this process is sure to drive the run: nothing may be started in its name later. `None`: no such limit.
    fn starts_until(&self) -> Option<Instant> {
        None
    }
}

/// Something that an attempt has to say before its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// The next piece of the answer's text; shown and forgotten.
    Progress {
        /// The piece.
        text: String,
    },
    /// One model call has ended and used this much.
    Usage(Usage),
    /// The service said how much it allows.
    LimitsSeen(Limits),
    /// Another process performs the attempt.
    TakenBy {
        /// Its process id.
        pid: u32,
    },
    /// The process that performs the attempt is silent and may come back: what is held for it may still be in use when it ends.
    Silent,
    /// Nothing is in use any more of what an attempt held that ended in silence.
    LetGo,
    /// The attempt's command runs as a process group of its own.
    ProcessStarted {
        /// Process id, which is also its group's.
        pid: u32,
        /// Start time as the kernel counts it.
        start: u64,
    },
    /// The attempt's command runs, and goes on when the engine dies.
    SurvivorStarted {
        /// Process id of its supervisor.
        pid: u32,
        /// Start time as the kernel counts it.
        start: u64,
    },
    /// The outcome of a claimed call is known.
    EffectCommitted(EffectCommit),
    /// A model call has ended; told where the assignment is [traced](convoke_model::Assignment::trace).
    ModelCalled(Box<ModelCall>),
    /// A tool is about to be called; shown and forgotten.
    ToolStarted {
        /// The tool, as the model knows it.
        tool: String,
    },
    /// A tool was called.
    ToolCalled {
        /// The tool, as the model knows it.
        tool: String,
        /// How long it took, in milliseconds.
        ms: u64,
        /// Whether it went wrong.
        failed: bool,
    },
    /// So much of what people said to the task is part of the conversation, from the first on.
    GuidanceHeard {
        /// How many times they spoke.
        count: usize,
    },
    /// Something a person should know, that changes nothing.
    Noted {
        /// A stable word, such as `validator_failed`.
        code: &'static str,
        /// The words.
        message: String,
    },
}

/// What a service says about its rate limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The provider's name.
    pub provider: String,
    /// The model that the limits are for.
    pub model: String,
    /// Requests.
    pub requests: Meter,
    /// Tokens.
    pub tokens: Meter,
}

/// One limit as a service states it; whatever it leaves out is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// How many are allowed in a window.
    pub limit: Option<u64>,
    /// How many are left of this window.
    pub remaining: Option<u64>,
    /// Milliseconds until the window is full again.
    pub resets_in_ms: Option<u64>,
}

/// Drops every report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Sink for Silent {
    fn report(&self, _report: Report) {}
}
