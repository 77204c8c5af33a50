//! How others speak to a live run, and how they watch it.

use crate::capacity::metrics::Metrics;
use crate::clock::Clock;
use crate::fact::{Fact, What};
use convoke_journal::{Blocked, Reply};
use convoke_model::{Answer, Stamped, TaskId};
use convoke_plan::template::Cancellation;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// What a watcher is told. Sent after the commit, never waited for: a slow watcher does not slow the run.
#[derive(Debug, Clone)]
pub enum Notice {
    /// These events are on disk.
    Committed(Arc<[Stamped]>),
    /// A piece of an answer's text; shown and forgotten.
    Progress {
        /// The task that says it.
        task: TaskId,
        /// The piece.
        text: String,
    },
    /// The journal takes nothing for now, and the run waits for that to pass.
    Paused {
        /// What is wrong, as the journal says it.
        why: String,
        /// What of the machine it waits for.
        on: Blocked,
        /// How long the run waits.
        at_most: Duration,
    },
    /// The journal takes events again.
    Resumed {
        /// How long the run has waited.
        seconds: u64,
    },
    /// A task is about to call a tool; shown and forgotten.
    ToolStarted {
        /// The task.
        task: TaskId,
        /// The tool, as the model knows it.
        tool: String,
    },
    /// How capacity is used at this moment, and was so far.
    Metrics(Box<Metrics>),
}

/// Where a watcher listens.
pub type Watch = UnboundedReceiver<Notice>;

/// Speaks to a live run. Cheap to copy; speaking to a run that has ended does nothing.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) facts: UnboundedSender<Fact>,
    pub(crate) clock: Clock,
    pub(crate) rendering: Cancellation,
}

impl Handle {
    /// Answers a gate.
    pub fn answer(&self, task: TaskId, answer: Answer, by: impl Into<String>) {
        let reply = Box::new(Reply::new(task, answer, by));
        self.send(What::Answered { reply, sent: self.clock.now(), message: None });
    }

    /// Says that something was left in the inbox, so that its author does not wait for the next look at it.
    pub fn mailed(&self) {
        self.send(What::Mailed);
    }

    /// Says that no person answers gates any more: the run parks when nothing else is left to do.
    pub fn unattended(&self) {
        self.send(What::Unattended);
    }

    /// Gives guidance to all agents that are asked from now on.
    pub fn guide(&self, text: impl Into<String>, by: impl Into<String>) {
        self.send(What::Guided { task: None, text: text.into(), by: by.into(), message: None });
    }

    /// Asks the run to end: attempts finish first, or are stopped at once.
    pub fn stop(&self, now: bool, by: impl Into<String>) {
        self.send(What::Stop { now, by: by.into(), message: None });
    }

    /// Asks the process to let go of the run, which can be resumed later.
    pub fn interrupt(&self, now: bool, by: impl Into<String>) {
        self.send(What::Interrupt { now, by: by.into() });
    }

    /// Ends the rendering that the run is at, and all later ones: nothing more is decided. For another thread than the
    /// run's, which has told the process to let go of the run and sees that it does not come to that.
    pub fn cancel_rendering(&self) {
        self.rendering.cancel();
    }

    pub(crate) fn send(&self, what: What) {
        // A run that has ended no longer listens: the fact is of no use to it.
        let _ = self.facts.send(Fact { at: self.clock.now(), what });
    }
}
