//! The workspaces of tasks, as the journal has them.

use crate::state::TaskIx;
use convoke_model::{Payload, Usage};

/// The workspace of a task.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// It stands, and belongs to the task.
    pub leased: bool,
    /// The work in it is done.
    pub sealed: Option<SealedWork>,
}

/// Work that is done, and how far its way back has come.
#[derive(Debug)]
pub(crate) struct SealedWork {
    /// The task whose attempt did it.
    pub by: TaskIx,
    /// What that gave.
    pub output: Payload,
    /// What it used, as far as no end of an attempt has counted it.
    pub usage: Usage,
    /// How often conflicts were shown.
    pub rounds: u32,
    /// It is back.
    pub settled: bool,
}
