//! SQLite's files on the way to the disk.
//!
//! A VFS named [`NAME`] that opens files as SQLite's own does, and puts itself in front of three of their methods: write,
//! truncate and sync; and in front of the removal of files. Everything else, locks and shared memory too, is SQLite's own code
//! on SQLite's own file, so connections with and without this VFS work on one database.
//!
//! It keeps two facts. Whether any of these failed on this thread: SQLite swallows the errors of a checkpoint that follows a
//! commit, and would sync again at the next one, which may then succeed although pages were dropped. An owner looks here after
//! each commit. And whether a file is as its last sync left it: then it is not synced again, which SQLite would do with its log
//! before each checkpoint, although the commit before has just done so.
//!
//! SQLite makes the name of a log durable that it has made itself, and drops the error if that fails. The owner of a journal does
//! it too and looks at the error (`owned`), so here the log is made for SQLite, which leaves its name alone then.

use crate::disk::{Fate, Op, fate};
use crate::state::private_file;
use rusqlite::ffi;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

/// What connections are opened with.
pub const NAME: &CStr = c"convoke";

thread_local! {
    static FAILED: Cell<Option<c_int>> = const { Cell::new(None) };
}

/// The result code of the first operation that failed on this thread since this was last asked. A full disk is no failure: SQLite
/// reports it, and what it had written is not part of the database.
pub fn take_failure() -> Option<c_int> {
    FAILED.take()
}

fn note(code: c_int) -> c_int {
    if code != ffi::SQLITE_OK && code & 0xff != ffi::SQLITE_FULL && FAILED.get().is_none() {
        FAILED.set(Some(code));
    }
    code
}

/// Registers the VFS once for the process. `false` where SQLite has no VFS to build on.
pub fn register() -> bool {
    static REGISTERED: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: SQLite is initialised by the first call, the returned structure lives as long as the process, and so does ours.
        unsafe {
            let base = ffi::sqlite3_vfs_find(std::ptr::null());
            let Some(known) = base.as_ref() else { return false };
            let shim = Box::leak(Box::new(*known));
            shim.zName = NAME.as_ptr();
            shim.pNext = std::ptr::null_mut();
            let offset = (known.szOsFile as usize).next_multiple_of(align_of::<Own>());
            OFFSET.store(offset, Ordering::Relaxed);
            shim.szOsFile = (offset + size_of::<Own>()) as c_int;
            shim.pAppData = base.cast();
            // SQLite's functions read their own application data, so those that do are called with its structure.
            shim.xOpen = Some(open);
            shim.xDelete = Some(delete);
            shim.xAccess = Some(access);
            shim.xFullPathname = Some(full_pathname);
            ffi::sqlite3_vfs_register(shim, 0) == ffi::SQLITE_OK
        }
    });
    *REGISTERED
}

/// The header of a connection's file. The file is not opened for it: closing it again would end the locks of all connections.
pub fn header(connection: &rusqlite::Connection) -> rusqlite::Result<[u8; 100]> {
    let mut header = [0; 100];
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    // SAFETY: the connection is open, so its file is; SQLite writes a pointer to it, which is used before the connection can be closed.
    let code = unsafe {
        let told = ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_FILE_POINTER,
            std::ptr::from_mut(&mut file).cast(),
        );
        let methods = file.as_ref().and_then(|file| file.pMethods.as_ref());
        match methods.and_then(|methods| methods.xRead) {
            Some(read) if told == ffi::SQLITE_OK => read(file, header.as_mut_ptr().cast(), 100, 0),
            _ => ffi::SQLITE_IOERR_READ,
        }
    };
    match code {
        ffi::SQLITE_OK => Ok(header),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// What is kept behind SQLite's part of an open file.
struct Own {
    methods: *const ffi::sqlite3_io_methods,
    path: *const c_char,
    /// Nothing was changed by this handle since it last synced the file.
    synced: bool,
}

/// Where it begins. Set before any file is opened.
static OFFSET: AtomicUsize = AtomicUsize::new(0);

/// SQLite's own VFS.
///
/// # Safety
/// `vfs` is the one that [`register`] made.
unsafe fn base_of(vfs: *mut ffi::sqlite3_vfs) -> *mut ffi::sqlite3_vfs {
    // SAFETY: as the caller promises.
    unsafe { (*vfs).pAppData.cast() }
}

/// # Safety
/// `file` was opened by [`open`].
unsafe fn own<'a>(file: *mut ffi::sqlite3_file) -> &'a mut Own {
    // SAFETY: SQLite gave each file `szOsFile` bytes, of which ours begin behind those of the VFS that we build on.
    unsafe { &mut *file.cast::<u8>().add(OFFSET.load(Ordering::Relaxed)).cast::<Own>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: called by SQLite with a file of our size; the name lives until the file is closed.
    unsafe {
        let mut flags = flags;
        if !name.is_null() && flags & ffi::SQLITE_OPEN_CREATE != 0 {
            let (path, is_log) = (path_of(name), flags & ffi::SQLITE_OPEN_WAL != 0);
            let may_be = path.exists()
                || if is_log { private_file(path).is_ok() } else { fate(&Op::Make(path)) == Fate::Pass };
            if !may_be {
                return note(ffi::SQLITE_CANTOPEN);
            }
            if is_log {
                flags &= !ffi::SQLITE_OPEN_CREATE;
            }
        }
        let base = base_of(vfs);
        let Some(base_open) = (*base).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = base_open(base, name, file, flags, out);
        let methods = (*file).pMethods;
        if code == ffi::SQLITE_OK && !methods.is_null() && !name.is_null() {
            file.cast::<u8>().add(OFFSET.load(Ordering::Relaxed)).cast::<Own>().write(Own {
                methods,
                path: name,
                synced: false,
            });
            (*file).pMethods = in_front_of(methods);
        }
        code
    }
}

/// A table of methods like this one, with ours in front. There are a handful of tables in a process.
fn in_front_of(methods: *const ffi::sqlite3_io_methods) -> *const ffi::sqlite3_io_methods {
    static TABLES: LazyLock<Mutex<HashMap<usize, usize>>> = LazyLock::new(Mutex::default);
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let made = tables.entry(methods as usize).or_insert_with(|| {
        // SAFETY: SQLite's tables of methods are constants.
        let mut table = unsafe { *methods };
        table.xWrite = Some(write);
        table.xTruncate = Some(truncate);
        table.xSync = Some(sync);
        std::ptr::from_ref(Box::leak(Box::new(table))) as usize
    });
    *made as *const ffi::sqlite3_io_methods
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    length: c_int,
    at: i64,
) -> c_int {
    // SAFETY: called by SQLite with an open file and as many bytes as it says.
    unsafe {
        let own = own(file);
        let Some(base) = (*own.methods).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        own.synced = false;
        let bytes = std::slice::from_raw_parts(from.cast::<u8>(), length as usize);
        note(match fate(&Op::Write(path_of(own.path), at as u64, bytes)) {
            Fate::Pass => base(file, from, length, at),
            Fate::Fail(errno) => write_error(errno),
            Fate::Tear(most, errno) => match base(file, from, length.min(most as c_int), at) {
                ffi::SQLITE_OK => write_error(errno),
                code => code,
            },
        })
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: i64) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe {
        let own = own(file);
        let Some(base) = (*own.methods).xTruncate else { return ffi::SQLITE_IOERR_TRUNCATE };
        own.synced = false;
        note(match fate(&Op::Truncate(path_of(own.path), length as u64)) {
            Fate::Pass => base(file, length),
            _ => ffi::SQLITE_IOERR_TRUNCATE,
        })
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: called by SQLite with an open file.
    unsafe {
        let own = own(file);
        let Some(base) = (*own.methods).xSync else { return ffi::SQLITE_IOERR_FSYNC };
        if own.synced {
            return ffi::SQLITE_OK;
        }
        let code = match fate(&Op::Sync(path_of(own.path))) {
            Fate::Pass => base(file, flags),
            _ => ffi::SQLITE_IOERR_FSYNC,
        };
        own.synced = code == ffi::SQLITE_OK;
        note(code)
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: called by SQLite with our VFS and a path.
    unsafe {
        let base = base_of(vfs);
        let Some(base_delete) = (*base).xDelete else { return ffi::SQLITE_IOERR_DELETE };
        match fate(&Op::Remove(path_of(name))) {
            Fate::Pass => base_delete(base, name, sync),
            _ => note(ffi::SQLITE_IOERR_DELETE),
        }
    }
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: called by SQLite with our VFS; passed on as it is.
    unsafe {
        let base = base_of(vfs);
        (*base).xAccess.map_or(ffi::SQLITE_IOERR_ACCESS, |base_access| base_access(base, name, flags, out))
    }
}

unsafe extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    length: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: called by SQLite with our VFS; passed on as it is.
    unsafe {
        let base = base_of(vfs);
        (*base).xFullPathname.map_or(ffi::SQLITE_CANTOPEN, |base_name| base_name(base, name, length, out))
    }
}

fn write_error(errno: i32) -> c_int {
    let full = [rustix::io::Errno::NOSPC, rustix::io::Errno::DQUOT].map(|errno| errno.raw_os_error());
    if full.contains(&errno) { ffi::SQLITE_FULL } else { ffi::SQLITE_IOERR_WRITE }
}

/// # Safety
/// `name` is a string that ends with a zero and lives for as long as the path is used.
unsafe fn path_of<'a>(name: *const c_char) -> &'a Path {
    // SAFETY: as the caller promises.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}
