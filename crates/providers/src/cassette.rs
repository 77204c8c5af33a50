//! Conversations with models and calls of tools, written down once and played back for ever.
//!
//! A cassette is a folder with one file of JSON lines: each request as it was asked, with its reply or failure, in the
//! order in which they were answered. [`Recording`] stands before any providers and writes, [`RecordingTools`] before
//! any tools; [`Replay`] and [`ReplayTools`] stand instead of them and need neither network nor key nor server. What either asks or hears goes through a [`Scrubber`](convoke_agent::redaction::Scrubber) first, so that no
//! secret reaches the file, and a recorded request is found again whatever the secret is today.

mod call;
mod file;
mod nearest;
mod proofs;
mod record;
mod replay;
mod shelf;
mod tool_call;
mod tool_record;
mod tool_replay;
mod turns;

pub use file::{CASSETTE_FILE, Tape};
pub use proofs::{RecordingProver, ReplayProver};
pub use record::Recording;
pub use replay::Replay;
pub use tool_record::RecordingTools;
pub use tool_replay::ReplayTools;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
