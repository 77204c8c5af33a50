//! Deletes what is no run any more, or never became one: folders on their way out, drafts of exports and imports, and runs that
//! were killed while they were made.
//!
//! All of it has names or marks that no list shows, so deleting may stop anywhere and be gone on with later. Errors are dropped:
//! the next sweep tries again.

use crate::StateDir;
use crate::owner::claim;
use crate::state::is_being_made;
use convoke_model::RunId;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run on its way out; the dot keeps it out of lists.
pub(super) struct Leaving;

const LEAVING: &str = ".leaving-";

/// A draft of an export or an import.
pub(crate) const DRAFT: &str = ".draft-";

/// What a repair has kept of a run.
const DAMAGED: &str = ".damaged-";

/// A folder in the making is left alone for so long: its maker may not hold its lock yet.
const MAKING: Duration = Duration::from_secs(3_600);

impl Leaving {
    pub fn name(run: &RunId) -> String {
        format!("{LEAVING}{run}")
    }
}

/// Deletes the folder of one run that has left, and what repairs of it have kept.
pub(super) fn run(state: &StateDir, run: &RunId) {
    fs::remove_dir_all(state.runs_dir().join(Leaving::name(run))).ok();
    for kept in kept_by_repairs(state, run) {
        fs::remove_dir_all(kept).ok();
    }
}

/// Deletes everything that earlier prunes, exports, imports and starts have left.
pub(crate) fn everything(state: &StateDir) {
    for (name, path) in entries(&state.runs_dir()) {
        let leftover = name.starts_with(LEAVING)
            || name.starts_with(DRAFT) && is_free(&path)
            || !name.starts_with('.') && is_being_made(&path) && is_old(&path) && is_free(&path);
        if leftover {
            fs::remove_dir_all(&path).ok();
        }
    }
}

/// The folders that repairs of a run have kept.
pub(super) fn kept_by_repairs(state: &StateDir, run: &RunId) -> Vec<PathBuf> {
    let path = |number: u32| state.runs_dir().join(format!("{DAMAGED}{run}-{number}"));
    (1..).map(path).take_while(|path| path.exists()).collect()
}

/// What a folder needs on the disk.
pub(super) fn bytes_below(folder: &Path) -> u64 {
    let own = fs::symlink_metadata(folder).map_or(0, |meta| meta.blocks() * 512);
    own + entries(folder).map(|(_, path)| bytes_of(&path)).sum::<u64>()
}

fn bytes_of(path: &Path) -> u64 {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => bytes_below(path),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(folder).ok().into_iter().flatten().flatten();
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
}

/// Whether no process works on it.
fn is_free(folder: &Path) -> bool {
    matches!(claim(folder), Ok(Some(_)))
}

fn is_old(folder: &Path) -> bool {
    let changed = fs::metadata(folder).and_then(|meta| meta.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > MAKING))
}
