//! What the runs of a simulated project share.

use convoke_engine::ProjectState;
use convoke_model::{Class, Failure, JsonText, ProjectContext, ProjectPatch};
use std::sync::{Arc, Mutex};

/// The context of a project, in memory. Copies are handles to the same one, as processes have of a file.
#[derive(Debug, Clone, Default)]
pub struct Project(Arc<Mutex<Shared>>);

#[derive(Debug, Default)]
struct Shared {
    context: ProjectContext,
    /// Changes that were made, with their keys.
    made: Vec<(String, ProjectPatch)>,
    broken: bool,
}

impl Project {
    /// The context as it is now.
    pub fn state(&self) -> ProjectState {
        let shared = self.0.lock().expect("one thread");
        ProjectState { revision: shared.made.len() as u64, context: JsonText::of(&shared.context) }
    }

    /// Makes a change, once.
    pub fn patch(&self, key: &str, patch: &JsonText) -> Result<ProjectState, Failure> {
        let mut shared = self.0.lock().expect("one thread");
        if shared.broken {
            return Err(Failure::new(Class::Fatal, "the project cannot be written"));
        }
        if !shared.made.iter().any(|(made, _)| made == key) {
            let patch: ProjectPatch =
                serde_json::from_str(patch.as_str()).expect("checked before it is made");
            shared.context.apply(&patch);
            shared.made.push((key.to_owned(), patch));
        }
        drop(shared);
        Ok(self.state())
    }

    /// Another project, as this one was after so many changes.
    pub fn after(&self, changes: usize) -> Project {
        let mut then = Shared::default();
        for (key, patch) in self.0.lock().expect("one thread").made.iter().take(changes) {
            then.context.apply(patch);
            then.made.push((key.clone(), patch.clone()));
        }
        Project(Arc::new(Mutex::new(then)))
    }

    /// From now on nothing can be written, or again.
    pub fn break_down(&self, broken: bool) {
        self.0.lock().expect("one thread").broken = broken;
    }
}
