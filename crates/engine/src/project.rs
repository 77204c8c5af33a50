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
    /// Where its context is kept; one and the same for all names of a place.
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

/// The names of each place that has several.
pub(crate) fn same_places(projects: &[Project]) -> Vec<Vec<String>> {
    let mut places: Vec<(&Arc<dyn Projects>, Vec<String>)> = Vec::new();
    for Project { place, store, .. } in projects {
        match places.iter_mut().find(|(known, _)| Arc::ptr_eq(known, store)) {
            Some((_, names)) => names.push(place.clone()),
            None => places.push((store, vec![place.clone()])),
        }
    }
    places.into_iter().map(|(_, names)| names).filter(|names| names.len() > 1).collect()
}
