//! The words that every part of Convoke shares.
//!
//! Data only: ids, times, payloads, failures, usage, what an attempt is asked to do, and the events that a run is the fold of,
//! and how part of a text is shown ([`excerpt`]). Nothing here waits, reads a clock or decides what happens next;
//! [`Failure::remedy`] is the one rule kept here, because plan, scheduler and reports must agree on it.

mod ask;
mod assignment;
mod budget;
mod capability;
pub mod catalog;
mod child;
pub mod clearance;
mod contract;
mod count;
mod event;
pub mod excerpt;
mod failure;
pub mod fit;
mod fnv;
mod goal;
pub mod hash;
mod id;
mod payload;
mod price;
mod printable;
mod project;
pub mod reference;
mod schema;
pub mod secret;
mod spelling;
pub mod synthesis;
mod time;
mod tools;
mod uptime;
mod usage;
mod worked;

pub use ask::*;
pub use assignment::*;
pub use budget::*;
pub use capability::*;
pub use child::*;
pub use clearance::ToolName;
pub use contract::*;
pub use count::counted;
pub use event::*;
pub use failure::*;
pub use fnv::{fnv, fnv_from};
pub use goal::*;
pub use id::*;
pub use payload::*;
pub use price::*;
pub use printable::is_control;
pub use project::*;
pub use schema::*;
pub use spelling::{edit_distance, nearest};
pub use time::*;
pub use tools::*;
pub use uptime::{Uptime, clock_offset};
pub use usage::*;
pub use worked::Absences;
