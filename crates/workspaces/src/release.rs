//! Letting go of a worktree: what is of value stays and is named, everything else goes.

use crate::error::Trouble;
use crate::git::{Git, Surroundings};
use crate::record::{Record, Records, Standing, TreeRecord};
use crate::repository::{is_within, tip};
use crate::status::worth_keeping;
use crate::worktree::{stands, take_over};
use convoke_failpoint::failpoint;
use convoke_model::WorkspaceRemains;
use std::fs;
use std::time::Duration;

/// How often a folder is removed that another process still writes to, and how long that is waited for.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Lets go of what a record stands for; `None` if nothing stays. A call that was cut off is finished by the next one.
pub(crate) fn release(
    surroundings: &Surroundings,
    records: &Records,
    mut record: Record,
) -> Result<Option<WorkspaceRemains>, Trouble> {
    let Some(tree) = record.tree.clone() else {
        records.remove(&record)?;
        return Ok(None);
    };
    match record.standing {
        // No task has worked in it, or it was looked at already.
        Standing::Making | Standing::Removing => remove(surroundings, &tree, Force::Yes)?,
        Standing::Ready | Standing::Kept if !tree.path.exists() => remove(surroundings, &tree, Force::Yes)?,
        Standing::Ready | Standing::Kept if !stands(surroundings, &tree) => {
            let why = "it is no worktree of its repository any more".to_owned();
            return keep(records, record, Some(&tree), why).map(Some);
        }
        Standing::Ready | Standing::Kept => {
            take_over(surroundings, &tree)?;
            let git = Git::new(surroundings, &tree.path).sparse(tree.sparse);
            if let Some(why) = worth_keeping(&git, &tree.branch)? {
                return keep(records, record, Some(&tree), why).map(Some);
            }
            record.standing = Standing::Removing;
            records.write(&record)?;
            failpoint!("workspaces.release.removing");
            if let Err(refused) = remove(surroundings, &tree, Force::No) {
                return keep(records, record, Some(&tree), refused.to_string()).map(Some);
            }
            failpoint!("workspaces.release.removed");
        }
    }
    let git = Git::new(surroundings, &tree.common);
    let Some(tip) = tip(&git, &tree.branch)? else {
        records.remove(&record)?;
        return Ok(None);
    };
    if has_work(&git, &tree, &tip)? {
        let why = "its commits are in no other branch".to_owned();
        return keep(records, record, None, why).map(Some);
    }
    git.must(&["update-ref", "-d", &format!("refs/heads/{}", tree.branch), &tip])?;
    failpoint!("workspaces.release.branch_deleted");
    records.remove(&record)?;
    Ok(None)
}

/// Removes a lease with everything that is in it.
pub(crate) fn discard(
    surroundings: &Surroundings,
    records: &Records,
    record: &Record,
) -> Result<(), Trouble> {
    if let Some(tree) = &record.tree {
        remove(surroundings, tree, Force::Yes)?;
        let git = Git::new(surroundings, &tree.common);
        if tip(&git, &tree.branch)?.is_some() {
            git.must(&["update-ref", "-d", &format!("refs/heads/{}", tree.branch)])?;
        }
    }
    records.remove(record)
}

/// Removes what is left of a worktree that is half made or half removed. Its branch stays.
pub(crate) fn clear(surroundings: &Surroundings, tree: &TreeRecord) -> Result<(), Trouble> {
    remove(surroundings, tree, Force::Yes)
}

/// Whether the branch has commits that neither its base nor its target has.
fn has_work(git: &Git<'_>, tree: &TreeRecord, tip: &str) -> Result<bool, Trouble> {
    if is_within(git, tip, &tree.base)? {
        return Ok(false);
    }
    match &tree.into {
        Some(into) => match crate::repository::tip(git, into)? {
            Some(target) => Ok(!is_within(git, tip, &target)?),
            None => Ok(true),
        },
        None => Ok(true),
    }
}

fn keep(
    records: &Records,
    record: Record,
    tree: Option<&TreeRecord>,
    why: String,
) -> Result<WorkspaceRemains, Trouble> {
    let branch = record.tree.as_ref().map(|tree| tree.branch.clone()).unwrap_or_default();
    let path = tree.map(|tree| tree.path.display().to_string());
    records.write(&Record { standing: Standing::Kept, ports: None, why: why.clone(), ..record })?;
    Ok(WorkspaceRemains { path, branch, why })
}

#[derive(Clone, Copy, PartialEq)]
enum Force {
    Yes,
    No,
}

/// Removes a worktree. Without force git looks once more whether something in it is in no commit, and refuses.
fn remove(surroundings: &Surroundings, tree: &TreeRecord, force: Force) -> Result<(), Trouble> {
    let git = Git::new(surroundings, &tree.common);
    if !tree.common.exists() {
        return gone(tree);
    }
    let path = tree.path.to_string_lossy();
    if force == Force::No {
        return git.must(&["worktree", "remove", &path]).map(drop);
    }
    // Also half of one, which git may not know, or know and not find.
    gone(tree)?;
    git.run(&["worktree", "remove", "--force", "--force", &path])?;
    let name = tree.path.file_name().unwrap_or_default();
    let own = tree.common.join("worktrees").join(name);
    if own.exists() {
        fs::remove_dir_all(&own).map_err(Trouble::io(format!("`{}` cannot be removed", own.display())))?;
    }
    Ok(())
}

/// A git of a killed process may still write there: it ends soon.
fn gone(tree: &TreeRecord) -> Result<(), Trouble> {
    let mut tries = 0;
    loop {
        match fs::remove_dir_all(&tree.path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(_) if tries < TRIES => {
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            Err(error) => {
                return Err(Trouble::io(format!("`{}` cannot be removed", tree.path.display()))(error));
            }
        }
    }
}
