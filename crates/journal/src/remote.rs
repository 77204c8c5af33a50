//! Runs that are driven elsewhere: a folder that holds copies of the runs of a cluster.
//!
//! Beside the journal of a copy lies a small file: where the run is driven, how it stands there, and how far the copy goes. Where it
//! lies, it is the truth about who drives the run: the process that owns the journal only copies.

use crate::{Error, StateDir, replace_private};
use convoke_model::{RunId, RunStatus};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// What is known of the original of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Remote {
    /// Where the run is driven, for people.
    pub address: String,
    /// How it stands there; `None` before it has begun.
    pub status: Option<RunStatus>,
    /// Turns that are copied.
    pub turns: u64,
    /// The hash over these.
    pub hash: String,
}

impl Remote {
    /// What is known of a run; `None` if this is no copy.
    pub fn read(state: &StateDir, run: &RunId) -> Option<Remote> {
        serde_json::from_slice(&fs::read(path(state, run)).ok()?).ok()
    }

    /// Writes it down. After the events that it names: what is missing from it is copied again, and known by its numbers.
    pub fn write(&self, state: &StateDir, run: &RunId) -> Result<(), Error> {
        replace_private(&path(state, run), &serde_json::to_vec(self).expect("plain data"))
    }

    /// Whether it is driven.
    pub fn is_live(&self) -> bool {
        self.status == Some(RunStatus::Running)
    }
}

fn path(state: &StateDir, run: &RunId) -> PathBuf {
    state.run_dir(run).join("remote")
}
