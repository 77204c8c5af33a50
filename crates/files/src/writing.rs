//! Replacing a file as a whole: the new content is complete before it has the name.
//!
//! The folder is opened without following a link, the content goes into a file without a name, and a rename within that folder puts it
//! in place. A reader sees the old content or the new, and so does the disk after a crash. The mode of a file stays; what may run
//! stays so, what would run as another does not.

use crate::system::{Links, give_name, open_beneath, path_of, unnamed_file};
use crate::{Found, Kind, Place, Refusal, Root};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, fdatasync, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells apart the files that this process writes.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file that may be written: the folder that it is in, and what it is now.
pub(crate) struct Target {
    pub place: Place,
    folder: OwnedFd,
    /// The file that is there.
    pub now: Option<Found>,
    /// Folders that were made for it, the outermost first.
    made: Vec<Place>,
}

/// A new content that has no name yet.
pub(crate) struct Staged<'t> {
    target: &'t Target,
    name: String,
    file: OwnedFd,
    /// Whether it has its passing name already, because the file system knows no files without one.
    is_named: bool,
    is_placed: bool,
}

impl Root {
    /// Looks at what is to be written, and makes the folders that are missing on the way if that is wanted.
    pub(crate) fn target(&self, place: &Place, makes_folders: bool) -> Result<Target, Refusal> {
        self.may_write(place)?;
        let (folder, name) = place.split();
        let (folder, made) = self.folder_of(folder, place, makes_folders)?;
        let shown = place.as_str();
        // Where it really is, should a part of the path have been renamed to something that is protected.
        let inside = self.place_of(folder.as_fd(), shown)?;
        let lies = Place::of(&format!("{}/{name}", inside.as_str()), self.path())?;
        self.may_write(&lies)?;
        let now = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            Err(error) => return Err(Refusal::of(shown, error)),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                return Err(Refusal::Link(shown.to_owned()));
            }
            Ok(_) => {
                let found = open_beneath(&folder, name, OFlags::PATH | OFlags::NOFOLLOW, Links::Never);
                Some(Found::new(found.map_err(|error| Refusal::of(shown, error))?, lies, shown)?)
            }
        };
        match &now {
            Some(found) if found.kind == Kind::Folder => Err(Refusal::Folder(shown.to_owned())),
            Some(found) if found.mode() & 0o222 == 0 => Err(Refusal::ReadOnly(shown.to_owned())),
            _ => Ok(Target { place: place.clone(), folder, now, made }),
        }
    }

    fn folder_of(&self, path: &str, place: &Place, makes: bool) -> Result<(OwnedFd, Vec<Place>), Refusal> {
        let path = if path.is_empty() { "." } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        match open_beneath(self.folder(), path, flags, Links::Never) {
            Ok(folder) => Ok((folder, Vec::new())),
            Err(Errno::NOENT) if makes => self.make_folders(path, place),
            Err(Errno::NOENT) => Err(Refusal::Missing { path: place.as_str().to_owned(), near: None }),
            Err(error) => Err(Refusal::of(place.as_str(), error)),
        }
    }

    fn make_folders(&self, path: &str, place: &Place) -> Result<(OwnedFd, Vec<Place>), Refusal> {
        let refused = |error| Refusal::of(place.as_str(), error);
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut folder = open_beneath(self.folder(), ".", flags, Links::Never).map_err(refused)?;
        let (mut made, mut at) = (Vec::new(), String::new());
        for part in path.split('/') {
            at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
            match mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.push(Place::of(&at, self.path())?),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(refused(error)),
            }
            folder = open_beneath(&folder, part, flags, Links::Never).map_err(refused)?;
        }
        Ok((folder, made))
    }

    /// Removes folders that were made and are empty.
    pub(crate) fn unmake(&self, target: &Target) {
        for place in target.made.iter().rev() {
            let (folder, name) = place.split();
            let path = if folder.is_empty() { "." } else { folder };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            if let Ok(folder) = open_beneath(self.folder(), path, flags, Links::Never) {
                // Something else may be in it by now.
                let _ = unlinkat(&folder, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

impl Target {
    /// Writes a content down without giving it the name yet.
    pub(crate) fn stage(&self, content: &[u8]) -> Result<Staged<'_>, Refusal> {
        let refused = |error| Refusal::of(self.place.as_str(), error);
        let mut staged = self.unnamed().map_err(refused)?;
        let mut file = File::from(staged.file.try_clone().map_err(|error| self.failed(error))?);
        file.write_all(content).map_err(|error| self.failed(error))?;
        if let Some(now) = &self.now {
            // What would run as its owner is not kept: the content is another.
            fchmod(&staged.file, Mode::from_raw_mode(now.mode() & 0o1777)).map_err(refused)?;
        }
        fdatasync(&staged.file).map_err(refused)?;
        if !staged.is_named {
            give_name(staged.file.as_fd(), self.folder.as_fd(), &staged.name).map_err(refused)?;
            staged.is_named = true;
        }
        Ok(staged)
    }

    fn failed(&self, error: std::io::Error) -> Refusal {
        Refusal::System { path: self.place.as_str().to_owned(), error }
    }

    fn unnamed(&self) -> rustix::io::Result<Staged<'_>> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".convoke-{}-{number}.tmp", std::process::id());
        let mode = Mode::from_raw_mode(0o666);
        let staged = |file, is_named, name| Staged { target: self, name, file, is_named, is_placed: false };
        // Another name for a file without one needs `/proc`, which is there: `path_of` was asked.
        debug_assert!(path_of(self.folder.as_fd()).is_ok());
        match unnamed_file(self.folder.as_fd(), mode) {
            Ok(file) => Ok(staged(file, false, name)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let flags =
                    OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                Ok(staged(openat(&self.folder, &*name, flags, mode)?, true, name))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the file.
    pub(crate) fn remove(&self) -> Result<(), Refusal> {
        let (_, name) = self.place.split();
        unlinkat(&self.folder, name, AtFlags::empty())
            .map_err(|error| Refusal::of(self.place.as_str(), error))
    }
}

impl Staged<'_> {
    /// Puts it in the place of what was there.
    pub(crate) fn put(mut self) -> Result<(), Refusal> {
        let (folder, (_, name)) = (&self.target.folder, self.target.place.split());
        renameat(folder, &*self.name, folder, name)
            .map_err(|error| Refusal::of(self.target.place.as_str(), error))?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if self.is_named && !self.is_placed {
            let _ = unlinkat(&self.target.folder, &*self.name, AtFlags::empty());
        }
    }
}

impl Root {
    /// Opens a file to be written as it comes, emptied or at its end: for streams, which have no whole. It is made if it is not there.
    pub fn open_to_write(&self, place: &Place, appends: bool) -> Result<File, Refusal> {
        let target = self.target(place, false)?;
        let refused = |error| Refusal::of(place.as_str(), error);
        let (_, name) = place.split();
        let how = if appends { OFlags::APPEND } else { OFlags::TRUNC };
        let flags =
            OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | how;
        let made = if target.now.is_none() { OFlags::CREATE } else { OFlags::empty() };
        let file = openat(&target.folder, name, flags | made, Mode::from_raw_mode(0o666)).map_err(refused)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file).map_err(refused)?.st_mode);
        match kind {
            FileType::RegularFile => Ok(File::from(file)),
            other => {
                Err(Refusal::Special { path: place.as_str().to_owned(), kind: crate::reading::word(other) })
            }
        }
    }
}
