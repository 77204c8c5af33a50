//! Why something cannot be done with a file, said so that the agent that asked for it can do better.

use std::io;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It leads out of the folder.
    #[error("`{0}` leads out of the working folder; only what is beneath it can be reached")]
    Outside(String),
    /// Nothing is there.
    #[error("`{path}` does not exist{}", meant(.near))]
    Missing {
        /// What was asked for.
        path: String,
        /// A name in the same folder that is nearly the same.
        near: Option<String>,
    },
    /// It must not be written.
    #[error("`{path}` is protected and cannot be written: it is {what}")]
    Protected {
        /// What was asked for.
        path: String,
        /// What the name stands for.
        what: &'static str,
    },
    /// It must not be read.
    #[error("`{path}` may hold secrets and cannot be read")]
    Secret {
        /// What was asked for.
        path: String,
    },
    /// The way leads over a symbolic link.
    #[error("`{0}` leads over a symbolic link, and links are not written through; name the file itself")]
    Link(String),
    /// It is no file and no folder.
    #[error("`{path}` is a {kind}, not a file")]
    Special {
        /// What was asked for.
        path: String,
        /// What is there.
        kind: &'static str,
    },
    /// It is a folder.
    #[error("`{0}` is a folder, not a file")]
    Folder(String),
    /// It is no folder.
    #[error("`{0}` is not a folder")]
    NotFolder(String),
    /// It is longer than can be taken.
    #[error("`{path}` has {size} bytes, and the limit is {most}")]
    TooLarge {
        /// What was asked for.
        path: String,
        /// How long it is.
        size: u64,
        /// How long it may be.
        most: u64,
    },
    /// The name cannot be that of a file here.
    #[error("`{path}` cannot be a path here: {why}")]
    Name {
        /// What was asked for.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It must not be changed by its own permissions.
    #[error("`{0}` is read-only")]
    ReadOnly(String),
    /// Something is there already.
    #[error("`{0}` exists already")]
    Exists(String),
    /// It has become another since it was read.
    #[error("`{0}` was changed by something else meanwhile; nothing was written, read it again")]
    Changed(String),
    /// This system does not have what is needed.
    #[error("files cannot be reached safely on this system: {0}")]
    Unsupported(&'static str),
    /// Anything else.
    #[error("`{path}`: {error}")]
    System {
        /// What was asked for.
        path: String,
        /// What the system says.
        error: io::Error,
    },
}

fn meant(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

impl Refusal {
    /// What the system said about a path.
    pub(crate) fn of(path: &str, error: rustix::io::Errno) -> Refusal {
        use rustix::io::Errno;
        let path = path.to_owned();
        match error {
            Errno::NOENT => Refusal::Missing { path, near: None },
            Errno::XDEV => Refusal::Outside(path),
            Errno::LOOP => Refusal::Link(path),
            Errno::NOTDIR => Refusal::NotFolder(path),
            Errno::ISDIR => Refusal::Folder(path),
            Errno::EXIST => Refusal::Exists(path),
            Errno::NAMETOOLONG => Refusal::Name { path: shortened(&path), why: "it is too long" },
            Errno::NOSYS => Refusal::Unsupported("it has no `openat2` (Linux 5.6)"),
            error => Refusal::System { path, error: error.into() },
        }
    }

    /// Whether nothing was there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Refusal::Missing { .. })
    }
}

fn shortened(path: &str) -> String {
    path.chars().take(80).chain(['…']).collect()
}
