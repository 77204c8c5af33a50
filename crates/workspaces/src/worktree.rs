//! Making a worktree, and going on in one that stands.

use crate::error::Trouble;
use crate::git::{Git, Surroundings};
use crate::record::TreeRecord;
use crate::release::clear;
use crate::repository::tip;
use crate::status::own_files;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the lock of a git that was cut off is waited for: one that still runs ends within it.
const OLD_LOCK: Duration = Duration::from_secs(5);

/// How often a worktree is made anew that a git of a killed process spoilt, and how long that is waited for.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(300);

/// Makes the worktree of a record, on its branch, which begins at the base where it is new.
pub(crate) fn make(surroundings: &Surroundings, tree: &TreeRecord, sparse: &[String]) -> Result<(), Trouble> {
    for _ in 1..TRIES {
        if make_once(surroundings, tree, sparse).is_ok() {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
        clear(surroundings, tree)?;
    }
    make_once(surroundings, tree, sparse)
}

fn make_once(surroundings: &Surroundings, tree: &TreeRecord, sparse: &[String]) -> Result<(), Trouble> {
    if let Some(above) = tree.path.parent() {
        fs::create_dir_all(above).map_err(Trouble::io(format!("the folder `{}`", above.display())))?;
    }
    let git = Git::new(surroundings, &tree.common);
    let path = tree.path.to_string_lossy();
    let mut args = vec!["worktree", "add", "--quiet"];
    if tree.sparse {
        args.push("--no-checkout");
    }
    if tip(&git, &tree.branch)?.is_some() {
        args.extend([&*path, tree.branch.as_str()]);
    } else {
        args.extend(["--no-track", "-b", tree.branch.as_str(), &*path, tree.base.as_str()]);
    }
    git.must(&args)?;
    if tree.sparse {
        check_out(surroundings, tree, sparse)?;
    }
    Ok(())
}

/// Checks out some paths. The list is the worktree's own; the repository's configuration is not touched.
fn check_out(surroundings: &Surroundings, tree: &TreeRecord, sparse: &[String]) -> Result<(), Trouble> {
    let git = Git::new(surroundings, &tree.path).sparse(true);
    let info = own_files(&git)?.join("info");
    let list: String = sparse.iter().map(|path| format!("/{}\n", path.trim_matches('/'))).collect();
    fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("sparse-checkout"), list))
        .map_err(Trouble::io(format!("the list of paths in `{}`", info.display())))?;
    git.must(&["read-tree", "-mu", "HEAD"]).map(drop)
}

/// Whether a worktree stands that its repository knows.
pub(crate) fn stands(surroundings: &Surroundings, tree: &TreeRecord) -> bool {
    let is_it = |found: String| Path::new(&found).canonicalize().ok() == tree.path.canonicalize().ok();
    let git = Git::new(surroundings, &tree.path);
    tree.path.join(".git").is_file()
        && git.text(&["rev-parse", "--path-format=absolute", "--show-toplevel"]).is_ok_and(is_it)
}

/// Takes over a worktree whose last owner was cut off. Locks of a git that was killed are removed; no other process works here.
pub(crate) fn take_over(surroundings: &Surroundings, tree: &TreeRecord) -> Result<(), Trouble> {
    let own = own_files(&Git::new(surroundings, &tree.path))?;
    let locks = [own.join("index.lock"), own.join("HEAD.lock")];
    let until = Instant::now() + OLD_LOCK;
    while locks.iter().any(|lock| lock.exists()) {
        if until <= Instant::now() {
            locks.iter().for_each(|lock| drop(fs::remove_file(lock)));
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Copies files that git ignores from a checkout into a worktree. What is not there is left out.
pub(crate) fn seed(
    surroundings: &Surroundings,
    from: &Path,
    tree: &TreeRecord,
    paths: &[String],
) -> Result<(), Trouble> {
    for path in paths {
        let refused = |why| Trouble::Seed { path: path.clone(), why };
        let relative = Path::new(path);
        if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(refused("it is not a path below the root of the repository"));
        }
        let source = from.join(relative);
        let Ok(real) = source.canonicalize() else { continue };
        if !from.canonicalize().is_ok_and(|root| real.starts_with(root)) {
            return Err(refused("it leads out of the repository"));
        }
        if !Git::new(surroundings, from).asks(&["check-ignore", "--quiet", "--", path])? {
            return Err(refused("git does not ignore it, so it would become part of the work"));
        }
        let target = tree.path.join(relative);
        copy(&source, &target).map_err(Trouble::io(format!("`{path}` cannot be seeded")))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let kind = fs::symlink_metadata(from)?.file_type();
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    if kind.is_symlink() {
        let leads: PathBuf = fs::read_link(from)?;
        let _ = fs::remove_file(to);
        #[cfg(unix)]
        return std::os::unix::fs::symlink(leads, to);
        #[cfg(not(unix))]
        return fs::copy(leads, to).map(drop);
    }
    if kind.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if kind.is_file() { fs::copy(from, to).map(drop) } else { Ok(()) }
}
