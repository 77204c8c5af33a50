//! The project of a run: where its context is kept, and the engine's way to it.

use crate::console::Console;
use crate::failure::CommandFailure;
use convoke_engine::{Project, ProjectState, Projects};
use convoke_journal::{Error, Key, ProjectFile, Shared};
use convoke_model::{Class, Failure, JsonText, ProjectPatch, RunId};
use convoke_plan::{Plan, ProjectPlace};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where it is kept if nothing else is said, below the folder of the project.
const USUAL: &str = ".convoke/project-context.json";

/// Where it is kept as far as the configuration says.
pub fn usual(console: &Console) -> PathBuf {
    console.config.project_context.clone().unwrap_or_else(|| USUAL.into())
}

/// Where a run of a plan finds what it shares: as its first pipeline says; nowhere where it has none.
pub fn place(console: &Console, plan: &Plan) -> Option<PathBuf> {
    let pipelines =
        plan.workflows.iter().filter_map(|workflow| Some((workflow, workflow.pipeline.as_ref()?)));
    let (workflow, pipeline) = pipelines.into_iter().next()?;
    match &pipeline.project {
        ProjectPlace::Usual => Some(usual(console)),
        ProjectPlace::At(path) => Some(Path::new(&workflow.dir).join(path)),
        ProjectPlace::Nowhere => None,
    }
}

/// What a run shares with others; a context that cannot be read is found out before the run begins.
pub fn of_run(place: PathBuf, run: &RunId) -> Result<Project, CommandFailure> {
    let store = Store { file: ProjectFile::at(place), run: run.clone() };
    let state = state(store.file.load()?);
    Ok(Project { store: Arc::new(store), state })
}

struct Store {
    file: ProjectFile,
    run: RunId,
}

impl Projects for Store {
    fn patch(&self, key: &str, patch: &JsonText) -> Result<ProjectState, Failure> {
        let patch: ProjectPatch = serde_json::from_str(patch.as_str()).map_err(|error| {
            let message = format!("a change of the project's context does not fit: {error}");
            Failure::new(Class::InvalidOutput, message)
        })?;
        let by = Key { run: &self.run.0, key };
        self.file.patch(Some(by), &patch).map(state).map_err(|error| failure(&error))
    }
}

fn state(shared: Shared) -> ProjectState {
    ProjectState { revision: shared.revision, context: JsonText::of(&shared.context) }
}

fn failure(error: &Error) -> Failure {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let failure = Failure::new(Class::Fatal, format!("{error}{cause}"));
    failure.hint("`convoke project` shows what the runs of the project share and where it is kept")
}
