//! The exit codes, in one place. They are part of the interface: scripts branch on them.

use std::process::ExitCode;

/// How the command ends, as its caller sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything asked for was done.
    Success = 0,
    /// The run failed, ended in part, or skipped everything; a check of a journal found damage.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// The workflow or its inputs are refused.
    Refused = 3,
    /// A limit of the workflow was reached.
    Limit = 4,
    /// The run waits for a person.
    Waiting = 5,
    /// Another process owns the run.
    Owned = 6,
    /// An answer is refused: the question has one.
    Answered = 20,
    /// An answer is refused: the time to answer is over.
    TooLate = 21,
    /// An answer is refused: the question has ended without one.
    Over = 22,
    /// An answer is refused: the question is not the one that was shown.
    Stale = 23,
    /// The command is refused because a step of a run gave it.
    Inside = 24,
    /// The state directory cannot be written.
    State = 74,
    /// Interrupted by Ctrl-C, or by `convoke stop`.
    Interrupted = 130,
    /// Interrupted by SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
