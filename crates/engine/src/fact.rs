//! What reaches the engine from outside, each with its time.

use convoke_agent::{Page, Report};
use convoke_journal::MessageId;
use convoke_model::{Answer, AttemptEnd, TaskId, Timestamp};
use convoke_schedule::TaskIx;
use tokio::sync::oneshot;

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
    /// An attempt wants to have a part of its conversation on disk before it goes on.
    Turned {
        /// The task.
        task: TaskIx,
        /// The attempt.
        attempt: u32,
        /// What to write down.
        page: Page,
        /// Told once it is.
        written: oneshot::Sender<()>,
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
