//! What can go wrong with stored state, by what can be done about it.
//!
//! `DiskFull` and `Busy` may pass; `Poisoned` and `Fenced` end this owner but not the run; `Damaged`, `Lost` and
//! `Corrupt` need a person. No variant is made by reading a message.

use crate::{Blocked, Held};
use convoke_model::{Digest, RunId};
use std::io;
use std::path::{Path, PathBuf};

/// Why stored state could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state folder cannot be used.
    #[error("state folder `{path}` cannot be used: {why}")]
    StateDir {
        /// The folder.
        path: PathBuf,
        /// The reason.
        why: Unsuitable,
    },
    /// No run fits the name.
    #[error("no run is named `{name}`{}", nearest.as_ref().map_or(String::new(), |n| format!("; the nearest is `{n}`")))]
    UnknownRun {
        /// What was asked for.
        name: String,
        /// The run whose name is most alike.
        nearest: Option<RunId>,
    },
    /// Several runs fit the name.
    #[error("`{name}` stands for {} runs, among them {}", runs.len(), few(runs))]
    AmbiguousRun {
        /// What was asked for.
        name: String,
        /// The runs that fit.
        runs: Vec<RunId>,
    },
    /// A run of this name is there already.
    #[error("run `{run}` exists already")]
    RunExists {
        /// Its name.
        run: RunId,
    },
    /// Another process drives the run.
    #[error("run `{run}` is driven by {holder}")]
    Owned {
        /// The run.
        run: RunId,
        /// The owner process.
        holder: Box<Held>,
    },
    /// Another process took the run over; this one may not append any more.
    #[error("run `{run}` was taken over: this owner has epoch {epoch}, the journal is at {current}")]
    Fenced {
        /// The run.
        run: RunId,
        /// The epoch of this owner.
        epoch: u64,
        /// The epoch of the journal.
        current: u64,
    },
    /// Events were given that do not follow the last one.
    #[error("event {found} was to be appended where event {expected} belongs")]
    Gap {
        /// The number that comes next.
        expected: u64,
        /// The number that was given.
        found: u64,
    },
    /// An inbox message cannot be marked as consumed by nothing.
    #[error("an inbox message is consumed by an append without events")]
    NothingToRecord,
    /// A write or a sync failed earlier; what is on the disk is known only after a restart.
    #[error("journal of run `{run}` takes no more events after an input/output error: {cause}")]
    Poisoned {
        /// The run.
        run: RunId,
        /// The error that poisoned it.
        cause: String,
    },
    /// The disk is full. Nothing of the append was written.
    #[error("no space left for `{path}`")]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// Another process holds the file for too long.
    #[error("`{path}` is in use by another process")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// An event is not what was written.
    #[error("journal of run `{run}` is damaged at event {seq}{}: {why}", if *torn_tail { " (a torn tail, nothing follows it)" } else { "" })]
    Damaged {
        /// The run.
        run: RunId,
        /// The first event that cannot be trusted.
        seq: u64,
        /// What is wrong with it.
        why: String,
        /// Whether it is in the last record, so that cutting it off gives a whole journal.
        torn_tail: bool,
    },
    /// Acknowledged events are not there.
    #[error(
        "journal of run `{run}` ends at event {last}, but event {acknowledged} was acknowledged: \
         a file was cut, damaged, lost or replaced by an older one"
    )]
    Lost {
        /// The run.
        run: RunId,
        /// The last event that is there.
        last: u64,
        /// The last event that was.
        acknowledged: u64,
    },
    /// A blob is not what its address says, or is not there.
    #[error("blob {digest}{} is {what}", seq.map_or(String::new(), |seq| format!(", named by event {seq},")))]
    Blob {
        /// Its address.
        digest: Digest,
        /// The event that names it, where that is known.
        seq: Option<u64>,
        /// What is wrong with it.
        what: Missing,
    },
    /// A snapshot is not what its events come to. Nothing is lost: it is not used.
    #[error("snapshot `{path}` is damaged: {why}")]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file is no whole export of a run.
    #[error("`{path}` cannot be imported: {why}")]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file comes from a newer version.
    #[error("`{path}` has format {found}, this version knows formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that is known here.
        known: i64,
    },
    /// The file has a format that there never was.
    #[error("`{path}` has format {found}, which no version of convoke writes")]
    NoFormat {
        /// The file.
        path: PathBuf,
        /// The format that it names.
        found: i64,
    },
    /// The end of the journal cannot be checked: the file that says how far it was acknowledged is gone.
    #[error(
        "the file `tip` of run `{run}` is missing or damaged: whether events after {last} were lost cannot be told"
    )]
    NoTip {
        /// The run.
        run: RunId,
        /// The last event that is there.
        last: u64,
    },
    /// The file is a database, but none of ours.
    #[error("`{path}` is not a journal of convoke")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Not even the beginning of a damaged run verifies.
    #[error("run `{run}` cannot be repaired: {why}")]
    Unrepairable {
        /// The run.
        run: RunId,
        /// The damage.
        why: String,
    },
    /// The database file itself is broken.
    #[error("`{path}` is corrupt: {why}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What the database says.
        why: String,
    },
    /// What the runs of a project share cannot be read or would not be readable any more.
    #[error("project context `{path}` does not fit: {why}")]
    Project {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
        why: String,
    },
    /// The operating system refused.
    #[error("cannot {doing} `{path}`")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The refusal.
        #[source]
        source: io::Error,
    },
    /// The database refused for another reason.
    #[error("database `{path}` refused")]
    Database {
        /// The file.
        path: PathBuf,
        /// The refusal.
        #[source]
        source: rusqlite::Error,
    },
    /// The thread that writes the journal is gone.
    #[error("the journal's writer has stopped")]
    Closed,
}

/// Why a folder cannot hold state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// It does not exist and could not be made.
    #[error("it does not exist and cannot be made ({0})")]
    Absent(String),
    /// There is something else of that name.
    #[error("it is not a folder")]
    NotAFolder,
    /// Permissions say no.
    #[error("it is not writable")]
    NotWritable,
    /// The file system is mounted read-only.
    #[error("its file system is read-only")]
    ReadOnly,
    /// Another user could change or replace its content.
    #[error("it belongs to user {owner}, not to user {user}")]
    ForeignOwner {
        /// Whose it is.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// It is a folder for everybody.
    #[error("other users may write to it (mode {mode:04o})")]
    WritableByOthers {
        /// Its permissions.
        mode: u32,
    },
    /// Locks and shared memory do not reach across machines.
    #[error("it lies on a network file system ({0}), where locks cannot be relied upon")]
    Network(&'static str),
    /// Nothing is known of its locks.
    #[error(
        "it lies on a file system in user space ({0}) that is not known to be of this machine alone, so locks cannot be relied upon"
    )]
    UserSpace(String),
}

/// What can be wrong with a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// It is not in the store.
    #[error("missing")]
    Absent,
    /// Its content has another digest or length.
    #[error("damaged")]
    Damaged,
}

impl Error {
    /// Whether the same append may succeed later, without a restart.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::DiskFull { .. } | Error::Busy { .. })
    }

    /// What a run waits for while this lasts.
    pub fn blocks(&self) -> Option<Blocked> {
        match self {
            Error::DiskFull { .. } => Some(Blocked::Disk),
            Error::Busy { .. } => Some(Blocked::Lock),
            _ => None,
        }
    }

    /// What a person could do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Error::StateDir { why: Unsuitable::Network(_) | Unsuitable::UserSpace(_), .. } => {
                "choose a folder on a disk of this machine: `--state-dir`, CONVOKE_STATE_DIR or `state_dir` of the configuration"
            }
            Error::StateDir { .. } => "choose another folder for state",
            Error::Owned { .. } => "wait for it, or stop that process first",
            Error::Poisoned { .. } => {
                "check the disk, then resume the run: it continues from what is on the disk"
            }
            Error::DiskFull { .. } => "free some space; the run goes on by itself",
            Error::Damaged { torn_tail: true, .. } => {
                "`convoke repair RUN` cuts the torn tail off and keeps a copy; then resume the run"
            }
            Error::Damaged { .. } | Error::Corrupt { .. } => {
                "restore the run's folder from a backup, or go back to the events before the damage: `convoke repair RUN`"
            }
            Error::Lost { .. } => {
                "restore the whole folder of the run; to go on with the events that can be read: `convoke repair RUN`"
            }
            Error::NoFormat { .. } => {
                "restore the run's folder from a backup: the file was damaged or changed"
            }
            Error::NoTip { .. } => {
                "restore the whole folder of the run; to accept the events that are there: `convoke repair RUN`"
            }
            Error::Unrepairable { .. } => {
                "restore the run's folder from a backup, or the run from an export: `convoke import FILE`; nothing was changed"
            }
            Error::Snapshot { .. } => "delete it: the run is opened from its journal; then check the disk",
            Error::Archive { .. } => "export the run again, or copy the file again",
            Error::Newer { .. } => "use the version of convoke that wrote it, or a later one",
            _ => return None,
        })
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Error::DiskFull { path: path.into() }
            }
            _ => Error::Io { doing, path: path.into(), source },
        }
    }

    pub(crate) fn unknown_run(run: &RunId) -> Error {
        Error::UnknownRun { name: run.to_string(), nearest: None }
    }
}

fn few(runs: &[RunId]) -> String {
    let names: Vec<_> = runs.iter().take(3).map(|run| format!("`{run}`")).collect();
    names.join(", ")
}
