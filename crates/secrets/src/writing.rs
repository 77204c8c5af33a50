//! Writing a file that its owner alone can read: complete under its name, or not at all.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Replaces a file, or makes it, with mode 0600. What was there stays until the new one is on disk.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = Path::new(&beside);
    let written = write(beside, bytes).and_then(|()| std::fs::rename(beside, path));
    if written.is_err() {
        std::fs::remove_file(beside).ok();
    }
    written?;
    std::fs::File::open(folder)?.sync_all()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Left over by a process of the same number that died.
    std::fs::remove_file(path).ok();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
