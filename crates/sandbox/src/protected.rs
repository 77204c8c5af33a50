//! Names that an agent's command does not write to, because what stands there acts outside the sandbox later.
//!
//! The usual names are those of the one table ([`convoke_model::protected`]) that a sandbox holds. Each is looked for below every
//! writable root. A root that is itself the inside of a git repository has the names of `.git`.

use std::path::{Path, PathBuf};

/// One protected name below one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The root that it is below.
    pub root: PathBuf,
    /// The whole path.
    pub path: PathBuf,
    /// It is a folder, also while it is absent.
    pub is_folder: bool,
}

/// Where the protected names of a confinement are. Absolute ones count below the root that they are in; outside of all roots
/// nothing is written anyway.
pub fn places(names: &[String], roots: &[PathBuf]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for root in roots {
        let is_git = root.join("HEAD").is_file() && root.join("objects").is_dir();
        for name in names {
            let is_folder = name.ends_with('/');
            let named = Path::new(name.trim_end_matches('/'));
            let path = match named.strip_prefix(".git") {
                Ok(inner) if is_git => root.join(inner),
                _ => root.join(named),
            };
            let place = Place { root: root.clone(), path, is_folder };
            if place.path.starts_with(root) && place.path != *root && !places.contains(&place) {
                places.push(place);
            }
        }
    }
    // In a worktree `.git` is a file that names the repository: what it says decides which hooks and settings count.
    for root in roots {
        let link = root.join(".git");
        if link.is_file() {
            places.retain(|place| !place.path.starts_with(&link));
            places.push(Place { root: root.clone(), path: link, is_folder: false });
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_below_every_root_and_in_the_inside_of_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, git) = (folder.path().join("tree"), folder.path().join("git"));
        std::fs::create_dir_all(git.join("objects")).unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main").unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../git").unwrap();
        let names = [".git/hooks/".to_owned(), ".mcp.json".to_owned()];
        let places = places(&names, &[tree.clone(), git.clone()]);
        let found: Vec<_> = places.iter().map(|place| place.path.clone()).collect();
        assert_eq!(
            found,
            [tree.join(".mcp.json"), git.join("hooks"), git.join(".mcp.json"), tree.join(".git")]
        );
    }
}
