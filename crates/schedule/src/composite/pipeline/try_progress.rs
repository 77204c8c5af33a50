//! What the children of a phase came to: a try, the work that it handed out, and what was made of that.
//!
//! Computed anew from the children each time; nothing is decided here. An answer that may not be is one that was not
//! accepted, and nothing that it says about the run counts.

use super::answer::{WorkerAnswer, printed, read};
use super::state::reason;
use super::trigger::Status;
use crate::state::{End, State, TaskIx, TaskState};
use crate::view::View;
use convoke_model::reason::EXIT_CODE;
use convoke_model::{ChildKind, ChildSpec, Class, Failure, Violation};
use convoke_plan::{Kind, Phase, follows_from};
use indexmap::IndexMap;
use serde_json::{Map, Value};

/// What a try, or a child of one, came to with everything below it.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub status: Status,
    pub payload: Map<String, Value>,
    pub reason: Option<String>,
    /// Why it failed, unless it succeeded.
    pub failure: Option<Failure>,
    pub flags: IndexMap<String, bool>,
    pub metadata: IndexMap<String, Value>,
    pub events: Vec<(String, Value)>,
    pub project: Option<Value>,
    /// The child whose failure it is.
    pub by: Option<TaskIx>,
}

/// How it stands.
pub(super) enum TryProgress {
    Waits,
    Stopped,
    /// A try hands out work: what it says about the run counts first.
    HandsOut(Box<WorkerAnswer>, Vec<ChildSpec>),
    Asks(Vec<ChildSpec>),
    Ended(Box<Outcome>),
}

/// What one child answered itself.
pub(super) enum Reply {
    Waits,
    Stopped,
    Answered(Box<WorkerAnswer>),
    Bad(Box<Outcome>),
}

impl Outcome {
    fn empty(status: Status) -> Outcome {
        Outcome {
            status,
            payload: Map::new(),
            reason: None,
            failure: None,
            flags: IndexMap::new(),
            metadata: IndexMap::new(),
            events: Vec::new(),
            project: None,
            by: None,
        }
    }

    /// An answer that is not accepted; nothing that it says about the run counts.
    pub fn refused(why: String) -> Outcome {
        let failure = Failure::new(Class::InvalidOutput, why.clone()).reason(reason::VALIDATION_FAIL);
        Outcome { reason: Some(why), failure: Some(failure), ..Outcome::empty(Status::ValidationFail) }
    }

    /// What is left of a try that would be judged otherwise today.
    pub fn as_judged(status: Status, why: Option<String>) -> Outcome {
        Outcome { reason: why, ..Outcome::empty(status) }
    }

    /// An attempt that failed for good; an answer that cannot be read is not accepted. A program that broke off
    /// has given none, and would break off again.
    fn attempted(failure: Failure, violation: Violation) -> Outcome {
        let broke_off = failure.reason.as_deref() == Some(EXIT_CODE);
        match failure.class {
            Class::InvalidOutput if !broke_off => Outcome::refused(failure.message),
            _ => Outcome::failed(failure, violation),
        }
    }

    fn failed(failure: Failure, violation: Violation) -> Outcome {
        if failure.class == Class::Security && violation == Violation::ValidationFail {
            return Outcome::refused(failure.message);
        }
        let reason = Some(failure.message.clone());
        Outcome { reason, failure: Some(failure), ..Outcome::empty(Status::Failure) }
    }

    fn said(said: WorkerAnswer, violation: Violation) -> Outcome {
        let mut outcome = match said.status {
            Status::Success => Outcome::empty(Status::Success),
            Status::ValidationFail => Outcome::refused(
                said.reason.clone().unwrap_or_else(|| "its worker does not accept it".into()),
            ),
            Status::Failure => Outcome::failed(said_failure(&said), violation),
        };
        outcome.reason = said.reason.or(outcome.reason);
        // A violation may count as an answer that is not accepted: what follows from a failure then does not.
        let as_said = outcome.status == said.status;
        let fits = |kind: &str| as_said || follows_from(kind).is_none();
        let events = said.events.into_iter().filter(|(kind, _)| fits(kind)).collect();
        Outcome {
            payload: said.payload,
            flags: said.flags,
            metadata: said.metadata,
            events,
            project: said.project,
            ..outcome
        }
    }

    /// Puts what was said below before what is said here.
    fn with_below(mut self, below: Vec<Outcome>) -> Outcome {
        let (flags, metadata, events) = (self.flags, self.metadata, self.events);
        (self.flags, self.metadata, self.events) = Default::default();
        for outcome in below {
            self.flags.extend(outcome.flags);
            self.metadata.extend(outcome.metadata);
            self.events.extend(outcome.events);
        }
        self.flags.extend(flags);
        self.metadata.extend(metadata);
        self.events.extend(events);
        self
    }
}

/// What a worker calls a failure: its class is what its code names; hard or soft is what it says, else what the class is.
/// A worker that only says that it failed has answered, and the answer is not what was asked for; a hard failure says that it
/// cannot work.
fn said_failure(said: &WorkerAnswer) -> Failure {
    let class = said.class();
    let hard = said.hard.unwrap_or(class.is_some_and(super::state::is_hard_class));
    let mut message = said.reason.clone().unwrap_or_else(|| "its worker failed".to_owned());
    if let Some(code) = said.code.as_deref().filter(|code| class.is_none() && !code.is_empty()) {
        message = format!("{message} ({code})");
    }
    let word = if hard { reason::HARD } else { reason::SOFT };
    let unnamed = if hard { Class::Fatal } else { Class::InvalidOutput };
    Failure::new(class.unwrap_or(unnamed), message).reason(word)
}

impl View<'_> {
    /// What a child of a phase came to, with everything below it.
    pub(super) fn progress_of(&self, task: TaskIx, phase: &Phase, child: TaskIx) -> TryProgress {
        match self.reply(task, phase, child) {
            Reply::Waits => TryProgress::Waits,
            Reply::Stopped => TryProgress::Stopped,
            Reply::Bad(outcome) => TryProgress::Ended(outcome),
            Reply::Answered(said) if said.children.is_empty() => {
                TryProgress::Ended(Box::new(Outcome::said(*said, self.violation(task))))
            }
            Reply::Answered(said) => self.handed_out(task, phase, child, said),
        }
    }

    /// What came of work that was handed out: all children must have succeeded, then it is put together.
    fn handed_out(&self, task: TaskIx, phase: &Phase, child: TaskIx, said: Box<WorkerAnswer>) -> TryProgress {
        let of_try = matches!(self.child_kind(child), Some(ChildKind::Try { .. }));
        let children = self.intents_of(task, child, said.children.len());
        if children.is_empty() {
            let questions = self.intents(child, &said);
            return if of_try {
                TryProgress::HandsOut(said, questions)
            } else {
                TryProgress::Asks(questions)
            };
        }
        let mut below = Vec::new();
        if !of_try {
            below.push(Outcome::said(*said, self.violation(task)));
        }
        match self.progress_of_all(task, phase, &children, &mut below) {
            Some(progress) => progress,
            None => self.put_together(task, phase, child, below),
        }
    }

    /// `None` where all of them succeeded.
    fn progress_of_all(
        &self,
        task: TaskIx,
        phase: &Phase,
        children: &[TaskIx],
        below: &mut Vec<Outcome>,
    ) -> Option<TryProgress> {
        let (mut waits, mut stopped, mut asks, mut failed) = (false, false, Vec::new(), Vec::new());
        for child in children {
            match self.progress_of(task, phase, *child) {
                TryProgress::Waits => waits = true,
                TryProgress::Stopped => stopped = true,
                TryProgress::HandsOut(_, questions) | TryProgress::Asks(questions) => asks.extend(questions),
                TryProgress::Ended(outcome) if outcome.status == Status::Success => below.push(*outcome),
                TryProgress::Ended(outcome) => failed.push((*child, outcome)),
            }
        }
        // The one that failed first is the cause, itself or below it.
        let order =
            |(child, outcome): &(TaskIx, Box<Outcome>)| self.tasks[outcome.by.unwrap_or(*child)].ended;
        if let Some((child, outcome)) = failed.into_iter().min_by_key(order) {
            return Some(TryProgress::Ended(Box::new(self.of_child(child, *outcome))));
        }
        match (stopped, asks.is_empty(), waits) {
            (true, _, _) => Some(TryProgress::Stopped),
            (_, false, _) => Some(TryProgress::Asks(asks)),
            (_, _, true) => Some(TryProgress::Waits),
            _ => None,
        }
    }

    fn put_together(&self, task: TaskIx, phase: &Phase, child: TaskIx, below: Vec<Outcome>) -> TryProgress {
        let Some(aggregate) = self.aggregate_of(task, child) else {
            let key = self.tasks[child].spec.as_ref().expect("a child of a phase is asked").key.clone();
            let about = ChildKind::Aggregate { of: self.tasks[child].id.clone() };
            return TryProgress::Asks(vec![ChildSpec::new(key, about)]);
        };
        match self.reply(task, phase, aggregate) {
            Reply::Waits => TryProgress::Waits,
            Reply::Stopped => TryProgress::Stopped,
            Reply::Bad(outcome) => TryProgress::Ended(outcome),
            Reply::Answered(said) => {
                TryProgress::Ended(Box::new(Outcome::said(*said, self.violation(task)).with_below(below)))
            }
        }
    }

    /// What one child answered itself, as far as it may.
    pub(super) fn reply(&self, task: TaskIx, phase: &Phase, child: TaskIx) -> Reply {
        match self.tasks[child].state {
            TaskState::Ended(End::Succeeded) => {}
            TaskState::Ended(End::Failed) => {
                let failure = self.tasks[child].failure.as_deref().cloned();
                let failure = failure.unwrap_or_else(|| Failure::new(Class::Fatal, "it failed"));
                return Reply::Bad(Box::new(Outcome::attempted(failure, self.violation(task))));
            }
            TaskState::Ended(End::Skipped | End::Cancelled) => return Reply::Stopped,
            _ => return Reply::Waits,
        }
        let mut answer = self.json_of(child);
        if let Kind::Script(_) = &self.node(child).kind {
            answer = printed(answer);
        }
        let said =
            read(&answer).and_then(|said| self.not_allowed(task, phase, child, &said).map_or(Ok(said), Err));
        match said {
            Ok(said) => Reply::Answered(Box::new(said)),
            Err(problem) => Reply::Bad(Box::new(Outcome::refused(problem))),
        }
    }
}

impl State {
    /// The failure of a child is that of the task that handed the work to it; what it said about the run does not count.
    fn of_child(&self, child: TaskIx, outcome: Outcome) -> Outcome {
        let who = match self.tasks[child].spec.as_deref() {
            Some(ChildSpec { key, kind: ChildKind::Intent { persona, .. }, .. }) => {
                format!("child {key} ({persona})")
            }
            _ => "child".to_owned(),
        };
        let why = format!("{who}: {}", outcome.reason.as_deref().unwrap_or("failed"));
        let failure = outcome.failure.map(|failure| Failure { message: why.clone(), ..failure });
        let by = outcome.by.or(Some(child));
        Outcome { payload: outcome.payload, reason: Some(why), failure, by, ..Outcome::empty(outcome.status) }
    }

    pub(crate) fn violation(&self, task: TaskIx) -> Violation {
        self.workflow_of(task).pipeline.as_ref().map(|pipeline| pipeline.violation).unwrap_or_default()
    }
}
