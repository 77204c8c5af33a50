//! The world as workflow files see it: this machine's disk and environment.

use convoke_plan::Sources;
use convoke_plan::source::SourceReadError;
use std::io::ErrorKind;

/// The longest file that is read at all. Workflow files have a limit of their own far below it; this one only keeps a
/// wrong path (a disk image, a log) from filling the memory first.
const LONGEST: u64 = 256 << 20;

/// Reads paths relative to the current folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

/// One text under a name of its own, and the disk behind it.
#[derive(Debug, Clone, Copy)]
pub struct Made<'a> {
    /// The name.
    pub path: &'a str,
    /// The text.
    pub text: &'a str,
}

impl Sources for Made<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        if path == self.path { Ok(self.text.as_bytes().to_vec()) } else { Disk.read(path) }
    }

    fn env(&self, name: &str) -> Option<String> {
        Disk.env(name)
    }
}

impl Sources for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        let about = std::fs::metadata(path).map_err(refusal)?;
        if !about.is_file() {
            return Err(SourceReadError::NotAFile);
        }
        if about.len() > LONGEST {
            return Err(SourceReadError::Unreadable(format!(
                "it has {} bytes, more than {LONGEST}",
                about.len()
            )));
        }
        std::fs::read(path).map_err(refusal)
    }

    fn env(&self, name: &str) -> Option<String> {
        crate::env::get(name)
    }
}

fn refusal(error: std::io::Error) -> SourceReadError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => SourceReadError::NotFound,
        ErrorKind::IsADirectory => SourceReadError::NotAFile,
        ErrorKind::PermissionDenied => SourceReadError::Unreadable("permission denied".to_owned()),
        _ => SourceReadError::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_missing_files_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        std::fs::write(path("f"), "x").unwrap();
        assert_eq!(Disk.read(&path("f")), Ok(b"x".to_vec()));
        assert_eq!(Disk.read(&path("")), Err(SourceReadError::NotAFile));
        assert_eq!(Disk.read(&path("none")), Err(SourceReadError::NotFound));
        assert_eq!(Disk.read(&path("f/below")), Err(SourceReadError::NotFound));
    }
}
