//! A repository, seen from a folder in it.

use crate::error::Trouble;
use crate::git::{Git, Surroundings};
use std::path::{Path, PathBuf};

/// Where a repository is.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    /// The root of the checkout that the folder belongs to; the folder itself where the repository has none.
    pub top: PathBuf,
    /// The folder that its own files lie in, which all its worktrees share.
    pub common: PathBuf,
    /// The folder, from the root of its checkout.
    pub prefix: PathBuf,
}

impl Repository {
    pub fn of(surroundings: &Surroundings, folder: &Path) -> Result<Repository, Trouble> {
        let missing = || Trouble::NoRepository { folder: folder.display().to_string() };
        let folder = folder.canonicalize().map_err(|_| missing())?;
        let git = Git::new(surroundings, &folder);
        let asked =
            git.run(&["rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository"])?;
        if !asked.ok {
            return Err(missing());
        }
        let text = asked.text();
        let mut lines = text.lines();
        let common = PathBuf::from(lines.next().ok_or_else(missing)?);
        if lines.next() == Some("true") {
            return Ok(Repository { top: folder, common, prefix: PathBuf::new() });
        }
        let top = PathBuf::from(git.text(&["rev-parse", "--path-format=absolute", "--show-toplevel"])?);
        let prefix = folder.strip_prefix(&top).map(Path::to_path_buf).unwrap_or_default();
        Ok(Repository { top, common, prefix })
    }
}

/// The commit that a ref names.
pub(crate) fn commit(git: &Git<'_>, named: &str) -> Result<String, Trouble> {
    let missing = || Trouble::NoBase { base: named.to_owned(), repository: git.folder.display().to_string() };
    if named.starts_with('-') {
        return Err(missing());
    }
    let found = git.run(&["rev-parse", "--verify", "--quiet", &format!("{named}^{{commit}}")])?;
    if found.ok { Ok(found.text()) } else { Err(missing()) }
}

/// The commit of a branch, if there is such a branch.
pub(crate) fn tip(git: &Git<'_>, branch: &str) -> Result<Option<String>, Trouble> {
    let found = git.run(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}^{{commit}}")])?;
    Ok(found.ok.then(|| found.text()))
}

/// The branch that is checked out.
pub(crate) fn current_branch(git: &Git<'_>) -> Result<Option<String>, Trouble> {
    let found = git.run(&["symbolic-ref", "--quiet", "--short", "HEAD"])?;
    Ok(found.ok.then(|| found.text()))
}

/// Whether everything of one commit is in another.
pub(crate) fn is_within(git: &Git<'_>, commit: &str, other: &str) -> Result<bool, Trouble> {
    git.asks(&["merge-base", "--is-ancestor", commit, other])
}
