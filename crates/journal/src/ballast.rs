//! Room for the last words on a full disk.
//!
//! A file of 64 KiB that is given up when a run on a full disk stops, so that it can still record that. A run that waits for room
//! keeps it: an append that is tried again must find room of its own, or the run would go on with none for its last words. The
//! ballast comes back when there is room again, and it goes with its owner. Losing it is harmless, so its own errors are dropped.

use convoke_failpoint::failpoint;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const SIZE: usize = 64 * 1024;

/// Room enough that taking the ballast back does not fill the disk again.
const ENOUGH: u64 = 16 * SIZE as u64;

/// The file, and whether it is there.
#[derive(Debug)]
pub(crate) struct Ballast {
    path: PathBuf,
    present: bool,
}

impl Ballast {
    pub fn new(dir: &Path) -> Ballast {
        let path = dir.join("ballast");
        let present = fs::metadata(&path).is_ok_and(|meta| meta.len() == SIZE as u64);
        let mut ballast = Ballast { path, present };
        ballast.restore();
        ballast
    }

    /// Gives the room to the next write.
    pub fn release(&mut self) {
        fs::remove_file(&self.path).ok();
        self.present = false;
        failpoint!("journal.ballast.released");
    }

    /// Takes the room back if the disk can spare it.
    pub fn restore(&mut self) {
        if !self.present && self.disk_can_spare_it() {
            failpoint!("journal.ballast.before_fill");
            self.present = self.fill().is_ok();
            failpoint!("journal.ballast.filled");
        }
    }

    fn disk_can_spare_it(&self) -> bool {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize > ENOUGH)
    }

    fn fill(&self) -> std::io::Result<()> {
        // Not zeros: a file system that compresses would give no room back for them.
        let mut noise = vec![0; SIZE];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).open(&self.path)?.write_all(&noise)
    }
}

impl Drop for Ballast {
    /// A run without an owner gets no appends, and many finished runs must not weigh.
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_given_up_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut ballast = Ballast::new(dir.path());
        assert_eq!(fs::metadata(&ballast.path).unwrap().len(), SIZE as u64);
        ballast.release();
        assert!(!ballast.path.exists());
        ballast.restore();
        assert!(ballast.present && ballast.path.exists());
    }
}
