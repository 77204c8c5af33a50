//! The proofs of tasks, as the journal has them.

use convoke_model::Payload;

/// What is known of the proof of a task.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// What its parts came to, which waits for a check.
    pub due: Option<Payload>,
    /// How many checks were made.
    pub checks: u32,
    /// What was there before its work began.
    pub baseline: Option<Payload>,
    /// Which check was the last.
    pub check: Box<str>,
    /// Whether everything held then.
    pub held: bool,
    /// What it found.
    pub findings: Option<Payload>,
}
