//! A whole run in one file, to be moved to another state folder or machine.
//!
//! The file is a SQLite database, compressed, in an envelope with its length and a hash of everything (`envelope`). The database
//! is a journal with the records and blobs of the run, and three tables more (`content`): the manifest, the messages that wait in
//! the inbox, and the log. `export` makes it from one moment of the run, `import` makes a run of it.
//!
//! Kept true: an export was read back and verified before it is given out; nothing of an import is in the state folder before all
//! of it was verified and is on the disk, and then all of it is, by one rename. Rows are taken over, never tables or paths: a file
//! of somebody else's making can be refused or be a run, and nothing else.

mod content;
mod draft;
mod envelope;
mod export;
mod import;
#[cfg(test)]
mod tests;

pub use export::{Exported, export};
pub use import::{Imported, import};
