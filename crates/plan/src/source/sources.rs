//! How reading reaches the world: one trait, given by the caller, and arithmetic on paths.
//!
//! Nothing here touches a disk. Paths are text with `/` between the parts, relative to wherever the caller's
//! [`Sources`] counts from.

use super::roles::{Organisation, OrganisationError};
use crate::diagnostic::SourceFile;
use std::sync::Arc;

/// The files and the environment that a workflow may refer to.
pub trait Sources {
    /// The bytes of a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError>;
    /// What is right below a folder, sorted by name: files and folders, no links to folders. A world that has no folders refuses.
    fn list(&self, _folder: &str) -> Result<Vec<Entry>, SourceReadError> {
        Err(SourceReadError::Unreadable("folders cannot be listed here".to_owned()))
    }
    /// The value of an environment variable, `None` when it is not set (an empty value is set).
    fn env(&self, name: &str) -> Option<String>;
    /// Whether a name stands for a secret that is declared outside of the file: its value is known at the start of a run alone.
    fn is_secret(&self, _name: &str) -> bool {
        false
    }
    /// What a file says of an organisation. A world that knows none refuses.
    fn organisation(&self, _file: &Arc<SourceFile>) -> Result<Organisation, OrganisationError> {
        Err(OrganisationError::Unknown)
    }
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without the folder.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
}

/// What is right below a folder, for a world that knows its files by their paths.
pub fn entries_of<'a>(
    paths: impl Iterator<Item = &'a String>,
    folder: &str,
) -> Result<Vec<Entry>, SourceReadError> {
    let below = |path: &'a String| match folder {
        "." => Some(path.as_str()),
        folder => path.strip_prefix(folder)?.strip_prefix('/'),
    };
    let entry = |rest: &str| match rest.split_once('/') {
        Some((name, _)) => Entry { name: name.to_owned(), is_folder: true },
        None => Entry { name: rest.to_owned(), is_folder: false },
    };
    let entries: std::collections::BTreeSet<Entry> = paths.filter_map(below).map(entry).collect();
    if entries.is_empty() { Err(SourceReadError::NotFound) } else { Ok(entries.into_iter().collect()) }
}

/// A world in which there is nothing: for texts that stand for themselves.
pub(super) struct Nothing;

impl Sources for Nothing {
    fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
        Err(SourceReadError::Unreadable("files cannot be included here".to_owned()))
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }
}

/// Why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceReadError {
    /// Nothing has this path.
    #[error("not found")]
    NotFound,
    /// The path is a folder or a device.
    #[error("not a file")]
    NotAFile,
    /// It lies beyond the folder that the files of the workflow may come from.
    #[error("outside the project `{0}`")]
    Outside(String),
    /// It exists and cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}
