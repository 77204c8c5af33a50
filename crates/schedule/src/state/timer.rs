//! Moments that the scheduler waits for.
//!
//! Timers are derived from the state, never stored: a replay arms the same ones. A timer that is no longer wanted is
//! recognised when it fires and dropped.

use crate::state::{FrameIx, TaskIx};
use convoke_model::Timestamp;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// A wait or a back-off is over.
    Wake(TaskIx),
    /// A task's time is over.
    Deadline(TaskIx),
    /// The time in which a person may allow calls is over.
    Expiry(TaskIx),
    /// A composite waits no longer for what it needs.
    InputTimeout(TaskIx),
    /// A workflow's time is over.
    FrameDeadline(u32),
}

impl Alarm {
    pub fn frame(ix: FrameIx) -> Alarm {
        Alarm::FrameDeadline(ix.0)
    }
}

/// All timers, soonest first.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Timestamp, Alarm)>>);

impl Timers {
    pub fn arm(&mut self, at: Timestamp, alarm: Alarm) {
        self.0.push(Reverse((at, alarm)));
    }

    /// Moves some timers by a time.
    pub fn postpone(&mut self, by: Duration, moves: impl Fn(Alarm) -> bool) {
        if by.is_zero() {
            return;
        }
        let moved = |Reverse((at, alarm))| Reverse((if moves(alarm) { at + by } else { at }, alarm));
        self.0 = std::mem::take(&mut self.0).into_iter().map(moved).collect();
    }

    /// Drops some timers.
    pub fn forget(&mut self, drops: impl Fn(Alarm) -> bool) {
        self.0.retain(|Reverse((_, alarm))| !drops(*alarm));
    }

    /// When a timer fires.
    pub fn armed(&self, alarm: Alarm) -> Option<Timestamp> {
        self.0.iter().filter(|Reverse((_, known))| *known == alarm).map(|Reverse((at, _))| *at).min()
    }

    pub fn next(&self) -> Option<Timestamp> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next timer that is due.
    pub fn due(&mut self, now: Timestamp) -> Option<Alarm> {
        if self.next()? > now {
            return None;
        }
        self.0.pop().map(|Reverse((_, alarm))| alarm)
    }
}
