//! Organisations that work, and a memory of runs that can be asked.
//!
//! ```text
//! company.ttl ──► org ──► rules ──► checks, manifest            pure
//! plan + events ──► project ──► quads                           pure
//!                                 └──► store (SQLite) ──► ask    disk
//!                      journals ──► update (follow) ─┘     └──► export, worker, endpoint
//! ```
//!
//! | module | is for |
//! |---|---|
//! | `vocab`, `term` | names; terms as numbers |
//! | `project` | what a journal says, as quads: the same events give the same quads |
//! | `rules` | OWL 2 RL, with the proof of what is inferred |
//! | `org` | files that describe organisations: reading, checking, and the manifest of a department or of all |
//! | `store` | quads in SQLite, read by `spareval`; words of texts behind `cv:matches` |
//! | `update` | brings the store up to date with the journals of a state directory |
//! | `ask` | queries that others wrote: read-only and bounded; prepared questions |
//! | `worker` | the process in which such a query runs |
//! | `export` | the graph of a run in the formats of others |
//!
//! The store is a projection of the journals: it can be deleted at any time, and is never on the engine's path. Values of a run (prompts,
//! outputs, inputs, messages, paths) are not in it.

pub mod ask;
pub mod export;
pub mod org;
pub mod project;
pub mod rules;
pub mod store;
pub mod term;
pub mod update;
pub mod vocab;
pub mod worker;

mod error;

pub use error::Error;
pub use oxrdf::{Quad, Triple};
