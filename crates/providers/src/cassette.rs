//! Conversations with models, written down once and played back for ever.
//!
//! A cassette is a folder with one file of JSON lines: each request as it was asked, with its reply or failure, in the
//! order in which they were answered. [`Recording`] stands before any providers and writes; [`Replay`] stands instead
//! of them and needs neither network nor key. What either asks or hears goes through a [`Scrubber`] first, so that no
//! secret reaches the file, and a recorded request is found again whatever the secret is today.

mod call;
mod file;
mod forms;
mod keys;
mod nearest;
mod record;
mod replay;
mod scrub;
mod turns;

pub use file::{CASSETTE_FILE, Tape};
pub use record::Recording;
pub use replay::Replay;
pub use scrub::Scrubber;

#[cfg(test)]
mod tests;
