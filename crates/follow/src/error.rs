//! Why a forwarder cannot go on: its own files. What is wrong with a journal or a receiver is no error of it.

use std::path::PathBuf;

/// Why a forwarder cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its cursors cannot be read or kept.
    #[error("cursors `{}`: {source}", path.display())]
    Cursors {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A file of it cannot be made.
    #[error(transparent)]
    State(#[from] convoke_journal::Error),
    /// A thread or its runtime cannot be started.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}
