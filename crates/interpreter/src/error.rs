//! Why there is no interpreter. A program that fails is no error: see [`crate::Failed`].

use crate::cause::Cause;
use crate::sandbox::Sandbox;
use convoke_model::{Class, Failure};

/// Why there is no interpreter, or not this one any more.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The worker could not be started.
    #[error("interpreter worker: cannot be started: {0}")]
    Start(#[source] std::io::Error),
    /// The worker cannot be confined here, and so runs nothing.
    #[error("interpreter worker: cannot be confined: {}", .0.missing.join("; "))]
    Sandbox(Sandbox),
    /// The worker has ended; a new one is needed.
    #[error("interpreter worker: has ended")]
    Gone,
    /// The worker does not wait for the answer to this call.
    #[error("interpreter worker: call {0} is not waiting for an answer")]
    NotWaiting(u64),
    /// The saved state is of another build, or damaged. Replay still works.
    #[error("saved program: cannot be read: {0}")]
    Unusable(String),
    /// A replayed program did something else than the recorded one.
    #[error("replay of program {turn}: call {call} was to be {expected}, and is {found}")]
    Diverged {
        /// Which program, from 1.
        turn: usize,
        /// Which call of it, from 1.
        call: u64,
        /// What was recorded.
        expected: String,
        /// What happened.
        found: String,
    },
    /// The worker said something that makes no sense, and was ended.
    #[error("interpreter worker: {0}")]
    Nonsense(String),
    /// A host function failed in a way that the program must not see.
    #[error("{0}")]
    Host(Failure),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let message = error.to_string();
        match error {
            Error::Start(_) => Failure::new(Class::Fatal, message).reason("interpreter_start"),
            Error::Sandbox(_) => Failure::new(Class::Fatal, message)
                .reason(Cause::SandboxFatal.word())
                .hint("programs of models run only where seccomp is available (Linux, not forbidden by a container)"),
            Error::Gone | Error::NotWaiting(_) => Failure::new(Class::Fatal, message).reason("interpreter_gone"),
            Error::Unusable(_) => Failure::new(Class::Fatal, message)
                .reason("state_unusable")
                .hint("replay the program with its recorded answers"),
            Error::Diverged { .. } => Failure::new(Class::Fatal, message).reason("replay_diverged"),
            Error::Nonsense(_) => Failure::new(Class::Transient, message).reason("interpreter_nonsense"),
            Error::Host(failure) => failure,
        }
    }
}
