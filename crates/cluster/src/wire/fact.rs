//! Facts on their way to a run: what [`convoke_engine::What`] is in memory, with names in place of places and addresses in place of
//! channels.

use convoke_agent::{CallDemand, TurnRecord};
use convoke_govern::Outcome;
use convoke_handover::WireReport;
use convoke_journal::Message;
use convoke_model::{AttemptEnd, ProofTold, TaskId, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// Facts for one run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Delivery {
    /// The process that sends them and the number of this batch; what is delivered again is known by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// What happened, in the order of its happening.
    pub facts: Vec<ClusterFact>,
}

/// Who sends, and how often so far. A process has one batch under way to a run at any time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The process: a random name.
    pub process: String,
    /// The number of the batch, from 1.
    pub batch: u64,
}

/// Something that happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClusterFact {
    /// When, by the clock of the machine on which it happened.
    pub at: Timestamp,
    /// What.
    pub said: Said,
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// An attempt ended.
    Ended { task: TaskId, attempt: u32, end: Box<AttemptEnd> },
    /// An attempt has something to say.
    Reported { task: TaskId, attempt: u32, report: WireReport },
    /// An attempt asks for a call to a model; the answer goes to the awakeable.
    CallAsked { demand: Box<CallDemand>, awakeable: String },
    /// An attempt's call has ended, or was given up.
    CallEnded { task: TaskId, attempt: u32, usage: Option<Usage>, outcome: Outcome },
    /// An attempt writes down a part of its conversation. That it was delivered is the acknowledgement.
    Turned { task: TaskId, attempt: u32, record: Box<TurnRecord> },
    /// An attempt has looked whether its work is done.
    Proof { task: TaskId, attempt: u32, told: Box<ProofTold> },
    /// An attempt knows its tools.
    ToolsSettled { task: TaskId, attempt: u32, allowed: Vec<String> },
    /// A person or a command speaks to the run.
    Message(Box<Message>),
    /// The command that watches the run is told to let go of it.
    Interrupt { now: bool, by: String },
}
