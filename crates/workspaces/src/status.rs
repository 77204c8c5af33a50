//! What is in a worktree that no commit has.

use crate::error::Trouble;
use crate::git::Git;
use crate::repository::current_branch;
use std::path::PathBuf;

/// An operation of git that stands in its middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Under {
    Merge,
    Rebase,
}

/// The folder of a worktree's own files.
pub(crate) fn own_files(git: &Git<'_>) -> Result<PathBuf, Trouble> {
    git.text(&["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
}

/// The operation that stands in its middle, if one does.
pub(crate) fn under_way(git: &Git<'_>) -> Result<Option<Under>, Trouble> {
    let own = own_files(git)?;
    Ok(match () {
        () if own.join("rebase-merge").exists() || own.join("rebase-apply").exists() => Some(Under::Rebase),
        () if own.join("MERGE_HEAD").exists() => Some(Under::Merge),
        () => None,
    })
}

/// Why a worktree must stay, if it must.
pub(crate) fn worth_keeping(git: &Git<'_>, branch: &str) -> Result<Option<String>, Trouble> {
    if let Some(under) = under_way(git)? {
        let word = if under == Under::Merge { "merge" } else { "rebase" };
        return Ok(Some(format!("a {word} stands in its middle")));
    }
    if current_branch(git)?.as_deref() != Some(branch) {
        return Ok(Some("it is not on its branch any more".to_owned()));
    }
    let changed = git.must(&["status", "--porcelain=v1", "-z", "--untracked-files=normal"])?.parts().len();
    Ok((changed > 0).then(|| {
        let files = convoke_model::counted(changed, "file has", "files have");
        format!("{files} changes that are in no commit")
    }))
}
