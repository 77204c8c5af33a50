//! What is in folders: one after the other, opened by descriptor, no link followed.

use crate::ignored::Ignored;
use crate::system::{Links, open_beneath};
use crate::{Found, Kind, Refusal, Root};
use convoke_model::protected;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, openat, statat};
use std::fs::File;

/// The most entries of one folder.
const WIDEST: usize = 20_000;

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it is a file or a folder; `None` for links and everything else.
    pub kind: Option<Kind>,
    /// The length of a file.
    pub size: u64,
}

/// How a walk goes.
#[derive(Debug, Clone, Copy)]
pub struct Walk {
    /// So many levels of folders; 1 is what is in the first alone.
    pub depth: usize,
    /// Goes into what `.gitignore` names too.
    pub with_ignored: bool,
    /// Entries after which it ends.
    pub most: usize,
}

/// Where a walk stands.
pub struct Walked<'a> {
    /// The path from the root.
    pub path: &'a str,
    /// What is there.
    pub entry: &'a Entry,
    folder: &'a OwnedFd,
}

impl Walked<'_> {
    /// Opens the file, to be read; `None` where it must not be.
    pub fn open(&self) -> Option<(File, u64)> {
        if protected::secret(self.path).is_some() {
            return None;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let found = open_beneath(self.folder, &self.entry.name, flags, Links::Never).ok()?;
        let place = crate::Place::of(self.path, std::path::Path::new("/")).ok()?;
        let found = Found::new(found, place, self.path).ok().filter(|found| found.kind == Kind::File)?;
        Some((found.open().ok()?, found.size))
    }
}

impl Root {
    /// What is in a folder, in the order of names.
    pub fn entries(&self, given: &str) -> Result<Vec<Entry>, Refusal> {
        let found = self.find(given)?;
        match found.kind {
            Kind::Folder => read_folder(found.folder()).map_err(|error| Refusal::of(given, error)),
            Kind::File => Err(Refusal::NotFolder(given.to_owned())),
        }
    }

    /// Goes through a folder, in the order of names, folders before what is in them. Stops where `visit` says so (`false`).
    /// Says whether everything was seen.
    pub fn walk(
        &self,
        given: &str,
        walk: Walk,
        mut visit: impl FnMut(Walked<'_>) -> bool,
    ) -> Result<bool, Refusal> {
        let found = self.find(given)?;
        if found.kind == Kind::File {
            return Err(Refusal::NotFolder(given.to_owned()));
        }
        let mut ignored = Ignored::default();
        if !walk.with_ignored {
            self.note_above(found.place.as_str(), &mut ignored);
        }
        let place = if found.place.is_root() { String::new() } else { found.place.as_str().to_owned() };
        let mut going = Going { root: self, walk, left: walk.most, ignored, visit: &mut visit };
        Ok(going.through(found.folder(), &place, 1))
    }

    /// What folders above say about what is to be ignored.
    fn note_above(&self, path: &str, ignored: &mut Ignored) {
        let mut at = String::new();
        for part in path.split('/').filter(|part| *part != ".") {
            self.note(&at, ignored);
            at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
        }
    }

    fn note(&self, folder: &str, ignored: &mut Ignored) {
        let file = if folder.is_empty() { ".gitignore".to_owned() } else { format!("{folder}/.gitignore") };
        if let Ok(content) = self.read(&file, 1 << 20) {
            ignored.add(folder, &String::from_utf8_lossy(&content));
        }
    }
}

struct Going<'a, F> {
    root: &'a Root,
    walk: Walk,
    left: usize,
    ignored: Ignored,
    visit: &'a mut F,
}

impl<F: FnMut(Walked<'_>) -> bool> Going<'_, F> {
    fn through(&mut self, folder: &OwnedFd, path: &str, level: usize) -> bool {
        if !self.walk.with_ignored {
            self.root.note(path, &mut self.ignored);
        }
        // A folder that went away, or that may not be read, has nothing in it.
        let entries = read_folder(folder).unwrap_or_default();
        for entry in entries {
            let path = if path.is_empty() { entry.name.clone() } else { format!("{path}/{}", entry.name) };
            let is_folder = entry.kind == Some(Kind::Folder);
            if self.is_left_out(&path, &entry, is_folder) {
                continue;
            }
            if self.left == 0 || !(self.visit)(Walked { path: &path, entry: &entry, folder }) {
                return false;
            }
            self.left -= 1;
            let inside = || open_beneath(folder, &entry.name, OFlags::PATH | OFlags::DIRECTORY, Links::Never);
            if is_folder
                && level < self.walk.depth
                && protected::secret(&path).is_none()
                && let Ok(inside) = inside()
                && !self.through(&inside, &path, level + 1)
            {
                return false;
            }
        }
        true
    }

    fn is_left_out(&self, path: &str, entry: &Entry, is_folder: bool) -> bool {
        entry.name == ".git" || !self.walk.with_ignored && self.ignored.is_ignored(path, is_folder)
    }
}

/// What is in a folder that was opened; names that are not UTF-8 are left out.
fn read_folder(folder: &OwnedFd) -> rustix::io::Result<Vec<Entry>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(folder, ".", flags, rustix::fs::Mode::empty())?;
    let mut entries = Vec::new();
    for entry in Dir::new(readable)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") {
            continue;
        }
        entries.push(looked_at(folder, name));
        if entries.len() == WIDEST {
            break;
        }
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn looked_at(folder: &OwnedFd, name: &str) -> Entry {
    let stat = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let kind = stat.as_ref().and_then(|stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(Kind::File),
        FileType::Directory => Some(Kind::Folder),
        _ => None,
    });
    Entry { name: name.to_owned(), kind, size: stat.map_or(0, |stat| stat.st_size as u64) }
}
