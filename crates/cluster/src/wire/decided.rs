//! A turn, decided: with everything that carrying it out needs, because that may happen in a process that has no state at hand.

use super::{Book, Head, Launch};
use convoke_handover::Permission;
use convoke_model::{Blob, Digest, Failure, Stamped, Timestamp};
use serde::{Deserialize, Serialize};

/// What a turn came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Decided {
    /// Facts and decisions.
    pub events: Vec<Stamped>,
    /// Large values that they name.
    pub blobs: Vec<Blob>,
    /// Larger ones, which are put down already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<Digest>,
    /// The head after it.
    pub head: Head,
    /// The book after it.
    pub book: Book,
    /// What follows.
    pub acts: Vec<Act>,
}

/// What follows from a turn, outside of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// An attempt starts.
    Launch { name: String, launch: Box<Launch> },
    /// An attempt is told to stop.
    Abort { name: String },
    /// An attempt is told whether it may make a call.
    Answer { awakeable: String, answer: Answered },
    /// The run is woken at this time, which is so many microseconds from now.
    Wake { at: Timestamp, delay: u64 },
    /// The run stands otherwise than before.
    List,
}

/// The answer to the demand of a call.
pub type Answered = Result<Permission, Failure>;
