//! A lock between processes that ends with its holder, however that ends.

use crate::error::Trouble;
use std::fs::{File, OpenOptions};
use std::path::Path;

/// Held until it is dropped.
#[derive(Debug)]
pub(crate) struct Locked(#[allow(dead_code, reason = "holds the lock")] File);

/// Waits for a lock. The file stays: one that is removed would be two files for two holders.
pub(crate) fn lock(path: &Path) -> Result<Locked, Trouble> {
    let what = || format!("the lock `{}`", path.display());
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|error| Trouble::io(what())(error))?;
    file.lock().map_err(|error| Trouble::io(what())(error))?;
    Ok(Locked(file))
}
