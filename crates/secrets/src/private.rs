//! Files that their owner alone can read.
//!
//! Owner and mode are asked of what was opened, so a file that is exchanged in between is not read. A link counts by what it leads to: mounted
//! secrets are links.

use crate::value::{LONGEST, Unusable, of_output};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use secrecy::SecretString;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// Why a file is not read. What it is about is named by the caller.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It cannot be opened or read.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A folder, a pipe or a device.
    #[error("it is not a file")]
    NotAFile,
    /// Its owner is neither the user nor the administrator.
    #[error("it belongs to another user (uid {0})")]
    Foreign(u32),
    /// Others can read it, or change it.
    #[error("others can read it (mode {0:04o})")]
    Open(u32),
    /// What it holds is no secret.
    #[error(transparent)]
    Unusable(#[from] Unusable),
}

/// The secret that a file holds.
pub fn secret(path: &Path) -> Result<SecretString, Refused> {
    Ok(of_output(bytes(path, LONGEST + 2)?)?)
}

/// What a file holds, up to a bound.
pub fn bytes(path: &Path, most: usize) -> Result<Zeroizing<Vec<u8>>, Refused> {
    // A pipe would be waited for; it is no file.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = open(path, flags, Mode::empty()).map_err(io::Error::from)?;
    judge(&fstat(&file).map_err(io::Error::from)?, rustix::process::geteuid().as_raw())?;
    read_up_to(std::fs::File::from(file), most)
}

/// The same from a descriptor or a pipe that the person gave: it is theirs, whatever its mode. Waits for its end.
pub fn given(path: &Path, most: usize) -> Result<Zeroizing<Vec<u8>>, Refused> {
    let file = std::fs::File::open(path)?;
    let stat = fstat(&file).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && !is_descriptor(path) {
        judge(&stat, rustix::process::geteuid().as_raw())?;
    }
    read_up_to(file, most)
}

fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") || path == Path::new("/dev/stdin")
}

fn read_up_to(file: std::fs::File, most: usize) -> Result<Zeroizing<Vec<u8>>, Refused> {
    // The room is there from the start: a buffer that grows leaves copies behind. It is no larger than it must be, because all of it is
    // wiped; a pipe does not say how much is coming.
    let meta = file.metadata()?;
    let size = usize::try_from(meta.len()).unwrap_or(most);
    let room = if meta.is_file() { size.min(most) } else { most.min(LONGEST) };
    let mut bytes = Zeroizing::new(Vec::with_capacity(room + 2));
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most { Err(Unusable::Long.into()) } else { Ok(bytes) }
}

fn judge(stat: &Stat, user: u32) -> Result<(), Refused> {
    match () {
        () if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => Err(Refused::NotAFile),
        () if stat.st_uid != user && stat.st_uid != 0 => Err(Refused::Foreign(stat.st_uid)),
        () if stat.st_mode & 0o077 != 0 => Err(Refused::Open(stat.st_mode & 0o7777)),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;
    use std::os::unix::fs::PermissionsExt;

    fn with_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "canary-4242\n").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o660] {
            with_mode(&path, mode);
            let refused = secret(&path).unwrap_err();
            assert!(matches!(refused, Refused::Open(found) if found == mode), "{refused}");
            assert!(!format!("{refused:?} {refused}").contains("canary"));
        }
        for mode in [0o600, 0o400] {
            with_mode(&path, mode);
            assert_eq!(secret(&path).unwrap().expose_secret(), "canary-4242");
        }
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        assert!(secret(&folder.path().join("link")).is_ok(), "as mounted secrets are");
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(matches!(secret(&pipe), Err(Refused::NotAFile)));
        assert!(matches!(secret(folder.path()), Err(Refused::NotAFile)));
        assert!(matches!(secret(&folder.path().join("none")), Err(Refused::Io(_))));
    }
}
