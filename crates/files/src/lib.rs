//! Files beneath a folder, by descriptor.
//!
//! A [`Root`] is a folder that hands may work in. Every path is resolved by the kernel beneath it (`system`): no `..`, no symbolic
//! link and no magic link leads out, whatever is swapped meanwhile. Reading follows links that stay beneath; writing follows none.
//! Names of `convoke_model::protected` are refused, also while nothing is there. Files are replaced as a whole or not at all
//! (`writing`), several of them together (`changes`). [`edit`] and [`patch`] are about texts alone, [`glob`] and [`search`] about
//! finding.
//!
//! Whether somebody may use a file, and what is told of it, is for the callers. Only Linux has what this needs; elsewhere no root
//! can be opened, and the refusal says so.

mod changes;
pub mod edit;
pub mod glob;
mod ignored;
mod listing;
pub mod patch;
mod place;
mod reading;
mod refusal;
mod root;
pub mod search;
mod system;
mod turns;
mod writing;

pub use changes::Change;
pub use listing::{Entry, Walk, Walked};
pub use place::Place;
pub use reading::{Found, Kind, is_binary};
pub use refusal::Refusal;
pub use root::{Root, Standing};
