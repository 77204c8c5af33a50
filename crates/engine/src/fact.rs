//! What reaches the engine from outside, each with its time.

use convoke_agent::Report;
use convoke_journal::MessageId;
use convoke_model::{Answer, AttemptEnd, TaskId, Timestamp};
use convoke_schedule::TaskIx;

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Fact {
    pub at: Timestamp,
    pub what: What,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum What {
    /// An attempt ended.
    Ended { task: TaskIx, attempt: u32, end: AttemptEnd },
    /// An attempt has something to say.
    Reported { task: TaskIx, attempt: u32, report: Report },
    /// A person answered a gate.
    Answered { task: TaskId, answer: Answer, by: String, message: Option<MessageId> },
    /// Somebody asked the run to end.
    Stop { now: bool, by: String, message: Option<MessageId> },
    /// Another process sent something that this version does not know.
    Unreadable { message: Option<MessageId> },
    /// The process is to let go of the run.
    Interrupt { now: bool, by: String },
}
