//! The project of a run: where its context is kept, and the engine's way to it.

use crate::console::Console;
use crate::failure::CommandFailure;
use convoke_engine::{Project, ProjectState, Projects};
use convoke_journal::{Error, Key, ProjectFile, Settled, Shared};
use convoke_model::{Class, Failure, JsonText, ProjectPatch, RunId};
use convoke_plan::{Plan, Workflow};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// Where it is kept if nothing else is said, below the folder of the project.
const USUAL: &str = ".convoke/project-context.json";

/// Where it is kept as far as the configuration says.
pub fn usual(console: &Console) -> PathBuf {
    console.config.project_context.clone().unwrap_or_else(|| USUAL.into())
}

/// What a run shares with others: one for each place that a pipeline of its plan names. A context that cannot be read
/// is found out before the run begins.
pub fn of_run(console: &Console, plan: &Plan, run: &RunId) -> Result<Vec<Project>, CommandFailure> {
    let places: BTreeSet<String> = plan.workflows.iter().filter_map(Workflow::project_place).collect();
    let mut stores: HashMap<PathBuf, Arc<Store>> = HashMap::new();
    places.into_iter().map(|place| at_place(console, place, run, &mut stores)).collect()
}

/// One store for each file, however many names it has.
fn at_place(
    console: &Console,
    place: String,
    run: &RunId,
    stores: &mut HashMap<PathBuf, Arc<Store>>,
) -> Result<Project, CommandFailure> {
    let path = if place.is_empty() { usual(console) } else { PathBuf::from(&place) };
    let file = ProjectFile::at(path);
    let real = file.place().to_owned();
    let store = stores.entry(real).or_insert_with(|| Arc::new(Store { file, run: run.clone() })).clone();
    let state = state(store.file.load()?);
    Ok(Project { place, store, state })
}

struct Store {
    file: ProjectFile,
    run: RunId,
}

impl Projects for Store {
    fn patch(&self, key: &str, patch: &JsonText, settled: &[String]) -> Result<ProjectState, Failure> {
        let patch: ProjectPatch = serde_json::from_str(patch.as_str()).map_err(|error| {
            let message = format!("a change of the project's context does not fit: {error}");
            Failure::new(Class::InvalidOutput, message)
        })?;
        let by = Key { run: &self.run.0, key, settled };
        self.file.patch(Some(by), &patch).map(state).map_err(|error| failure(&error))
    }

    fn settle(&self, settled: Option<&[String]>) -> Result<(), Failure> {
        let settled = settled.map_or(Settled::All, Settled::Some);
        self.file.settle(&self.run.0, settled).map_err(|error| failure(&error))
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
