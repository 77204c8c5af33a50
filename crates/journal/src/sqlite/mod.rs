//! A run's journal in a SQLite file.
//!
//! `Reader` looks, `Sqlite` owns; `schema` knows the format, `pack` compresses blobs, `verify` checks everything, and `fault`
//! says what an error of the database means, `salvage` puts pages together that the database does not read any more, `snapshot` keeps shorter histories beside it, `vfs` is between SQLite and the disk. Invariant: the owner's is the only
//! connection that writes.

mod copy;
mod fault;
mod owned;
mod pack;
mod reader;
mod repair;
mod salvage;
mod schema;
mod snapshot;
mod verify;
mod vfs;
pub(crate) mod whole;

pub use copy::Prefix;
pub(crate) use fault::{file_uri, refusal};
pub use owned::{Sqlite, StoppedOwner, TakenOver};
pub(crate) use pack::{Packer, Unpacker};
pub use reader::Reader;
pub use repair::{Repaired, repair};
pub use snapshot::{Compact, SnapshotTaker, verify_snapshots};
pub use verify::{Verified, verify};

use convoke_model::JsonText;

/// What a run is made from, stored with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunMeta {
    /// The plan, as JSON.
    pub plan: JsonText,
    /// The texts that the plan was compiled from, as JSON; the journal does not look inside.
    pub source: JsonText,
}
