//! A run as one file: the page, its style and everything that it shows of the run, to be opened without a server.
//!
//! The page is the one that a server serves, and what it shows are the answers of the API, made by the same folds. `record` chooses what is
//! in the file, `past` makes the places of the time slider, `masked` takes secrets out of every text on its way, `document` puts the
//! file together. Writing the file where it belongs is the caller's matter.
//!
//! Invariants: the file asks for nothing (its policy forbids it); no text stands in it that did not pass `masked`; what is left out for
//! want of room is said in the file and to the caller.

mod document;
mod masked;
mod past;
mod record;

use crate::error::ApiError;
use crate::following::{Follower, Hub};
use crate::host::Host;
use convoke_agent::redaction::Scrubber;
use convoke_journal::{Error as JournalError, StateDir};
use convoke_model::RunId;
use std::io::{self, Write};
use std::sync::Arc;

/// What is made into a file.
pub struct OfflineRun<'a> {
    /// Where the run is kept.
    pub state: &'a StateDir,
    /// Its name, in full.
    pub run: &'a RunId,
    /// The program: it renders prompts again.
    pub host: Arc<dyn Host>,
    /// The version of the program.
    pub version: &'a str,
    /// Takes secrets out of texts.
    pub scrubber: &'a Scrubber,
}

/// What a file came to.
#[derive(Debug, Clone, Default)]
pub struct Offline {
    /// Its length.
    pub bytes: u64,
    /// The number of the last event that is in it.
    pub events: u64,
    /// Tasks whose row is in it.
    pub tasks: usize,
    /// Whether a process drives the run.
    pub live: bool,
    /// What was left out for want of room, each in a sentence.
    pub left_out: Vec<String>,
}

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The run cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A part of the run cannot be told.
    #[error("{0}")]
    Part(String),
    /// The file cannot be written.
    #[error("the file cannot be written: {0}")]
    Write(#[from] io::Error),
    /// This build has no page.
    #[error("this build of the program has no page")]
    NoPage,
}

impl From<ApiError> for OfflineError {
    fn from(error: ApiError) -> OfflineError {
        OfflineError::Part(error.message().to_owned())
    }
}

/// Writes the file. Waits for the disk.
pub fn offline(of: &OfflineRun<'_>, out: &mut dyn Write) -> Result<Offline, OfflineError> {
    let hub = Hub::new(of.state.clone(), of.host.clone())?;
    let follower = Follower::new(of.state, of.run, &*of.host)?;
    follower.read_on();
    if let (0, Some(problem)) = follower.look(|seen| (seen.position, seen.problem.clone())) {
        return Err(OfflineError::Part(problem));
    }
    let frame = document::Frame::new().ok_or(OfflineError::NoPage)?;
    let mut out = Counted { out, bytes: 0 };
    let title = follower.look(|seen| seen.picture.state.workflow.clone());
    frame.begin(&of.scrubber.text(&title), &mut out)?;
    let mut made = record::write(of, &hub, &follower, &mut out)?;
    frame.end(&mut out)?;
    made.bytes = out.bytes;
    Ok(made)
}

/// Counts what is written.
struct Counted<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
