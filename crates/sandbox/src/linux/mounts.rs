//! The file system as the command sees it: what is hidden is covered, what is not writable is mounted read-only.
//!
//! The order matters: copies of the roots are taken while they can still be reached and written, covers are laid, everything
//! becomes read-only, and the copies are put in their places.

use super::{done, last};
use crate::missing::Missing;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

const SHM: &CStr = c"/dev/shm";
const TREE: libc::c_uint =
    libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as libc::c_uint;
const READ_ONLY: u64 = 1;

/// As the kernel defines it.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user: u64,
}

/// What is to be mounted.
#[derive(Default)]
pub struct Plan {
    folder: PathBuf,
    is_read_only: bool,
    shown: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    pinned: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
}

impl Plan {
    /// Nothing yet, for a command that starts in this folder.
    pub fn new(folder: &Path) -> Plan {
        Plan { folder: folder.to_owned(), ..Plan::default() }
    }

    /// Everything is read-only but these.
    pub fn read_only_but(mut self, roots: &[PathBuf]) -> Plan {
        self.is_read_only = true;
        self.shown.extend(roots.iter().cloned());
        self
    }

    /// These are covered. What is shown and the command's own folder stay where they are, also below a cover.
    pub fn hiding(mut self, hidden: &[PathBuf], folder: &Path) -> Plan {
        self.hidden = hidden.to_vec();
        let is_covered = |path: &Path| hidden.iter().any(|hidden| path.starts_with(hidden));
        if let Ok(folder) = folder.canonicalize()
            && is_covered(&folder)
            && !self.shown.iter().any(|shown| folder.starts_with(shown))
        {
            self.shown.push(folder);
        }
        self
    }

    /// This is read-only.
    pub fn read_only(&mut self, path: PathBuf) {
        self.read_only.push(path);
    }

    /// This keeps its name.
    pub fn pin(&mut self, path: PathBuf) {
        self.pinned.push(path);
    }

    /// Folders between a folder that can be written and what is hidden in it. Moved away, they would leave their names to others: the
    /// engine would find there what the command had put in the place of its state.
    fn above_what_is_hidden(&self) -> Vec<PathBuf> {
        let between = |hidden: &PathBuf, shown: &PathBuf| {
            let above =
                hidden.ancestors().skip(1).take_while(|path| path.starts_with(shown) && path != shown);
            above.map(Path::to_owned).collect::<Vec<_>>()
        };
        let pairs = self.hidden.iter().flat_map(|hidden| self.shown.iter().map(move |shown| (hidden, shown)));
        let within = pairs.filter(|(hidden, shown)| hidden.starts_with(shown));
        within.flat_map(|(hidden, shown)| between(hidden, shown)).collect()
    }

    /// The same in the form that the kernel takes.
    pub fn build(mut self) -> Result<Mounts, Missing> {
        let above = self.above_what_is_hidden();
        self.pinned.extend(above);
        for list in [&mut self.shown, &mut self.pinned, &mut self.read_only] {
            list.sort();
            list.dedup();
        }
        let (files, folders): (Vec<_>, Vec<_>) = self.hidden.iter().partition(|path| !path.is_dir());
        let below =
            |path: &PathBuf| folders.iter().find(|hidden| path.starts_with(hidden) && path != **hidden);
        let mut made: Vec<PathBuf> = Vec::new();
        for shown in &self.shown {
            let Some(cover) = below(shown) else { continue };
            let above = shown.ancestors().take_while(|path| path != *cover).collect::<Vec<_>>();
            made.extend(above.into_iter().rev().map(Path::to_owned));
        }
        made.dedup();
        let opened: Vec<&PathBuf> =
            folders.iter().filter(|cover| made.iter().any(|path| path.starts_with(cover))).copied().collect();
        let is_opened = |cover: &&PathBuf| opened.contains(cover);
        // What is shown comes back as it was before anything was covered, so what is hidden in it is covered once more.
        let is_within =
            |path: &Path| self.shown.iter().any(|shown| path.starts_with(shown) && path != shown.as_path());
        if let Some(between) = opened.iter().find(|cover| is_within(cover)) {
            return Err(Missing::path(
                between,
                "it is hidden, and lies between two folders that can be written",
            ));
        }
        let within_files = files.iter().copied().filter(|path| is_within(path)).collect::<Vec<_>>();
        let within = folders.iter().copied().filter(|path| is_within(path)).collect::<Vec<_>>();
        let shm = Path::new("/dev/shm");
        let has_shm =
            self.is_read_only && shm.is_dir() && !self.shown.iter().any(|path| path.starts_with(shm));
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let folder = std::path::absolute(folder).map_err(|error| Missing::path(folder, error))?;
        Ok(Mounts {
            is_read_only: self.is_read_only,
            trees: texts(&self.shown)?.into_iter().map(|path| (path, AtomicI32::new(-1))).collect(),
            closed: texts(folders.iter().filter(|cover| !is_opened(cover)).copied())?,
            opened: texts(opened.iter().copied())?,
            made: texts(&made)?,
            files: texts(files.iter().copied())?,
            within: texts(within)?,
            within_files: texts(within_files)?,
            pinned: texts(&self.pinned)?,
            read_only: texts(&self.read_only)?,
            has_shm,
            folder: text(&folder)?,
        })
    }
}

/// What is mounted, in the form that the kernel takes.
pub struct Mounts {
    is_read_only: bool,
    /// What keeps its place and its rights, with room for the copy that is taken of it.
    trees: Vec<(CString, AtomicI32)>,
    /// Covered folders.
    closed: Vec<CString>,
    /// Covered folders in which something is shown.
    opened: Vec<CString>,
    /// Folders to make on covers.
    made: Vec<CString>,
    /// Covered files.
    files: Vec<CString>,
    /// Covered folders and files in what is shown.
    within: Vec<CString>,
    within_files: Vec<CString>,
    pinned: Vec<CString>,
    read_only: Vec<CString>,
    has_shm: bool,
    folder: CString,
}

impl Mounts {
    /// Whether the command has shared memory of its own.
    pub fn has_shm(&self) -> bool {
        self.has_shm
    }

    /// Mounts it all, in a mount namespace that is new.
    pub unsafe fn enter(&self) -> Result<(), i32> {
        // SAFETY: system calls with texts that end with a NUL.
        unsafe {
            on_its_own()?;
            for (path, tree) in &self.trees {
                let opened = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), TREE);
                done(opened as i64)?;
                tree.store(opened as i32, Ordering::Relaxed);
            }
            self.cover()?;
            if self.is_read_only {
                set_read_only(c"/")?;
            }
            for (path, tree) in &self.trees {
                let tree = tree.load(Ordering::Relaxed);
                let (none, here) = (c"".as_ptr(), libc::AT_FDCWD);
                let flags = libc::MOVE_MOUNT_F_EMPTY_PATH;
                done(libc::syscall(libc::SYS_move_mount, tree, none, here, path.as_ptr(), flags) as i64)?;
            }
            close(&self.within, &self.within_files)?;
            for cover in &self.opened {
                set_read_only_alone(cover)?;
            }
            for path in &self.pinned {
                bind(path, path)?;
            }
            for path in &self.read_only {
                bind(path, path)?;
                set_read_only(path)?;
            }
            if self.has_shm {
                let flags = libc::MS_NOSUID | libc::MS_NODEV;
                mount(c"tmpfs", SHM, Some(c"tmpfs"), flags, Some(c"size=64m,mode=1777"))?;
            }
            // The folder that the process is in may be below a cover, and its parents with it.
            done(libc::chdir(self.folder.as_ptr()))
        }
    }

    unsafe fn cover(&self) -> Result<(), i32> {
        // SAFETY: as above.
        unsafe {
            for cover in &self.opened {
                mount(c"tmpfs", cover, Some(c"tmpfs"), COVER, Some(c"size=64k,mode=700"))?;
            }
            for path in &self.made {
                if libc::mkdir(path.as_ptr(), 0o700) == -1 && last() != libc::EEXIST {
                    return Err(last());
                }
            }
            close(&self.closed, &self.files)
        }
    }
}

const COVER: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;

/// Covers folders and files in which nothing is shown.
unsafe fn close(folders: &[CString], files: &[CString]) -> Result<(), i32> {
    // SAFETY: as for `mount`.
    unsafe {
        for cover in folders {
            mount(c"tmpfs", cover, Some(c"tmpfs"), COVER | libc::MS_RDONLY, Some(c"size=4k,mode=0"))?;
        }
        for path in files {
            bind(c"/dev/null", path)?;
        }
    }
    Ok(())
}

/// Whether something can be mounted here, for a process that tries.
pub unsafe fn try_mount() -> Result<(), i32> {
    // SAFETY: system calls with texts that end with a NUL.
    unsafe {
        on_its_own()?;
        mount(c"tmpfs", c"/proc", Some(c"tmpfs"), libc::MS_RDONLY, Some(c"size=4k"))?;
        bind(c"/dev", c"/dev")?;
        set_read_only(c"/dev")
    }
}

/// What is mounted here from now on stays here; what is mounted outside still arrives.
unsafe fn on_its_own() -> Result<(), i32> {
    // SAFETY: as for `mount`.
    unsafe { mount(c"none", c"/", None, libc::MS_REC | libc::MS_SLAVE, None) }
}

unsafe fn bind(from: &CStr, to: &CStr) -> Result<(), i32> {
    // SAFETY: as for `mount`.
    unsafe { mount(from, to, None, libc::MS_BIND | libc::MS_REC, None) }
}

unsafe fn mount(
    what: &CStr,
    at: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    data: Option<&CStr>,
) -> Result<(), i32> {
    let kind = kind.map_or(ptr::null(), CStr::as_ptr);
    let data = data.map_or(ptr::null(), CStr::as_ptr).cast();
    // SAFETY: all texts end with a NUL.
    done(unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind, flags, data) })
}

/// With everything that is mounted below it.
unsafe fn set_read_only(path: &CStr) -> Result<(), i32> {
    // SAFETY: as below.
    unsafe { set(path, libc::AT_RECURSIVE) }
}

unsafe fn set_read_only_alone(path: &CStr) -> Result<(), i32> {
    // SAFETY: as below.
    unsafe { set(path, 0) }
}

unsafe fn set(path: &CStr, flags: libc::c_int) -> Result<(), i32> {
    let wanted = Attributes { set: READ_ONLY, clear: 0, propagation: 0, user: 0 };
    // SAFETY: the structure is as the kernel defines it, and as long as is said.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const wanted,
            size_of::<Attributes>(),
        ) as i64
    })
}

fn texts<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<CString>, Missing> {
    paths.into_iter().map(|path| text(path)).collect()
}

fn text(path: &Path) -> Result<CString, Missing> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Missing::path(path, "it holds a NUL byte"))
}
