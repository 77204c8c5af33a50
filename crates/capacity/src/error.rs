//! What can go wrong with the shared table.
//!
//! A refusal that is part of the game (blocked, timed out, lost a race) is an answer, not an error.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A failure of the shared table, or a misuse of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be used.
    #[error("capacity table `{path}`: cannot {doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another user owns the file.
    #[error("capacity table `{path}`: it belongs to another user (uid {owner})")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// The file was cut short while it was in use. This process can take nothing more from it.
    #[error("capacity table `{path}`: it was cut short while in use")]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// A live process uses the file in another format.
    #[error(
        "capacity table `{path}`: format {found}, this program writes {ours}, and a live process uses it"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The format in the file.
        found: u32,
        /// The format of this program.
        ours: u32,
    },
    /// A process holds the table and does not go on: stopped, most likely. Nothing can be granted until it continues
    /// or ends.
    #[error("capacity table: {} has held it for {since:?} and does not go on", holder(*pid))]
    Stuck {
        /// The process, as it sees itself; zero if it could not be read.
        pid: u32,
        /// For how long this process has watched it do nothing.
        since: Duration,
    },
    /// No room. What is there stays as it is.
    #[error("capacity table: all {size} {table} are in use")]
    Full {
        /// Which table.
        table: &'static str,
        /// Its size.
        size: usize,
    },
    /// More than there will ever be.
    #[error("`{resource}`: {wanted} wanted, the limit is {limit}")]
    NeverFits {
        /// The resource.
        resource: String,
        /// The amount.
        wanted: u32,
        /// The limit in force.
        limit: u32,
    },
    /// A demand, a name or a time that makes no sense.
    #[error("capacity: {what}")]
    Invalid {
        /// What is wrong with it.
        what: String,
    },
    /// This process has not defined the resource, or has forgotten it.
    #[error("capacity: resource {index} is not defined by this process")]
    UnknownResource {
        /// Its index.
        index: u32,
    },
    /// The lease was given back already. Recorded.
    #[error("lease {token} was released already")]
    DoubleRelease {
        /// Its fencing token.
        token: u64,
    },
    /// The token is not the newest of its slot, or another process's. Recorded.
    #[error("lease {token} is not this process's, or no longer")]
    Stale {
        /// The fencing token.
        token: u64,
    },
    /// The lease ran out. Its capacity is in quarantine until [`confirm_gone`](crate::Capacity::confirm_gone). Recorded.
    #[error("lease {token} has expired and is in quarantine")]
    Expired {
        /// Its fencing token.
        token: u64,
    },
    /// Work was started with the lease already. Recorded.
    #[error("lease {token} was consumed already")]
    AlreadyConsumed {
        /// Its fencing token.
        token: u64,
    },
    /// There is no such ticket any more.
    #[error("ticket {ticket} does not wait (any more)")]
    NoTicket {
        /// Its number.
        ticket: u64,
    },
}

impl Error {
    /// Whether the same may succeed later: a table or a disk without room.
    pub fn may_pass(&self) -> bool {
        let is_full = |kind| matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        matches!(self, Self::Full { .. }) || matches!(self, Self::Io { source, .. } if is_full(source.kind()))
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid { what: what.into() }
    }
}

fn holder(pid: u32) -> String {
    match pid {
        0 => "a process".to_owned(),
        pid => format!("process {pid}"),
    }
}
