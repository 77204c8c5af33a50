//! The proofs of tasks, as the journal has them.

use convoke_model::Payload;

/// What is known of the proof of a task.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    /// What was there before its work began.
    pub baseline: Option<Payload>,
    /// Which check was the last.
    pub check: Box<str>,
    /// Whether everything held then.
    pub held: bool,
    /// What it found.
    pub findings: Option<Payload>,
}
