//! What an error of the database means for us.

use crate::Error;
use rusqlite::{ErrorCode, ffi};
use rustix::io::Errno;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The disk itself refused.
const EIO: i32 = Errno::IO.raw_os_error();

/// Turns a refusal of the database into an error that names the file.
pub(crate) fn refusal(path: &Path, error: rusqlite::Error) -> Error {
    refused(path, error, io::Error::last_os_error().raw_os_error())
}

/// `reason` is what the system said last: SQLite keeps none for the memory that is shared.
fn refused(path: &Path, error: rusqlite::Error, reason: Option<i32>) -> Error {
    let path = path.to_path_buf();
    let code = error.sqlite_error().map(|error| error.extended_code);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::DiskFull { path },
        // The memory that readers and the writer share is a file too. It cannot grow: nothing was written.
        Some(_) if code == Some(ffi::SQLITE_IOERR_SHMSIZE) && reason != Some(EIO) => Error::DiskFull { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy { path },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Corrupt { path, why: error.to_string() }
        }
        Some(_) => Error::Database { path, source: error },
        // A value of another type, a missing row or column: the file is not what we wrote.
        None => Error::Corrupt { path, why: error.to_string() },
    }
}

/// A path as the database takes it with parameters.
pub(crate) fn file_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_full_whichever_file_cannot_grow() {
        let error = |code: i32| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            let found = refused(Path::new("j"), error(code), Some(Errno::NOSPC.raw_os_error()));
            assert!(matches!(found, Error::DiskFull { .. }), "{code}: {found:?}");
        }
        for code in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_SHMSIZE] {
            let other = refused(Path::new("j"), error(code), Some(EIO));
            assert!(matches!(other, Error::Database { .. }), "{code}: {other:?}");
        }
    }

    #[test]
    fn a_path_with_anything_in_it_is_one_path() {
        assert_eq!(file_uri(Path::new("/a b/c?d#é%")), "file:/a%20b/c%3Fd%23%C3%A9%25");
    }
}
