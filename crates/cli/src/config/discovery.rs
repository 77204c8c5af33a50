//! Where configuration files are found, and which of them are believed.
//!
//! A project's `convoke.toml` is looked for in a folder and the folders above it, up to the root of the repository, the
//! user's home folder or the edge of the file system, whichever comes first. A file that another user owns or can write
//! could send prompts and keys anywhere, so it is refused, not skipped: skipping would silently drop limits.

use rustix::fs::{Stat, fstat, stat};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The name of a project's configuration.
pub const PROJECT_FILE: &str = "convoke.toml";

/// The marker of a repository's root.
const REPOSITORY: &str = ".git";

/// Why a file is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// Its owner is neither the user nor the administrator.
    #[error("it belongs to another user (uid {0})")]
    Foreign(u32),
    /// Others may change it.
    #[error("other users may write to it (mode {0:04o})")]
    Writable(u32),
}

/// The project's configuration file for work in a folder.
pub fn project_file(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    upwards(folder, home).into_iter().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.exists())
}

/// The folder that a file's project begins at: the repository's root, else the nearest folder with a configuration, else
/// the folder itself.
pub fn project_root(folder: &Path, home: Option<&Path>) -> PathBuf {
    let folders = upwards(folder, home);
    let with = |name: &str| folders.iter().find(|folder| folder.join(name).exists()).cloned();
    with(REPOSITORY).or_else(|| with(PROJECT_FILE)).unwrap_or_else(|| folder.to_owned())
}

/// A folder and those above it, up to and with the first that is a repository's root, the home folder or the last one of
/// its file system.
fn upwards(folder: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let home = home.and_then(|home| home.canonicalize().ok());
    let device = |folder: &Path| stat(folder).ok().map(|stat| stat.st_dev);
    let own = device(&folder);
    let mut all = Vec::new();
    for folder in folder.ancestors() {
        if device(folder) != own {
            break;
        }
        all.push(folder.to_owned());
        if folder.join(REPOSITORY).exists() || home.as_deref() == Some(folder) {
            break;
        }
    }
    all
}

/// Reads a configuration file; `None` if there is none.
pub fn read(path: &Path) -> io::Result<Option<Result<String, Distrust>>> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Asked of what was opened: a file that is exchanged in between is not read.
    if let Some(reason) = distrust(&fstat(&file)?) {
        return Ok(Some(Err(reason)));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some(Ok(text)))
}

fn distrust(stat: &Stat) -> Option<Distrust> {
    let user = rustix::process::geteuid().as_raw();
    judge(stat.st_uid, stat.st_gid, stat.st_mode, user, rustix::process::getegid().as_raw())
}

/// Group writing is fine where the group is the user's private one, as systems set it up that give every user a group of
/// the same number.
fn judge(owner: u32, group: u32, mode: u32, user: u32, user_group: u32) -> Option<Distrust> {
    const OTHERS: u32 = 0o002;
    const GROUP: u32 = 0o020;
    let private = group == user_group && user_group == user;
    if owner != user && owner != 0 {
        return Some(Distrust::Foreign(owner));
    }
    let writable = mode & OTHERS != 0 || mode & GROUP != 0 && !private;
    writable.then_some(Distrust::Writable(mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_user_or_the_administrator_are_believed() {
        assert_eq!(judge(1000, 1000, 0o100664, 1000, 1000), None, "a private group");
        assert_eq!(judge(0, 0, 0o100644, 1000, 1000), None);
        assert_eq!(judge(1001, 1001, 0o100644, 1000, 1000), Some(Distrust::Foreign(1001)));
        assert_eq!(judge(1000, 1000, 0o100666, 1000, 1000), Some(Distrust::Writable(0o666)));
        assert_eq!(judge(1000, 100, 0o100664, 1000, 100), Some(Distrust::Writable(0o664)));
    }

    #[test]
    fn the_search_ends_at_the_repository_and_at_home() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let deep = top.join("home/repo/a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(top.join(PROJECT_FILE), "").unwrap();
        let home = top.join("home");
        assert_eq!(project_file(&deep, Some(&home)), None, "beyond the home folder");
        assert_eq!(project_root(&deep, Some(&home)), deep);
        std::fs::write(home.join(PROJECT_FILE), "").unwrap();
        assert_eq!(project_file(&deep, Some(&home)), Some(home.join(PROJECT_FILE)));
        std::fs::create_dir(home.join("repo/.git")).unwrap();
        assert_eq!(project_file(&deep, Some(&home)), None, "beyond the repository");
        assert_eq!(project_root(&deep, Some(&home)), home.join("repo"));
        std::fs::write(deep.join(PROJECT_FILE), "").unwrap();
        assert_eq!(project_file(&deep, Some(&home)), Some(deep.join(PROJECT_FILE)));
        assert_eq!(project_root(&deep, Some(&home)), home.join("repo"));
    }
}
