//! How far appends were acknowledged, kept beside the journal.
//!
//! A chain of hashes shows every change but one: its end cut off. Damage in a write-ahead log, a log deleted by hand or
//! an older copy of the database all look like a shorter, valid journal. So the number and hash of the last
//! acknowledged record are written to a small file after each commit, without a sync: it survives the death of the
//! process, and after a power loss it is at worst older than the journal, never newer. Without a tip that can be read, the end
//! of the journal is taken as it is, and that is said.

use crate::disk;
use crate::record::{Chain, Hash};
use crate::state::private_file;
use crate::{Error, StateDir};
use convoke_model::{RunId, Timestamp};
use std::fs::File;
use std::path::{Path, PathBuf};

const LENGTH: usize = 48;

/// The last acknowledged event and the hash of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub seq: u64,
    pub hash: Hash,
}

/// The file that the owner keeps.
#[derive(Debug)]
pub(crate) struct TipFile {
    file: File,
    path: PathBuf,
}

impl TipFile {
    pub fn open(dir: &Path) -> Result<TipFile, Error> {
        let path = tip_path(dir);
        Ok(TipFile { file: private_file(&path)?, path })
    }

    /// Notes that everything up to here was acknowledged.
    pub fn note(&self, chain: &Chain) -> Result<(), Error> {
        let tip = Tip { seq: chain.next - 1, hash: chain.hash };
        disk::write_at(&self.file, &self.path, &tip.bytes(), 0).map_err(Error::io("write", &self.path))
    }
}

impl Tip {
    /// The tip of a run, if there is one that can be read.
    pub fn read(dir: &Path) -> Option<Tip> {
        let bytes = std::fs::read(tip_path(dir)).ok()?;
        let (seq, hash) = (bytes.get(..8)?, bytes.get(8..40)?);
        let tip = Tip { seq: u64::from_le_bytes(seq.try_into().ok()?), hash: hash.try_into().ok()? };
        (bytes == tip.bytes()).then_some(tip)
    }

    /// Whether the file is there and nothing was noted in it yet.
    pub fn is_unwritten(dir: &Path) -> bool {
        std::fs::metadata(tip_path(dir)).is_ok_and(|file| file.len() == 0)
    }

    fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&self.seq.to_le_bytes());
        bytes[8..40].copy_from_slice(&self.hash);
        let check = blake3::hash(&bytes[..40]);
        bytes[40..].copy_from_slice(&check.as_bytes()[..8]);
        bytes
    }
}

pub(crate) fn tip_path(dir: &Path) -> PathBuf {
    dir.join("tip")
}

/// How far appends to a run's journal were acknowledged; `None` where no tip can be read. Opens no journal.
pub fn acknowledged(state: &StateDir, run: &RunId) -> Option<u64> {
    Tip::read(&state.run_dir(run)).map(|tip| tip.seq)
}

/// When the last append to a run's journal was acknowledged, by the date of the file that says so.
pub fn touched(state: &StateDir, run: &RunId) -> Option<Timestamp> {
    let changed = std::fs::metadata(tip_path(&state.run_dir(run))).and_then(|file| file.modified()).ok()?;
    let since = changed.duration_since(std::time::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_micros()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tip_reads_back_and_a_damaged_one_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Tip::read(dir.path()), None);
        let file = TipFile::open(dir.path()).unwrap();
        file.note(&Chain { next: 42, epoch: 1, hash: [9; 32] }).unwrap();
        assert_eq!(Tip::read(dir.path()), Some(Tip { seq: 41, hash: [9; 32] }));
        let mut bytes = std::fs::read(tip_path(dir.path())).unwrap();
        bytes[3] ^= 1;
        std::fs::write(tip_path(dir.path()), &bytes).unwrap();
        assert_eq!(Tip::read(dir.path()), None);
    }
}
