//! What reaches the engine from outside, each with its time.

use convoke_agent::Report;
use convoke_journal::MessageId;
use convoke_model::{Answer, AttemptEnd, TaskId, Timestamp};
use convoke_schedule::TaskIx;

/// Something that happened.
#[derive(Debug)]
pub struct Fact {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug)]
pub enum What {
    /// An attempt ended.
    Ended {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// How.
        end: AttemptEnd,
    },
    /// An attempt has something to say.
    Reported {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What it says.
        report: Report,
    },
    /// A person answered a gate.
    Answered {
        /// The gate.
        task: TaskId,
        /// The answer.
        answer: Answer,
        /// Who answered.
        by: String,
        /// The inbox message that brought it.
        message: Option<MessageId>,
    },
    /// Somebody asked the run to end.
    Stop {
        /// At once.
        now: bool,
        /// Who asked.
        by: String,
        /// The inbox message that brought it.
        message: Option<MessageId>,
    },
    /// Another process sent something that this version does not know.
    Unreadable {
        /// The inbox message.
        message: Option<MessageId>,
    },
    /// The process is to let go of the run.
    Interrupt {
        /// Without letting attempts finish.
        now: bool,
        /// Who said so.
        by: String,
    },
}
