//! The folder that hands may work in, held open: what its path leads to later does not matter.

use crate::place::relative;
use crate::system::{Links, open_beneath, path_of};
use crate::{Place, Refusal};
use convoke_model::protected;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
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
        Ok(Root { folder, path: real, named: path.to_owned(), hidden: Vec::new() })
    }

    /// The same, with places that are out of reach wherever they lie.
    pub fn hiding(mut self, hidden: impl IntoIterator<Item = PathBuf>) -> Root {
        self.hidden.extend(hidden);
        self
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
