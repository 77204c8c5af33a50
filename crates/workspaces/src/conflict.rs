//! A conflict, as it is shown to the one that resolves it.

use crate::error::Trouble;
use crate::git::Git;
use std::fs;
use std::path::Path;

/// Characters of the comparison that are shown.
const SHOWN: usize = 12_000;

/// Files that two sides have changed in ways that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub paths: Vec<String>,
    /// What both sides have there.
    pub shown: String,
}

/// The conflict that a merge or a rebase stands at.
pub(crate) fn conflict(git: &Git<'_>) -> Result<Conflict, Trouble> {
    let paths = unmerged(git)?;
    let shown = git.must(&["diff", "--no-ext-diff", "--no-textconv", "--no-color"])?.text();
    let shown = match shown.char_indices().nth(SHOWN) {
        Some((end, _)) => {
            format!("{}\n[{} more characters are in the files]", &shown[..end], shown.len() - end)
        }
        None => shown,
    };
    Ok(Conflict { paths, shown })
}

/// The files that are not settled in the index.
pub(crate) fn unmerged(git: &Git<'_>) -> Result<Vec<String>, Trouble> {
    Ok(git.must(&["diff", "--name-only", "--diff-filter=U", "-z"])?.parts())
}

/// Whether a file has a line that git marks conflicts with.
pub(crate) fn has_marks(folder: &Path, path: &str) -> bool {
    let Ok(bytes) = fs::read(folder.join(path)) else { return false };
    bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> "))
}

/// What a model is asked.
pub(crate) fn prompt(conflict: &Conflict, folder: &str, into: &str, task: Option<&str>) -> String {
    let of =
        task.map(|task| format!("The work was asked for in these words:\n\n{task}\n\n")).unwrap_or_default();
    let files: String = conflict.paths.iter().map(|path| format!("- {path}\n")).collect();
    format!(
        "Finished work is being brought back into the branch `{into}`, and contradicts what that branch got meanwhile. \
         Resolve the conflicts in the folder {folder}: edit each of the files below so that what both sides meant holds, \
         and leave none of the lines that begin with <<<<<<<, ======= or >>>>>>>. Change nothing else. Commit nothing: \
         that is done for you.\n\n{of}Files:\n{files}\nBoth sides:\n\n{}\n",
        conflict.shown
    )
}
