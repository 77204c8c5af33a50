//! Append, replay, blobs, ownership, inbox and the index of runs.
//!
//! A run is the fold of its events, and this crate is where they are kept. A state folder holds
//!
//! ```text
//! runs.db                  an index for listings; can be rebuilt          index
//! runs/<id>/journal.db     the events, the blobs, the stored plan         sqlite
//! runs/<id>/owner.lock     names the owner process, which holds it        owner
//! runs/<id>/inbox.db       what other processes say to the run            inbox
//! runs/<id>/tip            how far appends were acknowledged              tip
//! runs/<id>/saying         what agents say at this moment; can be deleted  saying
//! runs/<id>/snapshots/     shorter histories; can be deleted            sqlite
//! runs/<id>/ballast        room for the last words on a full disk         ballast
//! ```
//!
//! The engine sees one trait, [`Journal`], with two implementations: [`Sqlite`] and [`Memory`]; [`Writer`] runs either
//! on a thread of its own. What events mean is left to the scheduler; when to append is left to the engine.
//!
//! Invariants: what `append` acknowledged is on the disk; a journal is one chain of records, each bound to the one
//! before by a hash; only the owner of the newest epoch appends; an inbox message is neither lost nor applied twice.

mod archive;
mod ballast;
pub mod disk;
mod error;
mod file_system;
mod inbox;
mod index;
mod journal;
mod memory;
mod owner;
mod packed;
mod payload;
mod project;
mod record;
mod remote;
mod run_id;
mod saying;
mod sqlite;
mod state;
mod stopped;
mod tip;
mod writer;

pub use archive::{Exported, Imported, export, import};
pub use convoke_model::Blocked;
pub use error::{Error, Missing, Unsuitable};
pub use file_system::{FileSystem, Probe};
pub use inbox::{Inbox, InboxMessage, Message, MessageId, Reply};
pub use index::{COMMANDS, Index, Prune, Pruned, Removed, RunRow, Search, stands, summarize};
pub use journal::Journal;
pub use memory::Memory;
pub use owner::{Held, Owner, blocked, live_owner};
pub use payload::blobs_of;
pub use project::{Key, ProjectFile, Settled, Shared};
pub use remote::Remote;
pub use run_id::run_id;
pub use saying::Saying;
pub use sqlite::{
    Compact, Prefix, Reader, Repaired, RunMeta, SnapshotTaker, Sqlite, StoppedOwner, TakenOver, Verified,
    repair, verify, verify_snapshots,
};
pub use state::{StateDir, private_file, replace_durably, replace_private, write_private};
pub use stopped::start_of;
pub use tip::{acknowledged, touched};
pub use writer::{Append, Writer};
