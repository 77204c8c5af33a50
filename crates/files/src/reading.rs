//! What is at a path, and what is in it.

use crate::system::{self, Links, open_beneath};
use crate::{Place, Refusal, Root};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, OFlags, Stat, fstat};
use std::fs::File;
use std::io::Read;

/// How much of a file is looked at to tell what it is.
const HEAD: usize = 8 << 10;

/// How a private key begins, whatever its file is called.
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const KEY_ENDS: &[u8] = b"PRIVATE KEY";

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// Something that was found beneath the root and may be read.
#[derive(Debug)]
pub struct Found {
    found: OwnedFd,
    /// What it is.
    pub kind: Kind,
    /// Where it really lies.
    pub place: Place,
    /// Its length in bytes.
    pub size: u64,
    stat: Stat,
    shown: String,
}

impl Root {
    /// Finds what a path leads to, links beneath the root followed.
    pub fn find(&self, given: &str) -> Result<Found, Refusal> {
        let path = self.relative(given)?;
        self.may_read(&self.lexical(given))?;
        let found = open_beneath(self.folder(), path, OFlags::PATH, Links::Beneath);
        let found = found.map_err(|error| self.missing(given, Refusal::of(given, error)))?;
        let place = self.place_of(found.as_fd(), given)?;
        self.may_read(&place)?;
        Found::new(found, place, given)
    }

    /// The place that a path seems to name. What seems to lie outside is left to the kernel, which knows where it leads.
    fn lexical(&self, given: &str) -> Place {
        self.place(given).unwrap_or_else(|_| Place::of(".", self.path()).expect("the root is a place"))
    }

    /// A refusal with the name that may have been meant.
    fn missing(&self, given: &str, refusal: Refusal) -> Refusal {
        let Refusal::Missing { path, near: None } = refusal else { return refusal };
        let near = self.place(given).ok().and_then(|place| self.near(&place));
        Refusal::Missing { path, near }
    }

    fn near(&self, place: &Place) -> Option<String> {
        let (folder, name) = place.split();
        let inside = self.entries(if folder.is_empty() { "." } else { folder }).ok()?;
        let near = convoke_model::nearest(name, inside.iter().map(|entry| entry.name.as_str()))?;
        Some(if folder.is_empty() { near.to_owned() } else { format!("{folder}/{near}") })
    }

    /// The content of a file, if it is no longer than this.
    pub fn read(&self, given: &str, most: u64) -> Result<Vec<u8>, Refusal> {
        self.find(given)?.content(most)
    }
}

impl Found {
    pub(crate) fn new(found: OwnedFd, place: Place, shown: &str) -> Result<Found, Refusal> {
        let refused = |error| Refusal::of(shown, error);
        let stat = fstat(&found).map_err(refused)?;
        if system::is_of_kernel(found.as_fd()).map_err(refused)? {
            return Err(Refusal::Special { path: shown.to_owned(), kind: "file of the kernel" });
        }
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            other => return Err(Refusal::Special { path: shown.to_owned(), kind: word(other) }),
        };
        let size = stat.st_size as u64;
        Ok(Found { found, kind, place, size, stat, shown: shown.to_owned() })
    }

    /// The file, to be read.
    pub fn open(&self) -> Result<File, Refusal> {
        if self.kind == Kind::Folder {
            return Err(Refusal::Folder(self.shown.clone()));
        }
        if self.is_anothers() {
            return Err(Refusal::Secret { path: self.shown.clone() });
        }
        let refused = |error| Refusal::of(&self.shown, error);
        let file = system::reopen(self.found.as_fd()).map_err(refused)?;
        let again = fstat(&file).map_err(refused)?;
        if (again.st_dev, again.st_ino) != (self.stat.st_dev, self.stat.st_ino) {
            return Err(Refusal::Changed(self.shown.clone()));
        }
        let file = File::from(file);
        match holds_key(&file) {
            Ok(false) => Ok(file),
            Ok(true) => Err(Refusal::Secret { path: self.shown.clone() }),
            Err(error) => Err(Refusal::System { path: self.shown.clone(), error }),
        }
    }

    /// The content, if it is no longer than this.
    pub fn content(&self, most: u64) -> Result<Vec<u8>, Refusal> {
        if self.kind == Kind::Folder {
            return Err(Refusal::Folder(self.shown.clone()));
        }
        let too_large = |size| Refusal::TooLarge { path: self.shown.clone(), size, most };
        if self.size > most {
            return Err(too_large(self.size));
        }
        let mut content = Vec::with_capacity(self.size as usize);
        let read = self.open()?.take(most + 1).read_to_end(&mut content);
        read.map_err(|error| Refusal::System { path: self.shown.clone(), error })?;
        // It may have grown since it was measured.
        if content.len() as u64 > most { Err(too_large(content.len() as u64)) } else { Ok(content) }
    }

    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.found
    }

    /// The bits that say who may do what with it.
    pub(crate) fn mode(&self) -> u32 {
        self.stat.st_mode
    }

    /// A second name of a file that is another's, or private: it may lie elsewhere too, where it must not be read.
    fn is_anothers(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        self.stat.st_nlink > 1 && (self.stat.st_uid != own || self.stat.st_mode & 0o077 == 0)
    }
}

/// Whether the bytes are no text.
pub fn is_binary(head: &[u8]) -> bool {
    head[..head.len().min(HEAD)].contains(&0)
}

/// Whether it begins like a private key.
fn holds_key(file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::FileExt;
    let mut head = [0; 256];
    let read = file.read_at(&mut head, 0)?;
    let head = &head[..read];
    let starts = |part: &[u8]| head.windows(part.len()).any(|at| at == part);
    Ok(starts(KEY_BEGINS) && starts(KEY_ENDS))
}

pub(crate) fn word(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Symlink => "symbolic link",
        FileType::Directory => "folder",
        _ => "special file",
    }
}
