//! What the fold left to decide.
//!
//! Entries are hints: each is checked against the state when it is taken, so an entry that a later event made stale
//! (as happens all the time in a replay) is dropped without harm.

use crate::state::TaskIx;
use convoke_model::CauseKind;

/// One thing to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Todo {
    /// A task can start.
    Begin(TaskIx),
    /// A task ended: where does its branch go on?
    Follow(TaskIx),
    /// An attempt failed: again, or for good?
    Remedy(TaskIx),
    /// A group's members changed.
    Group(TaskIx),
    /// The engine died while an attempt ran.
    Lost(TaskIx),
    /// Nothing is left of an attempt that could say how it ended.
    Gone(TaskIx),
    /// A probe has said whether an effect happened, or that it cannot.
    Probed(TaskIx),
    /// A person answered.
    Answered(TaskIx),
    /// A task can no longer start.
    Skip(TaskIx, CauseKind, Option<TaskIx>),
    /// A suspended attempt asks a person.
    Ask(TaskIx),
    /// An output has arrived that a merge waits for, or its time to wait is over.
    Arrived(TaskIx),
    /// A join was decided, or the time to wait for it is over: those that lost may stop, for this reason.
    Losers(TaskIx, CauseKind),
    /// The parts of a task that must prove its work have ended, or its conditions were checked.
    Prove(TaskIx),
    /// A task has ended that has a workspace.
    LetGo(TaskIx),
}
