//! What this crate asks about the disk, and a world that has none.
//!
//! Judging is pure: a caller answers through [`World`] (the command line from the file system, tools by descriptor, tests from a
//! table). Which files are secret or protected is decided here in the crate, on the resolved path, so that every caller has the same rules.

use crate::reading::word::Pattern;
use std::path::{Component, Path, PathBuf};

/// What is to be done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Its name, size and times are looked at.
    Look,
    /// Its content is read.
    Read,
    /// Its content is written, or it is made or removed.
    Write,
    /// A whole entry, maybe a folder with content, comes to stand there or goes away.
    Replace,
}

impl Access {
    /// Whether anything changes.
    pub fn changes(self) -> bool {
        matches!(self, Access::Write | Access::Replace)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Access::Look => "look",
            Access::Read => "read",
            Access::Write => "write",
            Access::Replace => "replace",
        }
    }
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The place.
    pub place: Place,
    /// What is there.
    pub kind: Kind,
}

/// A place, seen from the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Beneath the root: the path from there, without dots and symbolic links.
    Beneath(PathBuf),
    /// Somewhere else, or by a way that leaves the root.
    Outside,
}

/// What is at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Names that it has; more than one is a hard link.
        names: u64,
    },
    /// A folder.
    Folder,
    /// A symbolic link that was not followed, because the last name of a path is not followed for writing.
    Link,
    /// A device, a pipe or a socket.
    Special,
}

/// The disk, as far as judging needs it.
pub trait World {
    /// The folder beneath which everything stays, absolute.
    fn root(&self) -> &Path;
    /// Where an absolute path leads. Symbolic links are followed, for writing but for the last name.
    fn resolve(&self, path: &Path, access: Access) -> Resolution;
    /// The names in a folder that a pattern stands for, sorted; nothing where that is not known.
    fn names(&self, _folder: &Path, _pattern: &Pattern) -> Option<Vec<String>> {
        None
    }
}

/// A world without a disk: paths are names, no link leads anywhere, nothing is known to exist but what was listed.
#[derive(Debug, Clone)]
pub struct Lexical {
    root: PathBuf,
    entries: Vec<(PathBuf, Kind)>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl Lexical {
    /// A world beneath a root.
    pub fn new(root: impl Into<PathBuf>) -> Lexical {
        Lexical { root: root.into(), entries: Vec::new(), links: Vec::new() }
    }

    /// Adds something beneath the root.
    pub fn with(mut self, path: &str, kind: Kind) -> Lexical {
        self.entries.push((self.root.join(path), kind));
        self
    }

    /// Adds a symbolic link beneath the root.
    pub fn link(mut self, path: &str, to: &str) -> Lexical {
        self.links.push((self.root.join(path), PathBuf::from(to)));
        self
    }

    fn kind(&self, path: &Path) -> Kind {
        if path == self.root {
            return Kind::Folder;
        }
        let known = self.entries.iter().find(|(entry, _)| entry == path).map(|(_, kind)| *kind);
        let above = || self.entries.iter().any(|(entry, _)| entry.starts_with(path));
        known.unwrap_or_else(|| if above() { Kind::Folder } else { Kind::Absent })
    }
}

/// Links that are followed for one path.
const MAX_LINKS: usize = 40;

impl World for Lexical {
    fn root(&self) -> &Path {
        &self.root
    }

    fn resolve(&self, path: &Path, access: Access) -> Resolution {
        let outside = Resolution { place: Place::Outside, kind: Kind::Absent };
        let Ok(inside) = path.strip_prefix(&self.root) else { return outside };
        if self.links.is_empty() {
            let Some(at) = without_links(inside) else { return outside };
            let kind = match at.as_os_str().is_empty() {
                true => Kind::Folder,
                false if self.entries.is_empty() => Kind::Absent,
                false => self.kind(&self.root.join(&at)),
            };
            return Resolution { place: Place::Beneath(at), kind };
        }
        let (mut at, mut followed) = (PathBuf::new(), 0);
        let mut left: Vec<std::ffi::OsString> = names(inside);
        left.reverse();
        while let Some(name) = left.pop() {
            if name == ".." {
                if !at.pop() {
                    return outside;
                }
                continue;
            }
            let next = self.root.join(&at).join(&name);
            let link = self.links.iter().find(|(link, _)| *link == next);
            match link {
                Some(_) if left.is_empty() && access.changes() => {
                    return Resolution { place: Place::Beneath(at.join(&name)), kind: Kind::Link };
                }
                Some((_, to)) if to.is_absolute() || followed == MAX_LINKS => return outside,
                Some((_, to)) => {
                    followed += 1;
                    left.extend(names(to).into_iter().rev());
                }
                None => at.push(&name),
            }
        }
        let kind = self.kind(&self.root.join(&at));
        let kind = if at.as_os_str().is_empty() { Kind::Folder } else { kind };
        Resolution { place: Place::Beneath(at), kind }
    }

    fn names(&self, folder: &Path, pattern: &Pattern) -> Option<Vec<String>> {
        let inside = self.entries.iter().map(|(path, _)| path).chain(self.links.iter().map(|(path, _)| path));
        let of = |path: &PathBuf| Some(path.strip_prefix(folder).ok()?.iter().next()?.to_str()?.to_owned());
        let mut names: Vec<String> = inside.filter_map(of).filter(|name| pattern.matches(name)).collect();
        names.sort();
        names.dedup();
        Some(names)
    }
}

/// A path without dots, where no name is a link; nothing if it leaves the root.
fn without_links(inside: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::with_capacity(inside.as_os_str().len());
    for component in inside.components() {
        match component {
            Component::Normal(name) => at.push(name),
            Component::ParentDir if !at.pop() => return None,
            _ => {}
        }
    }
    Some(at)
}

/// The names of a path, without `.`.
fn names(path: &Path) -> Vec<std::ffi::OsString> {
    let of = |component: Component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(of).collect()
}
