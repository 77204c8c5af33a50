//! Any other system: there is no way to resolve a path beneath a folder that cannot be tricked, so nothing is opened.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};
use std::path::PathBuf;

/// Whether links may be on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Those that stay beneath are followed.
    Beneath,
    /// There may be none.
    Never,
}

/// Opens nothing.
pub(crate) fn open_beneath(_: impl AsFd, _: &str, _: OFlags, _: Links) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Opens nothing.
pub(crate) fn reopen(_: BorrowedFd<'_>) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Knows nothing.
pub(crate) fn path_of(_: BorrowedFd<'_>) -> Result<PathBuf> {
    Err(Errno::NOSYS)
}

/// Knows nothing.
pub(crate) fn is_of_kernel(_: BorrowedFd<'_>) -> Result<bool> {
    Err(Errno::NOSYS)
}

/// Makes nothing.
pub(crate) fn unnamed_file(_: BorrowedFd<'_>, _: Mode) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Names nothing.
pub(crate) fn give_name(_: BorrowedFd<'_>, _: BorrowedFd<'_>, _: &str) -> Result<()> {
    Err(Errno::NOSYS)
}
