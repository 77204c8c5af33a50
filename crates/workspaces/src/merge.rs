//! The way back: the branch of a worktree onto its target, and the target forward to it.
//!
//! Every step looks first at how things stand, so that a way back which was cut off goes on where it stood, and one that was over is
//! seen to be: the target has the branch. The target moves by compare-and-swap, and where it is checked out only with a clean
//! checkout.

use crate::conflict::{Conflict, conflict, has_marks, unmerged};
use crate::error::Trouble;
use crate::git::{Git, Surroundings};
use crate::record::TreeRecord;
use crate::repository::{commit, current_branch, is_within, tip};
use crate::status::{Under, under_way};
use convoke_failpoint::failpoint;
use convoke_model::MergeMode;
use std::fs;
use std::path::{Path, PathBuf};

/// How often work is put on top of a target that has moved meanwhile.
const TRIES: u32 = 30;

/// How one try at the way back ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The target has it, at this commit.
    Done {
        /// The commit.
        commit: String,
    },
    /// These files contradict each other.
    Conflict {
        /// The files.
        paths: Vec<String>,
        /// What both sides have there.
        shown: String,
    },
}

/// Commits everything in a worktree that no commit has. Gives the branch's last commit.
pub(crate) fn commit_all(git: &Git<'_>, tree: &TreeRecord, message: &str) -> Result<String, Trouble> {
    if under_way(git)?.is_none() {
        stay_on_branch(git, tree)?;
        git.must(&["add", "--all"])?;
        if !git.asks(&["diff", "--cached", "--quiet"])? {
            git.must(&["commit", "--quiet", "--no-verify", "-m", message])?;
        }
    }
    commit(git, "HEAD")
}

/// Brings the branch back as far as that goes. `resolved`: the conflict that it stood at has been worked on.
pub(crate) fn bring_back(
    surroundings: &Surroundings,
    tree: &TreeRecord,
    mode: MergeMode,
    mut resolved: bool,
) -> Result<Merged, Trouble> {
    let git = Git::new(surroundings, &tree.path).sparse(tree.sparse);
    let into = tree.into.as_deref().expect("a branch that comes back has a target");
    for _ in 0..TRIES {
        if let Some(Conflict { paths, shown }) = finish_what_is_under_way(&git, tree, resolved)? {
            return Ok(Merged::Conflict { paths, shown });
        }
        resolved = false;
        stay_on_branch(&git, tree)?;
        let target = tip(&git, into)?.ok_or_else(|| no_target(&git, into))?;
        let head = commit(&git, "HEAD")?;
        if is_within(&git, &head, &target)? {
            return Ok(Merged::Done { commit: target });
        }
        if !is_within(&git, &target, &head)? {
            put_on_top(&git, tree, mode, into, &target)?;
            failpoint!("workspaces.merge.on_top");
            continue;
        }
        if advance(surroundings, &git, into, &target, &head)? {
            failpoint!("workspaces.merge.advanced");
            return Ok(Merged::Done { commit: head });
        }
    }
    Err(Trouble::Outrun { into: into.to_owned() })
}

fn no_target(git: &Git<'_>, into: &str) -> Trouble {
    Trouble::NoTarget { into: into.to_owned(), repository: git.folder.display().to_string() }
}

fn stay_on_branch(git: &Git<'_>, tree: &TreeRecord) -> Result<(), Trouble> {
    if current_branch(git)?.as_deref() == Some(tree.branch.as_str()) {
        return Ok(());
    }
    Err(Trouble::OffBranch { path: tree.path.display().to_string(), branch: tree.branch.clone() })
}

/// Gets what the target has into the branch. A conflict leaves the operation in its middle.
fn put_on_top(
    git: &Git<'_>,
    tree: &TreeRecord,
    mode: MergeMode,
    into: &str,
    target: &str,
) -> Result<(), Trouble> {
    let message = format!("Merge {into} into {}", tree.branch);
    let args: &[&str] = match mode {
        MergeMode::Rebase => &["rebase", "--quiet", "--no-verify", target],
        _ => &["merge", "--quiet", "--no-verify", "--no-edit", "-m", &message, target],
    };
    let ran = git.run(args)?;
    if ran.ok || under_way(git)?.is_some() {
        return Ok(());
    }
    Err(Trouble::Git { command: args[0].to_owned(), said: ran.said.trim().chars().take(600).collect() })
}

/// Goes on with a merge or a rebase that stands in its middle, to its end or to the conflict that it stands at.
fn finish_what_is_under_way(
    git: &Git<'_>,
    tree: &TreeRecord,
    mut resolved: bool,
) -> Result<Option<Conflict>, Trouble> {
    // Each commit of the branch can stop a rebase once.
    for _ in 0..10_000 {
        let Some(under) = under_way(git)? else { return Ok(None) };
        let open = unmerged(git)?;
        let marked = open.iter().any(|path| has_marks(&tree.path, path));
        if !open.is_empty() && (!resolved || marked) {
            return conflict(git).map(Some);
        }
        resolved = false;
        git.must(&["add", "--all"])?;
        failpoint!("workspaces.merge.resolved");
        let ran = match under {
            Under::Merge => git.run(&["commit", "--quiet", "--no-verify", "--no-edit"])?,
            Under::Rebase if git.asks(&["diff", "--cached", "--quiet", "HEAD"])? => {
                git.run(&["rebase", "--skip"])?
            }
            Under::Rebase => git.run(&["rebase", "--continue"])?,
        };
        // A git that was killed in its middle left what none can go on from: it is begun anew.
        if !ran.ok && unmerged(git)?.is_empty() {
            let word = if under == Under::Merge { "merge" } else { "rebase" };
            git.must(&[word, "--abort"])?;
            return Ok(None);
        }
    }
    Ok(None)
}

/// Moves the target from one commit to another that has it; false if it is not there any more.
fn advance(
    surroundings: &Surroundings,
    git: &Git<'_>,
    into: &str,
    from: &str,
    to: &str,
) -> Result<bool, Trouble> {
    let at = |checkout: &Path| (into.to_owned(), checkout.display().to_string());
    if let Some(checkout) = in_use(git, into)? {
        let (into, checkout) = at(&checkout);
        return Err(Trouble::BusyCheckout { into, checkout });
    }
    let Some(checkout) = checkout_of(git, into)? else {
        let name = format!("refs/heads/{into}");
        let ran = git.run(&["update-ref", "-m", "convoke: work came back", &name, to, from])?;
        return match ran.ok {
            true => Ok(true),
            false if tip(git, into)?.as_deref() != Some(from) => Ok(false),
            false => Err(Trouble::Git { command: "update-ref".to_owned(), said: ran.said }),
        };
    };
    let there = Git::new(surroundings, &checkout);
    let changed = there.must(&["status", "--porcelain=v1", "-z", "--untracked-files=no"])?.parts();
    if !changed.is_empty() || under_way(&there)?.is_some() {
        let (into, checkout) = at(&checkout);
        return Err(Trouble::DirtyCheckout { into, checkout });
    }
    let ran = there.run(&["merge", "--quiet", "--ff-only", to])?;
    match tip(git, into)? {
        Some(tip) if tip == to => Ok(true),
        Some(tip) if tip != from => Ok(false),
        // A file that git does not know stands where one of the branch would.
        _ if !ran.ok => {
            let (into, checkout) = at(&checkout);
            Err(Trouble::DirtyCheckout { into, checkout })
        }
        _ => Ok(false),
    }
}

/// The checkout of a branch, if it has one.
fn checkout_of(git: &Git<'_>, branch: &str) -> Result<Option<PathBuf>, Trouble> {
    let wanted = format!("branch refs/heads/{branch}");
    let mut folder = None;
    for line in git.must(&["worktree", "list", "--porcelain", "-z"])?.parts() {
        if let Some(path) = line.strip_prefix("worktree ") {
            folder = Some(PathBuf::from(path));
        } else if line == wanted {
            return Ok(folder);
        }
    }
    Ok(None)
}

/// The files of a checkout that is in the middle of rebasing the branch: it would overwrite what the branch gets meanwhile.
fn in_use(git: &Git<'_>, branch: &str) -> Result<Option<PathBuf>, Trouble> {
    let common = PathBuf::from(git.text(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
    let others =
        fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().map(|entry| entry.path());
    let wanted = format!("refs/heads/{branch}");
    let rebases = |own: &PathBuf| {
        ["rebase-merge/head-name", "rebase-apply/head-name"]
            .iter()
            .any(|file| fs::read_to_string(own.join(file)).is_ok_and(|name| name.trim() == wanted))
    };
    Ok([common.clone()].into_iter().chain(others).find(rebases))
}
