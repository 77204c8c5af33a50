//! What keeps an agent's conversation within bounds, and how much of it.
//!
//! All of it is on unless a file says otherwise. The rules themselves are in `agent`, one file each; here are their
//! numbers, because files state them and plans carry them.

use crate::MAX_TOKENS;
use serde::{Deserialize, Serialize};

/// The bounds of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Capabilities {
    /// Tokens that the model can take in, request and answer together.
    pub context_window: u64,
    /// Where the window comes from.
    #[serde(skip_serializing_if = "WindowSource::is_guess")]
    pub window_source: WindowSource,
    /// Finds an agent that does the same thing over and over; `None` is off.
    pub stuck_loop: Option<StuckLoop>,
    /// Characters of a tool's result that the model is shown; what is longer is kept elsewhere. `None` is off.
    pub tool_output: Option<u64>,
    /// Leaves out the oldest turns of a conversation that becomes too long; `None` is off.
    pub compaction: Option<Compaction>,
    /// Tells the agent when its context is nearly full: percent of the window, each said once.
    pub context_warnings: Vec<u8>,
    /// The most rounds of tool calls.
    pub max_iterations: u32,
    /// Tool calls of one turn that run at the same time.
    pub parallel_tools: u32,
    /// What follows when an answer has the right shape and says nothing.
    pub placeholders: Placeholders,
}

impl Capabilities {
    /// Whether nothing was said about them.
    pub fn is_default(&self) -> bool {
        *self == Capabilities::default()
    }

    /// Whether the window is more than a guess. A guess refuses nothing.
    pub fn is_window_known(&self) -> bool {
        !self.window_source.is_guess()
    }

    /// The tokens that an answer must have room for: as many as are stated, and never more than a quarter of the window.
    pub fn reserve(&self, max_tokens: Option<u64>) -> u64 {
        max_tokens.unwrap_or(MAX_TOKENS).min(self.context_window / 4)
    }
}

/// Where a context window comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowSource {
    /// The model is not known.
    #[default]
    Guess,
    /// It is known of the model, and changes with the model.
    Model,
    /// The file states it, for any model.
    Stated,
}

impl WindowSource {
    fn is_guess(&self) -> bool {
        *self == WindowSource::Guess
    }
}

impl Default for Capabilities {
    fn default() -> Capabilities {
        Capabilities {
            context_window: 128_000,
            window_source: WindowSource::Guess,
            stuck_loop: Some(StuckLoop::default()),
            tool_output: Some(50_000),
            compaction: Some(Compaction::default()),
            context_warnings: vec![70, 90],
            max_iterations: 50,
            parallel_tools: 8,
            placeholders: Placeholders::Note,
        }
    }
}

/// When an agent is taken to be stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StuckLoop {
    /// The same call this often in a row, two calls in turn for twice as many, or equal results this often.
    pub repeats: u32,
    /// What follows: a word to the agent first, or the end of the attempt at once.
    pub action: StuckAction,
}

impl Default for StuckLoop {
    fn default() -> StuckLoop {
        StuckLoop { repeats: 3, action: StuckAction::Warn }
    }
}

/// What follows when an agent is stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckAction {
    /// It is told so, and fails if it goes on as before.
    Warn,
    /// The attempt fails.
    Fail,
}

/// What follows when an answer has the right shape and says nothing: `string`, `TODO`, the field's own name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placeholders {
    /// It counts, and a note is made.
    Note,
    /// It is sent back once; the same answer again counts.
    Retry,
    /// It is not looked at.
    Ignore,
}

/// When and how far a conversation is shortened, in percent of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Compaction {
    /// It begins when this much is used.
    pub at: u8,
    /// It leaves this much, if turns can be left out at all.
    pub to: u8,
}

impl Default for Compaction {
    fn default() -> Compaction {
        Compaction { at: 80, to: 50 }
    }
}
