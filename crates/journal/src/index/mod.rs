//! The index of runs: what every list and search shows, without opening every journal.
//!
//! A projection. The folders of the runs are the truth: before an answer the index is brought into line with them (`line`), and a
//! missing or damaged index is made anew without a word. Losing it costs time, nothing else, so it is never synced.
//!
//! `row` folds a run's events to its line, `store` keeps the lines, `search` finds them, `prune` removes runs by them, `sweep`
//! deletes what was left half way, and `resolve` finds a run by what a person typed. Invariant: the line of a run that has ended
//! is believed; every other line is compared with its run's folder before it is shown.

mod line;
mod prune;
mod resolve;
mod row;
mod search;
mod store;
pub(crate) mod sweep;

pub use line::stands;
pub use prune::{COMMANDS, Prune, Pruned, Removed};
pub use row::{RunRow, summarize};
pub use search::Search;
pub use store::Index;
