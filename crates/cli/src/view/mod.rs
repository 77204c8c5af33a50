//! What a person sees of a run: a fold over its events, and ways to print it.
//!
//! [`State`] is pure and knows no terminal; `block` turns it into the lines of the live view, `lines` turns single
//! events into lines, `screen` owns the terminal. A live run and a replayed one look the same.

mod activity;
mod block;
mod fold;
mod growing;
mod lines;
mod outline;
mod screen;
mod state;
mod task;
mod titles;
mod told;
pub mod words;

pub use activity::Doing;
pub use block::block;
pub use growing::Growing;
pub use lines::{grown, line};
pub use outline::Outline;
pub use screen::{Screen, size};
pub use state::State;
pub use told::{ABOVE, Told};
