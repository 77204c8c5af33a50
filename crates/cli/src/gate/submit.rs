//! Submits an answer: into the run's inbox, unless the question has an answer.
//!
//! Every answer passes here, at the terminal of the process that drives the run as well as from another
//! one. Invariant: of all answers to one question, one is accepted, the first that is on disk; the others are refused
//! with its author.

use crate::clock;
use convoke_failpoint::failpoint;
use convoke_journal::{Error, Inbox, InboxMessage, Message, Reader, StateDir};
use convoke_model::{Answer, Event, RunId, Stamped, TaskId};

/// An answer on its way.
pub struct Submission<'a> {
    /// Where runs are kept.
    pub state: &'a StateDir,
    /// The run.
    pub run: &'a RunId,
    /// The gate.
    pub task: &'a TaskId,
    /// The number of the event that opened its question.
    pub question: u64,
    /// Recorded with the answer.
    pub by: &'a str,
}

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Another answer was first; the run takes it when it goes on.
    Waiting {
        /// The author of that answer.
        by: String,
    },
    /// Another answer was first, and the run has taken it.
    Heard {
        /// The author of that answer.
        by: String,
    },
    /// The question has ended without an answer.
    Over,
}

impl Refused {
    /// The refusal in words.
    pub fn words(&self, run: &RunId, task: &TaskId) -> String {
        match self {
            Refused::Waiting { by } => format!(
                "`{task}` of run `{run}` is answered already, by {by}; the answer is heard when the run goes on"
            ),
            Refused::Heard { by } => format!("`{task}` of run `{run}` is answered already, by {by}"),
            Refused::Over => format!("run `{run}` does not wait for `{task}` any more"),
        }
    }
}

impl Submission<'_> {
    /// Durable on return, and then the only answer to this question.
    pub fn send(&self, answer: Answer) -> Result<Result<(), Refused>, Error> {
        let reader = Reader::open(self.state, self.run)?;
        let message = Message::Answer {
            task: self.task.clone(),
            question: Some(self.question),
            answer,
            by: self.by.to_owned(),
        };
        let sent = Inbox::send_unless(self.state, self.run, clock::now(), &message, |waiting| {
            failpoint!("answer.looked_at");
            let first = waiting.iter().find_map(|message| self.first(message));
            match first {
                Some(by) => Ok(Some(Refused::Waiting { by })),
                None => self.ended(&reader),
            }
        })?;
        Ok(sent.map(drop))
    }

    /// The author of a message, if that is an answer to the same question.
    fn first(&self, message: &InboxMessage) -> Option<String> {
        match &message.body {
            Message::Answer { task, question, by, .. } => {
                let same = task == self.task && question.is_none_or(|question| question == self.question);
                same.then(|| by.clone())
            }
            _ => None,
        }
    }

    /// What the journal says has become of the question by now. An owner takes an answer out of the inbox after its
    /// journal holds it, so one of the two always shows it.
    fn ended(&self, reader: &Reader) -> Result<Option<Refused>, Error> {
        let mut ended = None;
        reader.read(self.question, &mut |stamped: Stamped| match stamped.event {
            Event::GateAnswered { task, by, .. } if task == *self.task => ended = Some(Refused::Heard { by }),
            Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. }
                if task == *self.task =>
            {
                ended.get_or_insert(Refused::Over);
            }
            // The question is open again, and an answer that only led to an end is forgotten.
            Event::RunReopened(reopened) if reopened.tasks.contains(self.task) => ended = None,
            Event::PlanChanged(changed) if changed.opened.contains(self.task) => ended = None,
            Event::RunForked(forked) if forked.change.opened.contains(self.task) => ended = None,
            _ => {}
        })?;
        Ok(ended)
    }
}
