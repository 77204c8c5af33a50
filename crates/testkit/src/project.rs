//! What the runs of a simulated project share.

use convoke_engine::ProjectState;
use convoke_model::{Class, Failure, JsonText, ProjectContext, ProjectPatch};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The context of a project, in memory. Copies are handles to the same one, as processes have of a file.
#[derive(Debug, Clone, Default)]
pub struct Project(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    context: ProjectContext,
    revision: u64,
    /// Changes that were made, by key.
    made: BTreeSet<String>,
    broken: bool,
}

impl Project {
    /// The context as it is now.
    pub fn state(&self) -> ProjectState {
        let shared = self.0.lock().expect("one thread");
        ProjectState { revision: shared.revision, context: JsonText::of(&shared.context) }
    }

    /// Makes a change, once.
    pub fn patch(&self, key: &str, patch: &JsonText) -> Result<ProjectState, Failure> {
        let mut shared = self.0.lock().expect("one thread");
        if shared.broken {
            return Err(Failure::new(Class::Fatal, "the project cannot be written").reason("project"));
        }
        if shared.made.insert(key.to_owned()) {
            let patch: ProjectPatch = serde_json::from_str(patch.as_str()).expect("checked before it is made");
            shared.context.apply(&patch);
            shared.revision += 1;
        }
        drop(shared);
        Ok(self.state())
    }

    /// From now on nothing can be written, or again.
    pub fn break_down(&self, broken: bool) {
        self.0.lock().expect("one thread").broken = broken;
    }
}
