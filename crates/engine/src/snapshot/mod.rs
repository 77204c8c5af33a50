//! Snapshots, so that a long journal opens quickly.
//!
//! A snapshot is a shorter list of events that folds to the same state as the journal up to some event: there is one fold and
//! no second way to build a state. `compact` makes the list and is pure; `pace` says when one is worth its price, and `keeper` has it
//! taken on a thread of its own. Where a snapshot lies, and whether it can be trusted, is left to the journal.
//!
//! Invariant: a snapshot is a cache. Without one, or with a damaged one, opening reads more and finds the same.

mod compact;
mod keeper;
mod pace;

pub(crate) use compact::is_boundary;
pub use compact::{RULES, compact};
pub(crate) use keeper::Keeper;
pub use pace::Pace;
