//! What can go wrong with the store and with questions to it.

use std::path::PathBuf;

/// Why something about the graph does not work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database itself.
    #[error("the knowledge graph `{path}` cannot be used: {source}")]
    Store {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// A query that is not answered, in words for its author.
    #[error("{0}")]
    Refused(String),
    /// A query that was stopped because it passed a limit.
    #[error("the query was stopped: {0}")]
    Stopped(String),
    /// Journals could not be followed.
    #[error(transparent)]
    Follow(#[from] convoke_follow::Error),
    /// A journal could not be read.
    #[error(transparent)]
    Journal(#[from] convoke_journal::Error),
    /// Files or processes.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl Error {
    /// Whether the disk has no room for the graph.
    pub fn is_full_disk(&self) -> bool {
        let Error::Store { source: rusqlite::Error::SqliteFailure(failure, _), .. } = self else {
            return false;
        };
        failure.code == rusqlite::ErrorCode::DiskFull
    }
}
