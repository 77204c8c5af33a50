//! What the runs of one project share, as the engine sees it.

use convoke_model::{Failure, JsonText};
use std::sync::Arc;

/// The context of a project, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectState {
    /// Which state of it; every patch makes the next one.
    pub revision: u64,
    /// The whole of it, as JSON.
    pub context: JsonText,
}

/// What a run shares with others in one place.
#[derive(Clone)]
pub struct Project {
    /// The name of the place, as the plan's workflows have it.
    pub place: String,
    /// Where its context is kept.
    pub store: Arc<dyn Projects>,
    /// The context as it is when the run begins or goes on.
    pub state: ProjectState,
}

/// Where the context of a project is kept. Calls may wait for other processes; they are made on threads that may.
pub trait Projects: Send + Sync {
    /// Takes a patch in, once: `key` names it, and a repeat changes nothing. Durable on return. What is settled stands in the
    /// journal of the run and is not asked for again.
    fn patch(&self, key: &str, patch: &JsonText, settled: &[String]) -> Result<ProjectState, Failure>;

    /// Forgets keys that are not asked for again; all of them where none are named.
    fn settle(&self, settled: Option<&[String]>) -> Result<(), Failure>;
}
