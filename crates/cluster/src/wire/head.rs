//! What a run keeps besides its events: a small head by which a folded state is checked, and a book of what no event says.

use convoke_agent::CallDemand;
use convoke_model::{RunStatus, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of what runs keep on a cluster. A worker that knows less leaves the run to one that knows it.
pub const FORMAT: u32 = 1;

/// How far a run has come. Sorts first among the keys of its object, so it comes along with every call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The version of what is kept.
    pub format: u32,
    /// Turns with events so far.
    pub turns: u64,
    /// The number of the next event.
    pub next_seq: u64,
    /// The hash over all turns, in hexadecimal digits: the same number of turns is not yet the same history.
    pub hash: String,
    /// How it stands; `None` before it has begun.
    pub status: Option<RunStatus>,
    /// Attempts make no further call.
    #[serde(default)]
    pub stopping: bool,
    /// How often it was taken up.
    pub epoch: u64,
    /// When its last event happened.
    pub at: Timestamp,
    /// The program that has made the last turn.
    pub version: String,
}

impl Default for Head {
    fn default() -> Head {
        Head {
            format: FORMAT,
            turns: 0,
            next_seq: 1,
            hash: String::new(),
            status: None,
            stopping: false,
            epoch: 0,
            at: Timestamp::default(),
            version: String::new(),
        }
    }
}

impl Head {
    /// Whether attempts may be under way.
    pub fn is_live(&self) -> bool {
        self.status == Some(RunStatus::Running)
    }
}

/// What a run must not forget and no event says: on one machine the memory of a process holds it, and ends with its attempts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// When the run is woken next, as far as that is on its way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake: Option<Timestamp>,
    /// Calls that were asked for and have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
    /// The run is being let go of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<Interrupt>,
    /// The process that has made the last turn: it has the state at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<Home>,
    /// The last batch of each process that has sent any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub senders: BTreeMap<String, u64>,
}

/// A worker's process, and where other workers reach it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// Host and port.
    pub address: String,
    /// The process.
    pub process: String,
}

/// A call that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenCall {
    /// What it needs.
    pub demand: CallDemand,
    /// Where the answer goes; `None` once it went.
    pub awakeable: Option<String>,
}

/// A command let go of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// Who or what asked for it.
    pub by: String,
    /// When attempts that still go on are stopped.
    pub until: Timestamp,
}
