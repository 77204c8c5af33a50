//! The file system as policies ask about it.
//!
//! Names are walked one by one from the root, as `openat2` with RESOLVE_BENEATH would: a step above the root, and a link that is
//! absolute, lead outside even if they come back. This only judges; what is opened later is resolved again, by descriptor.

use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_policy::{Access, Kind, Pattern, Place, Resolution, World};
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// Links that are followed for one path, as systems do.
const MAX_LINKS: usize = 40;
/// Names of one folder that a pattern is compared with.
const MAX_NAMES: usize = 100_000;

/// The disk beneath a root.
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
    /// The root as it was given: absolute paths may be written with it.
    given: PathBuf,
}

impl Disk {
    /// The disk beneath a folder, or beneath this one.
    pub fn at(root: Option<&Path>) -> Result<Disk, CommandFailure> {
        let given = root.unwrap_or(Path::new("."));
        let refuse = |why: String| {
            CommandFailure::new(Exit::Usage, format!("root `{}` cannot be used: {why}", given.display()))
                .hint("name a folder that exists with --root")
        };
        let real = given.canonicalize().map_err(|error| refuse(error.to_string()))?;
        if !real.is_dir() {
            return Err(refuse("it is no folder".to_owned()));
        }
        let given = std::path::absolute(given).map_err(|error| refuse(error.to_string()))?;
        Ok(Disk { root: real, given })
    }

    /// The folder of a command, seen from the root.
    pub fn folder(&self, cwd: Option<&Path>) -> PathBuf {
        cwd.map_or_else(|| self.root.clone(), |cwd| self.root.join(cwd))
    }
}

impl World for Disk {
    fn root(&self) -> &Path {
        &self.root
    }

    fn resolve(&self, path: &Path, access: Access) -> Resolution {
        let inside = path.strip_prefix(&self.root).or_else(|_| path.strip_prefix(&self.given));
        let found = inside.ok().and_then(|inside| walk(&self.root, inside, access));
        found.unwrap_or(Resolution { place: Place::Outside, kind: Kind::Absent })
    }

    fn names(&self, folder: &Path, pattern: &Pattern) -> Option<Vec<String>> {
        let Place::Beneath(beneath) = self.resolve(folder, Access::Look).place else { return None };
        let entries = std::fs::read_dir(self.root.join(beneath)).ok()?;
        let mut names = Vec::new();
        for (at, entry) in entries.enumerate() {
            // What cannot be said in text cannot be planned.
            let name = entry.ok()?.file_name().into_string().ok();
            match name {
                _ if at >= MAX_NAMES => return None,
                Some(name) if pattern.matches(&name) => names.push(name),
                Some(_) => {}
                None => return None,
            }
        }
        names.sort();
        Some(names)
    }
}

/// Follows a path from the root; nothing if it leaves it.
fn walk(root: &Path, inside: &Path, access: Access) -> Option<Resolution> {
    let (mut at, mut followed) = (PathBuf::new(), 0);
    let mut left = names(inside);
    left.reverse();
    let mut last: Option<Metadata> = None;
    // A missing name has nothing beneath it, and nothing above it but what was there.
    let mut missing = false;
    while let Some(name) = left.pop() {
        if name == ".." {
            if !at.pop() {
                return None;
            }
            (missing, last) = (false, None);
            continue;
        }
        if missing {
            at.push(name);
            continue;
        }
        let next = root.join(&at).join(&name);
        match next.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                missing = true;
                at.push(name);
            }
            // What cannot be looked at is not judged to be harmless.
            Err(_) => return None,
            Ok(found) if found.is_symlink() => {
                if left.is_empty() && access.changes() {
                    return Some(Resolution { place: Place::Beneath(at.join(name)), kind: Kind::Link });
                }
                let to = next.read_link().ok()?;
                followed += 1;
                if to.is_absolute() || followed > MAX_LINKS {
                    return None;
                }
                left.extend(names(&to).into_iter().rev());
                last = None;
            }
            Ok(found) => {
                at.push(name);
                last = Some(found);
            }
        }
    }
    let kind = match last {
        _ if missing => Kind::Absent,
        Some(found) => kind(&found),
        None => root.join(&at).symlink_metadata().map_or(Kind::Absent, |found| kind(&found)),
    };
    Some(Resolution { place: Place::Beneath(at), kind })
}

fn kind(found: &Metadata) -> Kind {
    let kind = found.file_type();
    match () {
        () if kind.is_dir() => Kind::Folder,
        () if kind.is_file() => Kind::File { names: found.nlink() },
        () if kind.is_symlink() => Kind::Link,
        () if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() => {
            Kind::Special
        }
        () => Kind::Special,
    }
}

/// The names of a path, without `.`.
fn names(path: &Path) -> Vec<OsString> {
    let of = |component: Component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_out_of_the_root_lead_outside() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(folder.path().join("other")).unwrap();
        std::fs::write(folder.path().join("other/secret.txt"), "x").unwrap();
        std::fs::write(root.join("src/a.rs"), "x").unwrap();
        symlink("../other", root.join("out")).unwrap();
        symlink(folder.path().join("other"), root.join("absolute")).unwrap();
        symlink("src", root.join("inside")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        std::fs::hard_link(root.join("src/a.rs"), root.join("second")).unwrap();
        let disk = Disk::at(Some(&root)).unwrap();
        let at = |path: &str, access| disk.resolve(&disk.root().join(path), access);
        for path in
            ["out/secret.txt", "absolute", "out/../repo/src/a.rs", "..", "src/../..", "loop", "../repo/src"]
        {
            assert_eq!(at(path, Access::Read).place, Place::Outside, "{path}");
        }
        assert_eq!(at("inside/a.rs", Access::Read).place, Place::Beneath("src/a.rs".into()));
        assert_eq!(at("inside", Access::Write).kind, Kind::Link);
        assert_eq!(at("second", Access::Read).kind, Kind::File { names: 2 });
        assert_eq!(at("missing/x/../y", Access::Write).place, Place::Beneath("missing/y".into()));
        assert_eq!(at(".", Access::Read).kind, Kind::Folder);
        assert_eq!(
            disk.names(&disk.root().join("src"), &Pattern::of_text("*.rs")),
            Some(vec!["a.rs".to_owned()])
        );
    }
}
