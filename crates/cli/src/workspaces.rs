//! Workspaces of runs: where they lie, and what of them is looked after when a run begins and ends.

use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_agent::Executor;
use convoke_engine::Outcome;
use convoke_journal::{StateDir, live_owner};
use convoke_model::{RunId, WorktreeCall};
use convoke_plan::{Node, Plan};
use convoke_workspaces::{Cleaned, FORECAST_PERIOD, Leases, Surroundings, WorkspaceExecutor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where they lie, below the state directory.
const FOLDER: &str = "workspaces";

/// The workspaces of a run; of none where only those of others are looked at.
pub fn leases(state: &StateDir, run: &str) -> Leases {
    Leases::new(folder(state), run, Surroundings::of(std::env::vars_os()))
}

fn folder(state: &StateDir) -> PathBuf {
    let path = state.path();
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).join(FOLDER)
}

/// The workspaces of a run that is about to be driven, and an executor that uses them.
pub fn over(executor: Arc<dyn Executor>, state: &StateDir, run: &RunId) -> (Arc<Leases>, Arc<dyn Executor>) {
    let leases = Arc::new(leases(state, &run.0));
    let executor = WorkspaceExecutor::over(executor, leases.clone(), FORECAST_PERIOD);
    (leases, Arc::new(executor))
}

/// Lets go of what runs have left behind that no process drives.
pub fn clean_up(console: &Console, state: &StateDir, run: &RunId, leases: &Leases) {
    if folder(state).is_dir() {
        tell(console, &leases.clean(|other| other == &*run.0 || is_driven(state, other)));
    }
}

/// Whether a process drives a run. One that cannot be looked at is left alone.
pub fn is_driven(state: &StateDir, run: &str) -> bool {
    let run = RunId(run.into());
    !matches!(live_owner(state, &run), Ok(None))
}

/// Lets go of what a run has left that has ended: nothing of it is in the journal, so nothing has come of it.
pub fn end(console: &Console, state: &StateDir, leases: &Leases, outcome: &Outcome) {
    if outcome.status.is_end() && folder(state).is_dir() {
        tell(console, &leases.end());
    }
}

fn tell(console: &Console, cleaned: &Cleaned) {
    for (record, trouble) in &cleaned.troubles {
        console.warn(&format!(
            "the workspace of `{}` of run {} could not be let go of: {trouble}",
            record.task, record.run
        ));
    }
}

/// Refuses a plan whose worktrees cannot be had: there is no repository, or no such ref.
pub fn require(console: &Console, plan: &Plan) -> Result<(), CommandFailure> {
    let leases = leases(&stored::for_reading(console), "");
    let folder = stored::folder();
    let nodes = plan.workflows.iter().flat_map(|workflow| &workflow.nodes);
    let worktrees = nodes.filter_map(|node| Some((node, node.workspace.as_ref()?.worktree.as_ref()?)));
    let mut known: Vec<&WorktreeCall> = Vec::new();
    for (node, worktree) in worktrees {
        if known.contains(&worktree) {
            continue;
        }
        known.push(worktree);
        judge(&leases, Path::new(&folder), node, worktree)?;
    }
    Ok(())
}

fn judge(leases: &Leases, folder: &Path, node: &Node, worktree: &WorktreeCall) -> Result<(), CommandFailure> {
    leases.judge(folder, worktree).map_err(|trouble| {
        let failure = trouble.failure();
        let words = format!("step `{}` cannot have its worktree: {}", node.step_name(), failure.message);
        failure.hint.into_iter().fold(CommandFailure::new(Exit::Refused, words), CommandFailure::hint)
    })
}
