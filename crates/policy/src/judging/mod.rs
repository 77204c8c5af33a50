//! A policy, a command and a world to a verdict.
//!
//! `command` walks over a script with the working directory it has at each place; `call` judges one call of a program, its wrappers
//! taken off; `place` judges paths; `address` judges hosts. Invariant: whatever is not understood is a reason, and a plan holds
//! exactly what was judged.

mod address;
mod call;
mod command;
mod directory;
mod expand;
mod listed;
mod place;
mod tool;

pub use address::{Host, parse_host};
