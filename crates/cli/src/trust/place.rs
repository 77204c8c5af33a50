//! Where a workflow lies: a file without links in its path, or a URL.

use std::path::{Path, PathBuf};

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// An address.
    Url(String),
}

impl Place {
    /// Of what a person or a caller wrote.
    pub fn of(written: &Path) -> Place {
        match written.to_str() {
            Some(text) if super::is_url(text) => Place::Url(text.to_owned()),
            _ => Place::File(written.canonicalize().unwrap_or_else(|_| written.to_owned())),
        }
    }

    /// Whether it is a file below one of these folders, which have no links in their paths.
    pub fn is_below(&self, folders: &[PathBuf]) -> bool {
        matches!(self, Place::File(path) if folders.iter().any(|folder| path.starts_with(folder)))
    }

    /// The folder that a file lies in.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Place::File(path) => path.parent(),
            Place::Url(_) => None,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::File(path) => path.display().fmt(f),
            Place::Url(url) => f.write_str(url),
        }
    }
}
