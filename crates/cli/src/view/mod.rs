//! What a person sees of a run: a fold over its events, and ways to print it.
//!
//! [`State`] is pure and knows no terminal; `block` turns it into the lines of the live view, `lines` turns single
//! events into lines, `screen` owns the terminal, `columns` aligns lists. A live run and a replayed one look the same.

mod activity;
mod block;
pub mod columns;
pub mod format;
mod lines;
mod outline;
mod partial_merges;
mod rows;
mod screen;
mod shown_failures;
mod state;
mod task;
mod titles;

pub use activity::Doing;
pub use block::block;
pub use lines::{grown, line};
pub use outline::Outline;
pub use partial_merges::PartialMerges;
pub use screen::{Screen, size};
pub use shown_failures::{ABOVE, ShownFailures};
pub use state::State;
