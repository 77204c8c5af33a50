//! Commands of a run that go on when its process dies: where they are recorded, and when that is forgotten.

use convoke_failpoint::failpoint;
use convoke_journal::{COMMANDS, StateDir};
use convoke_model::{RunId, RunStatus};
use std::path::PathBuf;

/// The folder in which commands of a run are recorded that outlive its process.
pub fn folder(state: &StateDir, run: &RunId) -> PathBuf {
    state.run_dir(run).join(COMMANDS)
}

/// Forgets the records of a run that has come to its end: everything that they say is in its journal.
pub fn forget(state: &StateDir, run: &RunId, status: RunStatus) {
    let folder = folder(state, run);
    if status.is_end() && folder.exists() {
        convoke_tools::end_alone(&folder);
        failpoint!("survivor.forget.before");
        let _ = std::fs::remove_dir_all(folder);
        failpoint!("survivor.forget.done");
    }
}
