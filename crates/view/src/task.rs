//! One task as the view knows it.

use convoke_model::{Timestamp, Usage};
use std::time::Duration;

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// What it is doing.
    pub phase: Phase,
    /// When it was first seen to do something.
    pub started: Timestamp,
    /// Attempts so far.
    pub attempts: u32,
    /// What its attempts used.
    pub usage: Usage,
    /// Whether it is a question that a step asks on its way, or stands below one; then it is no step.
    pub aside: bool,
    /// Where it stands among the running or waiting ones.
    pub order: u64,
}

/// What a task is doing.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// An attempt runs since then.
    Running(Timestamp),
    /// Tasks inside it run.
    Holding(Members),
    /// It waits.
    Waiting(Wait),
    /// It has ended.
    Ended {
        /// How.
        end: End,
        /// How long it took, from its first start.
        took: Duration,
    },
}

/// What is known about the tasks inside a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Members {
    /// How many there will be, where that is known.
    pub total: Option<u32>,
    /// How many were seen.
    pub seen: u32,
    /// How many have ended.
    pub ended: u32,
    /// How many of an announced number are still to be seen.
    pub announced: u32,
    /// How many of them are steps of their own, as the tasks of a goal are.
    pub steps: u32,
}

impl Members {
    /// With these steps and other children besides. Where there are steps, only they are counted: the others make them.
    pub(crate) fn with_children(mut self, steps: u32, others: u32) -> Members {
        if self.steps == 0 && steps > 0 {
            self = Members { total: Some(0), announced: self.announced, ..Members::default() };
        }
        self.steps += steps;
        let more = if self.steps > 0 { steps } else { others };
        Members { total: Some(self.total.unwrap_or(0) + more), ..self }
    }

    /// One of them is seen; whether it was announced.
    pub(crate) fn see(&mut self, aside: bool) -> bool {
        self.seen += u32::from(self.counts(aside));
        let announced = !aside && self.announced > 0;
        self.announced -= u32::from(announced);
        announced
    }

    /// One of them has ended.
    pub(crate) fn end(&mut self, aside: bool) {
        self.ended += u32::from(self.counts(aside));
    }

    fn counts(self, aside: bool) -> bool {
        self.steps == 0 || !aside
    }
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// A person, to answer the question of this number once it is open.
    Person(u32),
    /// Capacity, by name.
    Capacity(String),
    /// Its next attempt.
    Retry(Timestamp),
    /// A moment.
    Until(Timestamp),
    /// Tasks that it spawned.
    Children,
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Well.
    Succeeded,
    /// Badly.
    Failed,
    /// It did not run.
    Skipped,
    /// It was stopped.
    Cancelled,
}

impl Task {
    /// A task that has just been seen.
    pub(crate) fn new(at: Timestamp, aside: bool) -> Task {
        let phase = Phase::Holding(Members::default());
        Task { phase, started: at, attempts: 0, usage: Usage::default(), aside, order: 0 }
    }

    /// How it ended, if it has and is a step.
    pub(crate) fn counted(&self) -> Option<End> {
        self.end().filter(|_| !self.aside)
    }

    /// How it ended, if it has.
    pub fn end(&self) -> Option<End> {
        match self.phase {
            Phase::Ended { end, .. } => Some(end),
            _ => None,
        }
    }

    /// Whether it has ended.
    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }
}
