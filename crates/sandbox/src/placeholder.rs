//! Holds the name of a folder that is not there, by an empty folder that is.
//!
//! A mount needs something to lie on. The empty folder is locked by each command that relies on it, and removed by the last: it
//! is known by its time, so that one which a crash has left goes with the next command, and a person's own never does.

use rustix::fs::{AtFlags, CWD, FlockOperation, Timespec, Timestamps, flock, utimensat};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The time by which such a folder is known: the first second of all.
const TIME: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How often a folder is made that another command removes at the same moment.
const TRIES: usize = 20;

/// In one process a folder is made and known for what it is in one step. Another process may see it in between; then it takes it for
/// a person's own, and it stays.
static TAKING: Mutex<()> = Mutex::new(());

/// A name that is held.
#[derive(Debug)]
pub struct Hold {
    path: PathBuf,
    folder: File,
}

impl Hold {
    /// Holds the name until this is dropped.
    pub fn take(path: &Path) -> io::Result<Hold> {
        let _alone = TAKING.lock();
        for _ in 0..TRIES {
            match fs::DirBuilder::new().mode(0o755).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                made => {
                    let Ok(folder) = open(path) else { continue };
                    flock(&folder, FlockOperation::LockShared)?;
                    if !is_still(path, &folder) {
                        continue;
                    }
                    if made.is_ok() {
                        let times = Timestamps { last_access: TIME, last_modification: TIME };
                        utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
                    }
                    return Ok(Hold { path: path.to_owned(), folder });
                }
            }
        }
        Err(io::Error::other("its name is made and removed again and again"))
    }

    /// Whether the folder is there for this alone.
    pub fn stands_in(&self) -> bool {
        self.folder.metadata().is_ok_and(|found| found.is_dir() && found.mtime() == TIME.tv_sec)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.stands_in()
            && flock(&self.folder, FlockOperation::NonBlockingLockExclusive).is_ok()
            && is_still(&self.path, &self.folder)
        {
            // One that is not empty stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

fn is_still(path: &Path, folder: &File) -> bool {
    let numbers = |found: fs::Metadata| (found.dev(), found.ino());
    let (named, held) = (path.symlink_metadata(), folder.metadata());
    named.ok().map(numbers).is_some_and(|named| held.ok().map(numbers) == Some(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_holder_removes_what_was_not_there_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".vscode");
        let (one, other) = (Hold::take(&path).unwrap(), Hold::take(&path).unwrap());
        drop(one);
        assert!(path.is_dir());
        drop(other);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_crash_left_goes_and_what_a_person_made_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (left, own) = (folder.path().join("left"), folder.path().join("own"));
        // Of a crash the folder remains, and the kernel closes the lock.
        let crashed = Hold::take(&left).unwrap();
        rustix::fs::flock(&crashed.folder, FlockOperation::Unlock).unwrap();
        std::mem::forget(crashed);
        fs::create_dir(&own).unwrap();
        drop((Hold::take(&left).unwrap(), Hold::take(&own).unwrap()));
        assert!(!left.exists() && own.is_dir());
    }
}
