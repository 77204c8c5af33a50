//! What can keep a figure from being measured.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk or the system refused.
    #[error("cannot {doing} `{path}`")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A program under test failed, so what it took means nothing.
    #[error("`{command}` ended with {code}: {said}")]
    Child {
        /// What was run.
        command: String,
        /// The exit code, or the signal as a negative number.
        code: i32,
        /// The end of its standard error.
        said: String,
    },
    /// A journal cannot be made or read.
    #[error("the journal of a measured run cannot be used")]
    Journal(#[from] convoke_journal::Error),
    /// A run inside this program failed.
    #[error("a measured run failed")]
    Engine(#[from] convoke_engine::EngineError),
    /// Something is not as the benchmark needs it.
    #[error("{0}")]
    Odd(String),
}

impl Error {
    /// Names what was tried on a path.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = path.to_owned();
        move |source| Error::Io { doing, path, source }
    }
}

/// An error and its causes on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
