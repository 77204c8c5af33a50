//! Submits an answer: into the run's inbox, unless the question has changed, has an answer or has ended.
//!
//! Every answer passes here, at the terminal of the process that drives the run as well as from another
//! one. Invariant: of all answers to one question, one is accepted, the first that is on disk; the others are refused
//! with its author. An answer is to what its author was shown, or it is refused.

use crate::clock;
use crate::exit::Exit;
use crate::stored;
use crate::view::format;
use convoke_failpoint::failpoint;
use convoke_journal::{Error, Inbox, InboxMessage, Message, Reader, Reply, StateDir};
use convoke_model::{Answer, AnswerSource, Digest, Event, RunId, Stamped, Timestamp, reason};
use convoke_view::Question;

/// An answer on its way.
pub struct Submission<'a> {
    /// Where runs are kept.
    pub state: &'a StateDir,
    /// The run.
    pub run: &'a RunId,
    /// The question.
    pub question: &'a Question,
    /// The hash of what the author was shown, where that is known.
    pub shown: Option<Digest>,
    /// Recorded with the answer.
    pub by: &'a str,
    /// Recorded with the answer.
    pub from: AnswerSource,
}

/// Why an answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Another answer was first; the run takes it when it goes on.
    Waiting {
        /// The author of that answer, and when it was left.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// Another answer was first, and the run has taken it.
    Heard {
        /// The author of that answer.
        by: String,
        /// When.
        at: Timestamp,
    },
    /// The time to answer is over.
    TimedOut {
        /// When that was.
        at: Timestamp,
    },
    /// The question has ended without an answer.
    Over {
        /// When, as far as that is known.
        at: Option<Timestamp>,
    },
    /// The author was shown something else.
    Changed {
        /// When what is asked now was asked.
        at: Timestamp,
    },
}

impl Refused {
    /// The reason as programs read it.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::Waiting { .. } | Refused::Heard { .. } => "already_answered",
            Refused::TimedOut { .. } => "timed_out",
            Refused::Over { .. } => "ended",
            Refused::Changed { .. } => "stale",
        }
    }

    /// The refusal for programs.
    pub fn record(&self) -> serde_json::Value {
        let (by, at) = match self {
            Refused::Waiting { by, at } | Refused::Heard { by, at } => (Some(by), Some(*at)),
            Refused::TimedOut { at } | Refused::Changed { at } => (None, Some(*at)),
            Refused::Over { at } => (None, *at),
        };
        serde_json::json!({ "reason": self.code(), "by": by, "at": at.map(Timestamp::rfc3339) })
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        match self {
            Refused::Waiting { .. } | Refused::Heard { .. } => Exit::Answered,
            Refused::TimedOut { .. } => Exit::TooLate,
            Refused::Over { .. } => Exit::Over,
            Refused::Changed { .. } => Exit::Stale,
        }
    }

    /// The refusal in words.
    pub fn words(&self, run: &RunId, gate: &str) -> String {
        match self {
            Refused::Waiting { by, at } => format!(
                "`{gate}` of run `{run}` is answered already, by {by} at {}; the answer is heard when the run goes on",
                format::clock(*at)
            ),
            Refused::Heard { by, at } => {
                format!("`{gate}` of run `{run}` is answered already, by {by} at {}", format::clock(*at))
            }
            Refused::TimedOut { at } => {
                format!("the time to answer `{gate}` of run `{run}` was over at {}", format::clock(*at))
            }
            Refused::Over { at } => {
                let when = at.map(|at| format!(" since {}", format::clock(at))).unwrap_or_default();
                format!("run `{run}` does not wait for `{gate}` any more{when}")
            }
            Refused::Changed { at } => format!(
                "the question has changed since it was shown: what `{gate}` of run `{run}` asks now was asked at {}",
                format::clock(*at)
            ),
        }
    }
}

/// The author of an answer, for people.
pub fn author(by: &str, from: Option<&AnswerSource>) -> String {
    match from.map(|from| from.origin.words()) {
        Some(words) if words != by => format!("{by} ({words})"),
        _ => by.to_owned(),
    }
}

impl Submission<'_> {
    /// Durable on return, and then the only answer to this question.
    pub fn send(&self, answer: Answer) -> Result<Result<(), Refused>, Error> {
        let Question { id, number, shown, at, until, .. } = self.question;
        if self.shown.is_some_and(|seen| shown.is_some_and(|shown| shown != seen)) {
            return Ok(Err(Refused::Changed { at: *at }));
        }
        let reader = Reader::open(self.state, self.run)?;
        let message = Message::Answer(Box::new(Reply {
            task: id.task.clone(),
            question: Some(*number),
            shown: self.shown,
            answer,
            by: self.by.to_owned(),
            from: Some(Box::new(self.from.clone())),
        }));
        let clock = clock::of_run(&reader, &stored::ourselves().boot)?;
        let now = || clock.now();
        let sent = Inbox::send_unless(self.state, self.run, now, &message, |waiting, now| {
            failpoint!("answer.looked_at");
            if let Some(first) = waiting.iter().find_map(|message| self.first(message)) {
                return Ok(Some(first));
            }
            if let Some(ended) = ended(&reader, self.question)? {
                return Ok(Some(ended));
            }
            Ok(until.filter(|until| *until < now).map(|at| Refused::TimedOut { at }))
        })?;
        Ok(sent.map(drop))
    }

    /// A refusal by a message, if that is an answer to the same question.
    fn first(&self, message: &InboxMessage) -> Option<Refused> {
        match &message.body {
            Message::Answer(reply) => {
                let same = reply.task == self.question.id.task
                    && reply.question.is_none_or(|question| question == self.question.number);
                let by = author(&reply.by, reply.from.as_deref());
                same.then_some(Refused::Waiting { by, at: message.at })
            }
            _ => None,
        }
    }
}

/// What the journal says has become of a question by now. An owner takes an answer out of the inbox after its
/// journal holds it, so one of the two always shows it.
pub fn ended(reader: &Reader, question: &Question) -> Result<Option<Refused>, Error> {
    let (mut ended, mut is_past, asked) = (None, false, &question.id.task);
    reader.read(question.number + 1, &mut |Stamped { at, event, .. }| match event {
        _ if is_past => {}
        Event::GateOpened { task, .. } if task == *asked => {
            is_past = true;
            ended.get_or_insert(Refused::Changed { at });
        }
        Event::GateAnswered { task, by, from, .. } if task == *asked => {
            ended = Some(Refused::Heard { by: author(&by, from.as_deref()), at });
        }
        Event::TaskFailed { task, failure } if task == *asked => {
            let late = failure.reason.as_deref() == Some(reason::ANSWER_TIMEOUT);
            ended.get_or_insert(if late { Refused::TimedOut { at } } else { Refused::Over { at: Some(at) } });
        }
        Event::TaskSkipped { task, .. } | Event::TaskCancelled { task, .. } if task == *asked => {
            ended.get_or_insert(Refused::Over { at: Some(at) });
        }
        // The question is open again, and an answer that only led to an end is forgotten.
        Event::RunReopened(reopened) if reopened.tasks.contains(asked) => ended = None,
        Event::PlanChanged(changed) if changed.opened.contains(asked) => ended = None,
        Event::RunForked(forked) if forked.change.opened.contains(asked) => ended = None,
        _ => {}
    })?;
    Ok(ended)
}
