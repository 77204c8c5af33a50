//! The right to deliver to one receiver: one process of a state directory has it.
//!
//! A lock on a file, which ends with its process, whatever ends that. Invariant: two processes never deliver to the same receiver at
//! once, so what arrives of a run arrives in order.

use crate::Error;
use convoke_journal::{StateDir, private_file};
use rustix::fs::{FlockOperation, flock};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Held for as long as it lives.
#[derive(Debug)]
pub struct Lease {
    _file: File,
}

impl Lease {
    /// Takes it; `None` where another process has it.
    pub fn take(state: &StateDir, name: &str) -> Result<Option<Lease>, Error> {
        let path = file(state, name, "lock");
        make_folder(&path)?;
        let file = private_file(&path)?;
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok(locked.then_some(Lease { _file: file }))
    }

    /// Whether a process has it at this moment. Looking does not take it from a process that comes just now: that one tries again.
    pub fn is_held(state: &StateDir, name: &str) -> bool {
        let Ok(file) = File::open(file(state, name, "lock")) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }
}

/// The folder of all forwarders.
pub(crate) fn folder(state: &StateDir) -> PathBuf {
    state.path().join("follow")
}

/// A file of the forwarder with this name.
pub(crate) fn file(state: &StateDir, name: &str, ending: &str) -> PathBuf {
    folder(state).join(format!("{name}.{ending}"))
}

pub(crate) fn make_folder(of: &Path) -> Result<(), Error> {
    let folder = of.parent().unwrap_or(of);
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(Error::Start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_another_name_is_another_lease() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        let first = Lease::take(&state, "a").unwrap().expect("it is free");
        assert!(Lease::take(&state, "a").unwrap().is_none());
        assert!(Lease::is_held(&state, "a") && !Lease::is_held(&state, "b"));
        assert!(Lease::take(&state, "b").unwrap().is_some());
        drop(first);
        assert!(!Lease::is_held(&state, "a"));
        assert!(Lease::take(&state, "a").unwrap().is_some());
    }
}
