//! Messages that begin or resume a run, and the lines of the list of runs.

use convoke_engine::Limits;
use convoke_model::{Digest, JsonText, RunId, RunStatus, Timestamp};
use serde::{Deserialize, Serialize};

/// How a run is decided about, wherever that happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// Attempts at once.
    pub max_concurrency: u32,
    /// A person answers gates while the run lives; else it parks when nothing else is left.
    pub interactive: bool,
    /// What is limited besides what the workflow says about itself.
    pub limits: Limits,
}

/// A run that is to begin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Begin {
    /// The plan, as JSON.
    pub plan: JsonText,
    /// What is to be its first event, as JSON.
    pub started: JsonText,
    /// How it is decided about.
    pub options: RunOptions,
    /// The settings of its providers and servers, for [`convoke_handover::Performers`]: references, no values.
    pub settings: JsonText,
    /// The command that begins it, for the record.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// When.
    pub at: Timestamp,
}

/// A run that has stopped is to be resumed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reopen {
    /// How it is decided about from now on.
    pub options: RunOptions,
    /// The settings of its providers and servers.
    pub settings: JsonText,
    /// The command that has it go on, for the record.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// When.
    pub at: Timestamp,
}

/// A line of the list of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The run.
    pub run: RunId,
    /// How it stands.
    pub status: RunStatus,
}

/// Which cluster this is: made at random when it is first asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity(pub Digest);
