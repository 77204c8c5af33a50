//! Paths as the kernel will meet them: without links, each once.

use crate::missing::Missing;
use std::path::{Path, PathBuf};

/// The writable roots. One that is not there cannot be held.
pub fn roots(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Missing> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in paths {
        let real = path.canonicalize().map_err(|error| Missing::path(path, error))?;
        if real == Path::new("/") {
            return Err(Missing::path(path, "the whole file system is no root to write to"));
        }
        if !roots.contains(&real) {
            roots.push(real);
        }
    }
    Ok(roots)
}

/// The hidden paths that are there and that we could look into, none below another.
pub fn hidden(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    real.retain(|path| path != Path::new("/"));
    real.sort();
    real.dedup_by(|later, earlier| later.starts_with(&*earlier));
    real
}
