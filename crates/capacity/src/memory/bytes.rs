//! Locks on single bytes of the file, held by the kernel for an open file.
//!
//! Each process keeps the byte of its slot locked while it takes part. The kernel lets go when the process ends, however it
//! ends, and tells every process that asks, also from another pid namespace. The bytes lie beyond the end of the file, where
//! nothing is stored. The locks belong to the open file description, so no other use of the file in this process can
//! release them, and the descriptor is close-on-exec, so no child keeps them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Where the bytes begin: past any size the file could have.
const BASE: i64 = 1 << 40;

/// A byte with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Byte {
    /// Held while the file is opened, and perhaps made anew.
    Open,
    /// Held while the lock is taken from a dead holder.
    Rescue,
    /// Held by the process in this slot for as long as it takes part.
    Process(u32),
}

impl Byte {
    fn offset(self) -> i64 {
        match self {
            Self::Open => BASE,
            Self::Rescue => BASE + 1,
            Self::Process(index) => BASE + 1024 + i64::from(index),
        }
    }
}

/// Locks a byte, unless another open file has it.
pub fn try_lock(file: &File, byte: Byte) -> io::Result<bool> {
    match control(file, libc::F_OFD_SETLK, &mut request(byte.offset(), 1, libc::F_WRLCK)) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lets go of a byte.
pub fn unlock(file: &File, byte: Byte) {
    // Cannot fail for a byte that is ours; and if it did, closing the file lets go as well.
    let _ = control(file, libc::F_OFD_SETLK, &mut request(byte.offset(), 1, libc::F_UNLCK));
}

/// Whether another open file holds the byte.
pub fn is_locked(file: &File, byte: Byte) -> io::Result<bool> {
    any_locked(file, byte.offset(), 1)
}

/// Whether another open file holds the byte of any process.
pub fn any_process(file: &File) -> io::Result<bool> {
    any_locked(file, Byte::Process(0).offset(), crate::layout::PROCESSES as i64)
}

fn any_locked(file: &File, start: i64, length: i64) -> io::Result<bool> {
    let mut question = request(start, length, libc::F_WRLCK);
    control(file, libc::F_OFD_GETLK, &mut question)?;
    Ok(i32::from(question.l_type) != libc::F_UNLCK)
}

fn request(start: i64, length: i64, kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: length,
        l_pid: 0,
    }
}

fn control(file: &File, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open for the whole call, and `lock` is a valid `flock` that the kernel may write to.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(lock)) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_has_one_holder_and_is_free_when_its_file_is_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (one, two) = (file.reopen().unwrap(), file.reopen().unwrap());
        assert!(try_lock(&one, Byte::Process(7)).unwrap());
        assert!(!try_lock(&two, Byte::Process(7)).unwrap());
        assert!(is_locked(&two, Byte::Process(7)).unwrap());
        assert!(any_process(&two).unwrap());
        assert!(try_lock(&two, Byte::Process(8)).unwrap());
        drop(one);
        assert!(!is_locked(&two, Byte::Process(7)).unwrap());
    }
}
