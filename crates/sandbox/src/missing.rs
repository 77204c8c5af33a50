//! Why there is no sandbox.

/// What the machine lacks, or does not allow, for a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The system is another one.
    #[error("there is no sandbox for {0}")]
    System(&'static str),
    /// Landlock is not there.
    #[error("Landlock is not there: {0} (Linux 5.19 or newer, with `landlock` among the security modules)")]
    Landlock(String),
    /// Seccomp is not there.
    #[error("seccomp filters are not there: {0}")]
    Seccomp(String),
    /// Namespaces are not allowed.
    #[error("namespaces are not allowed: {0} (user namespaces for ordinary users, or root)")]
    Namespaces(String),
    /// A host that cannot be allowed.
    #[error(
        "`{0}` is no host that can be allowed: a name, `*.` and a name, or an address, with a port or without"
    )]
    Host(String),
    /// A path of the confinement cannot be used.
    #[error("`{path}` cannot be held: {cause}")]
    Path {
        /// Which one.
        path: String,
        /// Why.
        cause: String,
    },
    /// The child could not enter it.
    #[error("the sandbox could not be entered ({stage}): {cause}")]
    Entry {
        /// At what.
        stage: &'static str,
        /// Why.
        cause: String,
    },
}

impl Missing {
    pub(crate) fn path(path: &std::path::Path, cause: impl std::fmt::Display) -> Missing {
        Missing::Path { path: path.display().to_string(), cause: cause.to_string() }
    }
}
