//! Linux: `openat2`, and the names of descriptors in `/proc`.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, fstatfs, linkat, open, openat2, readlink};
use rustix::io::{Errno, Result};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// How often a path is resolved anew when something was renamed meanwhile.
const TRIES: usize = 16;

/// File systems whose files are doors to the kernel: `proc`, `sysfs`, `debugfs`, `tracefs`, `securityfs`, `cgroup`, `cgroup2`.
const KERNEL: [u64; 7] =
    [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673, 0x0027_e0eb, 0x6367_7270];

/// Whether links may be on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Those that stay beneath are followed.
    Beneath,
    /// There may be none.
    Never,
}

/// Opens what is at a path beneath a folder.
pub(crate) fn open_beneath(folder: impl AsFd, path: &str, flags: OFlags, links: Links) -> Result<OwnedFd> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let resolve = match links {
        Links::Beneath => within,
        Links::Never => within | ResolveFlags::NO_SYMLINKS,
    };
    let mut last = Errno::AGAIN;
    for _ in 0..TRIES {
        match openat2(&folder, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            // Something was renamed while the kernel was on its way.
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            result => return result,
        }
    }
    Err(last)
}

/// Opens what a descriptor stands for once more, to read it.
pub(crate) fn reopen(found: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open(name_of(found), flags, Mode::empty())
}

/// Where something lies, by its descriptor.
pub(crate) fn path_of(found: BorrowedFd<'_>) -> Result<PathBuf> {
    let path = readlink(name_of(found), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Whether it is a file of the kernel's own.
pub(crate) fn is_of_kernel(found: BorrowedFd<'_>) -> Result<bool> {
    Ok(KERNEL.contains(&(fstatfs(found)?.f_type as u64)))
}

/// A new file without a name in a folder; [`give_name`] gives it one.
pub(crate) fn unnamed_file(folder: BorrowedFd<'_>, mode: Mode) -> Result<OwnedFd> {
    rustix::fs::openat(folder, ".", OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, mode)
}

/// Gives a file without a name one that nothing has.
pub(crate) fn give_name(file: BorrowedFd<'_>, folder: BorrowedFd<'_>, name: &str) -> Result<()> {
    linkat(CWD, name_of(file), folder, name, AtFlags::SYMLINK_FOLLOW)
}

fn name_of(found: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", found.as_raw_fd())
}
