//! What can go wrong between this process and the cluster.

use convoke_engine::EngineError;

/// Why something could not be done on a cluster.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No answer came.
    #[error("the cluster at {address} does not answer: {why}")]
    Away {
        /// Where it was looked for.
        address: String,
        /// What happened instead.
        why: String,
    },
    /// It answered that it cannot.
    #[error("the cluster at {address} refuses `{what}` ({status}): {why}")]
    Refused {
        /// Where.
        address: String,
        /// What was asked of it.
        what: String,
        /// The status of HTTP.
        status: u16,
        /// Its words.
        why: String,
    },
    /// Its words make no sense here.
    #[error("this version of convoke cannot read an answer of the cluster: {0}")]
    Unreadable(String),
    /// A run is kept in a form that this version does not know.
    #[error(
        "run `{run}` is stored in format {found}, and this version of convoke knows format {known}; a newer worker continues it"
    )]
    Newer {
        /// The run.
        run: String,
        /// The form.
        found: u32,
        /// What is known here.
        known: u32,
    },
    /// The state could not be made from the events.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The history is not what its head says.
    #[error("the events of run `{0}` do not match the hash of its head")]
    Torn(String),
    /// A plan or its inputs do not fit.
    #[error("the plan and its inputs have {is} MiB, and a run on a cluster begins with {most} MiB at most")]
    TooLarge {
        /// How large they are.
        is: usize,
        /// How large they may be.
        most: usize,
    },
    /// A key is none.
    #[error("`{0}` is not a public key of a cluster; such a key begins with `publickeyv1_`")]
    Key(String),
    /// A port or a file could not be used.
    #[error("{0}")]
    Io(String, #[source] std::io::Error),
}

impl ClusterError {
    /// Whether asking again is of no use.
    pub fn is_final(&self) -> bool {
        matches!(self, ClusterError::Refused { status, .. } if (400..500).contains(status))
    }
}
