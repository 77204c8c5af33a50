//! What can stop the engine itself. A failed run is not an error: it is an outcome.

use convoke_schedule::{IllegalEvent, NotReopened, NotRetried};

/// Why a run could not be driven.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal could not be read or written.
    #[error("the run's journal cannot be used")]
    Journal(#[from] convoke_journal::Error),
    /// The journal says something impossible.
    #[error("the run's journal does not fit its plan")]
    History(#[from] IllegalEvent),
    /// A run that has ended cannot be resumed.
    #[error("the run cannot be resumed")]
    Ended(#[from] NotReopened),
    /// A task gets no other try.
    #[error("there is no other try")]
    NotRetried(#[from] NotRetried),
    /// The system gives no more threads.
    #[error("no thread could be started")]
    Thread(#[source] std::io::Error),
    /// The workflow file is not the one that the run was started with.
    #[error("the workflow changed since the run was started")]
    PlanChanged {
        /// Finished tasks that would run again.
        affected: Vec<convoke_model::TaskId>,
    },
}
