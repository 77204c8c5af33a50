//! The folder that hands may work in, held open: what its path leads to later does not matter.

use crate::place::relative;
use crate::system::{Links, open_beneath, path_of};
use crate::{Place, Refusal};
use convoke_model::protected;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, open};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A folder, and what of it is out of reach.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    /// Where it lay when it was opened, without links.
    path: PathBuf,
    /// As it was named, which agents may have been told.
    named: PathBuf,
    /// Places anywhere that are neither read nor written: the engine's own.
    hidden: Vec<PathBuf>,
    /// Patterns of what is left as it is; what they mean is for those to say that judge writes.
    kept: Vec<String>,
}

impl Root {
    /// Opens a folder. The path is the run's and is trusted.
    pub fn open(path: &Path) -> Result<Root, Refusal> {
        let shown = path.display().to_string();
        let refused = |error| Refusal::of(&shown, error);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty()).map_err(refused)?;
        // Whether the kernel can do what everything here relies on is known at once.
        open_beneath(&folder, ".", flags, Links::Never).map_err(refused)?;
        let real = path_of(folder.as_fd()).map_err(refused)?;
        Ok(Root { folder, path: real, named: path.to_owned(), hidden: Vec::new(), kept: Vec::new() })
    }

    /// The same, with places that are out of reach wherever they lie. What holds the root itself hides nothing of it: a worktree lies in
    /// the engine's state.
    pub fn hiding(mut self, hidden: impl IntoIterator<Item = PathBuf>) -> Root {
        let lies = self.path.clone();
        self.hidden.extend(hidden.into_iter().filter(|hidden| !lies.starts_with(hidden)));
        self
    }

    /// The same, with patterns of what is left as it is.
    pub fn keeping(self, kept: Vec<String>) -> Root {
        Root { kept, ..self }
    }

    /// What is left as it is.
    pub fn kept(&self) -> &[String] {
        &self.kept
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// The place that a text names. A way back (`..`) over a link is refused: it leads elsewhere than it says.
    pub fn place(&self, given: &str) -> Result<Place, Refusal> {
        let by_name = self.named.is_absolute().then(|| Place::of(given, &self.named).ok()).flatten();
        let place = by_name.map_or_else(|| Place::of(given, &self.path), Ok)?;
        let path = self.relative(given)?;
        let Some(back) = path.rfind("..") else { return Ok(place) };
        match open_beneath(&self.folder, &path[..back + 2], OFlags::PATH, Links::Never) {
            Err(error @ (Errno::LOOP | Errno::XDEV)) => Err(Refusal::of(given, error)),
            _ => Ok(place),
        }
    }

    /// The text as a path from the root, as it stands: links on its way are the kernel's to follow.
    pub(crate) fn relative<'a>(&self, given: &'a str) -> Result<&'a str, Refusal> {
        let by_name = self.named.is_absolute().then(|| relative(given, &self.named).ok()).flatten();
        by_name.map_or_else(|| relative(given, &self.path), Ok)
    }

    /// The place at which something lies that was opened beneath; refused where it has left meanwhile.
    pub(crate) fn place_of(&self, found: BorrowedFd<'_>, shown: &str) -> Result<Place, Refusal> {
        let path = path_of(found).map_err(|error| Refusal::of(shown, error))?;
        // The root itself may have been renamed.
        let root = path_of(self.folder()).map_err(|error| Refusal::of(shown, error))?;
        let beneath = path.strip_prefix(&root).map_err(|_| Refusal::Outside(shown.to_owned()))?;
        if self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            return Err(Refusal::Secret { path: shown.to_owned() });
        }
        let text =
            beneath.to_str().ok_or(Refusal::Name { path: shown.to_owned(), why: "its name is not UTF-8" })?;
        Place::of(if text.is_empty() { "." } else { text }, Path::new("/"))
    }

    /// Whether a place may be read, by its name.
    pub(crate) fn may_read(&self, place: &Place) -> Result<(), Refusal> {
        match protected::secret(place.as_str()) {
            Some(_) => Err(Refusal::Secret { path: place.as_str().to_owned() }),
            None => self.is_seen(place),
        }
    }

    /// Whether a place may be written, by its name; whether anything is there does not matter.
    pub fn may_write(&self, place: &Place) -> Result<(), Refusal> {
        place.is_writable_name()?;
        let path = place.as_str();
        match protected::protected(path) {
            Some(guarded) => Err(Refusal::Protected { path: path.to_owned(), what: guarded.what }),
            None => self.is_seen(place),
        }
    }

    fn is_seen(&self, place: &Place) -> Result<(), Refusal> {
        let path = self.path.join(place.as_str());
        match self.hidden.iter().any(|hidden| path.starts_with(hidden)) {
            true => Err(Refusal::Secret { path: place.as_str().to_owned() }),
            false => Ok(()),
        }
    }
}

/// What stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A file.
    File {
        /// Names that it has; more than one is a hard link.
        names: u64,
    },
    /// A folder.
    Folder,
    /// A symbolic link that was not followed.
    Link,
    /// Anything else.
    Special,
}

impl Root {
    /// What is out of reach wherever it lies.
    pub fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// Where a path leads and what stands there, links on its way followed as far as they stay beneath; the last of them only if
    /// that is wanted. `None` where it leads out, or cannot be told.
    pub fn resolve(&self, given: &str, follows_last: bool) -> Option<(Place, Standing)> {
        let path = self.relative(given).ok()?;
        if follows_last && let Ok(found) = open_beneath(self.folder(), path, OFlags::PATH, Links::Beneath) {
            let standing = standing(&rustix::fs::fstat(&found).ok()?);
            return Some((self.place_of(found.as_fd(), given).ok()?, standing));
        }
        let place = self.place(given).ok()?;
        if place.is_root() {
            return Some((place, Standing::Folder));
        }
        let trimmed = path.trim_end_matches('/');
        let (above, name) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
        let above = if above.is_empty() { "." } else { above };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let folder = match open_beneath(self.folder(), above, flags, Links::Beneath) {
            Ok(folder) => folder,
            // Nothing is there, nor above it: then it is what it is called.
            Err(Errno::NOENT) => return Some((place, Standing::Nothing)),
            Err(_) => return None,
        };
        let lies = self.place_of(folder.as_fd(), given).ok()?;
        let lies = Place::of(&format!("{}/{name}", lies.as_str()), Path::new("/")).ok()?;
        match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Some((lies, Standing::Nothing)),
            Err(_) => None,
            // A link that is to be followed and leads nowhere beneath.
            Ok(stat) if follows_last && standing(&stat) == Standing::Link => None,
            Ok(stat) => Some((lies, standing(&stat))),
        }
    }
}

fn standing(stat: &rustix::fs::Stat) -> Standing {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Standing::File { names: stat.st_nlink },
        FileType::Directory => Standing::Folder,
        FileType::Symlink => Standing::Link,
        _ => Standing::Special,
    }
}
