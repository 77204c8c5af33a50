//! The index of runs: what a listing shows, without opening every journal.
//!
//! A cache. The folders of the runs are the truth: a listing is brought into line with them first, and a missing or
//! damaged index is made anew without a word. Losing it costs time, nothing else, so it is never synced.

mod prune;
mod resolve;
mod row;
mod store;

pub use prune::Prune;
pub use row::{RunRow, summarize};
pub use store::{Index, stands};
