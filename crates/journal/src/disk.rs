//! Where a journal touches the disk: every change that it makes to a file or a folder passes here.
//!
//! SQLite's files come through `sqlite/vfs.rs`, the others through the functions below. In a program nothing watches, and an
//! operation is one system call. A test installs a [`Watch`] on its own thread: it records the operations in their order, and
//! lets one fail, stop half-way or be forgotten. `tests/images.rs` rebuilds from such a record every state that a crash may
//! leave.
//!
//! Invariant: what is durable after a crash is decided by the syncs that are seen here, and by nothing else.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// One change of the disk, before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op<'a> {
    /// A file is made, if it is not there.
    Make(&'a Path),
    /// Bytes are written at an offset.
    Write(&'a Path, u64, &'a [u8]),
    /// A file gets this length.
    Truncate(&'a Path, u64),
    /// The content of a file is made durable.
    Sync(&'a Path),
    /// The names in a folder are made durable.
    SyncFolder(&'a Path),
    /// A file gets another name, in place of what had it.
    Rename(&'a Path, &'a Path),
    /// A file is removed.
    Remove(&'a Path),
}

/// What becomes of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is made.
    Pass,
    /// It fails with this error number, and changes nothing.
    Fail(i32),
    /// Only so many bytes are written, then it fails with this error number.
    Tear(usize, i32),
}

/// Decides about the operations of a thread.
pub type Watch = Rc<dyn Fn(&Op<'_>) -> Fate>;

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Watches the operations of this thread from now on; `None` ends that.
pub fn watch(watch: Option<Watch>) {
    WATCH.set(watch);
}

pub(crate) fn fate(op: &Op<'_>) -> Fate {
    // Taken out first, so that a watch may touch the disk itself.
    let watch = WATCH.with_borrow(Clone::clone);
    watch.map_or(Fate::Pass, |watch| watch(op))
}

fn allowed(op: &Op<'_>) -> io::Result<()> {
    match fate(op) {
        Fate::Pass => Ok(()),
        Fate::Fail(errno) | Fate::Tear(_, errno) => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// A file is about to be made.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    allowed(&Op::Make(path))
}

pub(crate) fn write_at(file: &File, path: &Path, bytes: &[u8], offset: u64) -> io::Result<()> {
    match fate(&Op::Write(path, offset, bytes)) {
        Fate::Pass => file.write_all_at(bytes, offset),
        Fate::Fail(errno) => Err(io::Error::from_raw_os_error(errno)),
        Fate::Tear(length, errno) => {
            file.write_all_at(&bytes[..length.min(bytes.len())], offset)?;
            Err(io::Error::from_raw_os_error(errno))
        }
    }
}

pub(crate) fn set_len(file: &File, path: &Path, length: u64) -> io::Result<()> {
    allowed(&Op::Truncate(path, length))?;
    file.set_len(length)
}

pub(crate) fn sync(file: &File, path: &Path) -> io::Result<()> {
    allowed(&Op::Sync(path))?;
    file.sync_data()
}

pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    allowed(&Op::SyncFolder(path))?;
    File::open(path)?.sync_all()
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    allowed(&Op::Rename(from, to))?;
    fs::rename(from, to)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    allowed(&Op::Remove(path))?;
    fs::remove_file(path)
}
