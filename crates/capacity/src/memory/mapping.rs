//! The file and its mapping: open, make anew when it is void, look at it from memory.
//!
//! Opening is serialised by a byte lock, so that two processes never make the file anew at once. A file of another boot is
//! void; one of another format is made anew only when no live process uses it. Everything after that is `lock.rs`'s and the
//! tables' business.

use crate::bytes::{self, Byte};
use crate::error::Error;
use crate::extents;
use crate::failpoint::step;
use crate::guard::Guard;
use crate::kernel;
use crate::layout::{Layout, MAGIC, NONE, VERSION};
use rustix::fs::OFlags;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::mem::{offset_of, size_of};
use std::ops::Deref;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// How long the file can become, and how much address space a mapping takes.
pub const SIZE: usize = size_of::<Layout>();

/// The mapped file. Reads as the [`Layout`].
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<Layout>,
    file: File,
    path: PathBuf,
    /// Let go of before the memory is.
    guard: Option<Guard>,
}

// SAFETY: the mapping is shared memory made of atomics only; any thread may use it and end it.
unsafe impl Send for Mapping {}
// SAFETY: as above; a shared reference allows atomic operations only.
unsafe impl Sync for Mapping {}

impl Deref for Mapping {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        // SAFETY: `start` is a live mapping of `SIZE` bytes, aligned to a page; every field of `Layout` is an atomic, for which
        // any bit pattern is valid. What lies beyond the end of the file is never touched (`extents.rs`).
        unsafe { self.start.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.guard = None;
        // SAFETY: made by `map` with this address and length, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), SIZE) };
    }
}

impl Mapping {
    /// Opens the file for taking part, makes it anew if it is void, and lets `join` run while no other process opens it.
    pub fn open<T>(
        path: &Path,
        longest: Duration,
        join: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<(Self, T), Error> {
        let fault = |doing| move |source| Error::Io { doing, path: path.to_owned(), source };
        let file = open_file(path, true).map_err(fault("open"))?;
        require_own(&file, path)?;
        claim_opening(&file, longest, path)?;
        let mapping = prepare(file, path)?;
        let joined = join(&mapping);
        bytes::unlock(&mapping.file, Byte::Open);
        joined.map(|value| (mapping, value))
    }

    /// Opens the file to look at it. `None` if there is none of this boot.
    pub fn look(path: &Path) -> Result<Option<Self>, Error> {
        let fault = |doing| move |source| Error::Io { doing, path: path.to_owned(), source };
        let file = match open_file(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(fault("open"))?,
        };
        require_own(&file, path)?;
        if file.metadata().map_err(fault("inspect"))?.len() < extents::length(0) {
            return Ok(None);
        }
        let mapping = map(file, path, ProtFlags::READ).map_err(fault("map"))?;
        Ok((mapping.is_of_this_boot() && mapping.is_whole()).then_some(mapping))
    }

    /// The open file, for byte locks.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a table whose file was cut short while it was in use: what is mapped is no longer what others see.
    pub fn require_whole(&self) -> Result<(), Error> {
        match self.guard.as_ref().is_some_and(Guard::is_broken) {
            true => Err(Error::Truncated { path: self.path.clone() }),
            false => Ok(()),
        }
    }

    /// Whether the file was removed while it is in use, so that newcomers would make another.
    pub fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|data| data.nlink() == 0)
    }

    /// Whether the file is as long as its header says. Nothing but the header may be touched before.
    fn is_whole(&self) -> bool {
        let stated = self.header.extents.load(Ordering::Acquire) as usize;
        let least = extents::length(stated.min(crate::layout::EXTENTS));
        self.file.metadata().is_ok_and(|data| data.len() >= least)
    }

    fn is_of_this_boot(&self) -> bool {
        let header = &self.header;
        let boot = header.boot_id.each_ref().map(|word| word.load(Ordering::Relaxed));
        header.magic.load(Ordering::Acquire) == MAGIC
            && header.version.load(Ordering::Relaxed) == VERSION
            && header.size.load(Ordering::Relaxed) == SIZE as u64
            && kernel::boot_id() == Some(boot)
    }
}

fn open_file(path: &Path, writable: bool) -> io::Result<File> {
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).expect("an open flag fits a C int");
    OpenOptions::new()
        .read(true)
        .write(writable)
        .create(writable)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_link)
        .open(path)
}

/// A table that another user owns could be cut, filled or watched by that user; one that others may write is closed to them.
fn require_own(file: &File, path: &Path) -> Result<(), Error> {
    let fault = |doing| move |source| Error::Io { doing, path: path.to_owned(), source };
    let about = file.metadata().map_err(fault("inspect"))?;
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::Foreign { path: path.to_owned(), owner: about.uid() });
    }
    if about.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(fault("close"))?;
    }
    Ok(())
}

/// Waits until no other process opens the file. Opening takes microseconds, so a short nap between looks will do.
fn claim_opening(file: &File, longest: Duration, path: &Path) -> Result<(), Error> {
    let begin = Instant::now();
    loop {
        let locked = bytes::try_lock(file, Byte::Open);
        if locked.map_err(|source| Error::Io { doing: "lock", path: path.to_owned(), source })? {
            return Ok(());
        }
        if begin.elapsed() >= longest {
            return Err(Error::Stuck { pid: opener(file), since: begin.elapsed() });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Process id of the process that opens the file right now, as far as it has said so.
fn opener(file: &File) -> u32 {
    let mut pid = [0; 4];
    let at = offset_of!(Layout, header) + offset_of!(crate::layout::Header, opener);
    file.read_exact_at(&mut pid, at as u64).map_or(0, |()| u32::from_ne_bytes(pid))
}

/// Maps the file, made anew if need be. The caller holds [`Byte::Open`].
fn prepare(file: File, path: &Path) -> Result<Mapping, Error> {
    let fault = |doing| move |source| Error::Io { doing, path: path.to_owned(), source };
    let mut last_token = 0;
    if file.metadata().map_err(fault("inspect"))?.len() >= extents::length(0) {
        let mapping = map(file.try_clone().map_err(fault("open"))?, path, ProtFlags::READ | ProtFlags::WRITE)
            .map_err(fault("map"))?;
        if mapping.is_of_this_boot() && mapping.is_whole() {
            mapping.header.opener.store(std::process::id(), Ordering::Relaxed);
            return Ok(mapping);
        }
        if mapping.header.magic.load(Ordering::Relaxed) == MAGIC {
            last_token = mapping.header.last_token.load(Ordering::Relaxed);
        }
    }
    if bytes::any_process(&file).map_err(fault("inspect"))? {
        return Err(in_another_format(&file, path));
    }
    make_anew(&file).map_err(fault("make"))?;
    step();
    let mapping = map(file, path, ProtFlags::READ | ProtFlags::WRITE).map_err(fault("map"))?;
    initialise(&mapping, last_token)?;
    Ok(mapping)
}

fn in_another_format(file: &File, path: &Path) -> Error {
    let mut version = [0; 4];
    let at = offset_of!(Layout, header) + offset_of!(crate::layout::Header, version);
    let found = file.read_exact_at(&mut version, at as u64).map_or(0, |()| u32::from_ne_bytes(version));
    Error::Version { path: path.to_owned(), found, ours: VERSION }
}

/// Empties the file and takes the space that it begins with.
fn make_anew(file: &File) -> io::Result<()> {
    file.set_len(0)?;
    extents::reserve(file, 0)
}

fn map(file: File, path: &Path, protection: ProtFlags) -> io::Result<Mapping> {
    // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing of ours. It may be longer than the file.
    let start = unsafe { mmap(std::ptr::null_mut(), SIZE, protection, MapFlags::SHARED, &file, 0)? };
    let start = NonNull::new(start.cast::<Layout>()).ok_or(io::ErrorKind::OutOfMemory)?;
    let guard = Some(Guard::new(start.as_ptr().cast_const().cast(), SIZE));
    Ok(Mapping { start, file, path: path.to_owned(), guard })
}

/// Writes the header of an empty table. The magic comes last: a table without it is void.
fn initialise(mapping: &Mapping, last_token: u64) -> Result<(), Error> {
    let header = &mapping.header;
    let boot = kernel::boot_id().ok_or_else(|| Error::invalid("this machine does not tell its boot id"))?;
    header.opener.store(std::process::id(), Ordering::Relaxed);
    step();
    header.version.store(VERSION, Ordering::Relaxed);
    header.size.store(SIZE as u64, Ordering::Relaxed);
    for (word, value) in header.boot_id.iter().zip(boot) {
        word.store(value, Ordering::Relaxed);
    }
    // Tokens of an earlier boot stand in journals. They must not come again, even if the old file was lost.
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    header.last_token.store(last_token.max(seconds << 20), Ordering::Relaxed);
    let derived = &header.derived;
    for list in [&derived.leases_free, &derived.waiters_free, &derived.queue_head, &derived.queue_tail] {
        list.store(NONE, Ordering::Relaxed);
    }
    derived.next_due.store(u64::MAX, Ordering::Relaxed);
    derived.next_moment.store(u64::MAX, Ordering::Relaxed);
    step();
    header.magic.store(MAGIC, Ordering::Release);
    Ok(())
}
