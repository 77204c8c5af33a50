//! How a terminal shows a run: drawings of what `convoke_view` folds.
//!
//! `block` turns a state into the lines of the live view, `lines` turns single events into lines, `screen` owns the
//! terminal, `columns` aligns lists. A live run and a replayed one look the same.

mod block;
pub mod columns;
pub mod format;
mod lines;
mod rows;
mod screen;

pub use block::block;
pub use lines::{grown, line};
pub use screen::{Screen, size};
