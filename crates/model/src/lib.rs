//! The words that every part of Convoke shares.
//!
//! Data only: ids, times, payloads, failures, usage, what an attempt is asked to do, and the events that a run is the fold of,
//! and how part of a text is shown ([`excerpt`]). Nothing here waits, reads a clock or decides what happens next;
//! [`Failure::remedy`] is the one rule kept here, because plan, scheduler and reports must agree on it.

mod ask;
mod assignment;
mod blocked;
mod child;
pub mod citations;
mod effect;
mod event;
mod failure;
pub mod fit;
mod fnv;
mod gate;
mod goal;
pub mod hash;
mod id;
mod model_call;
mod money;
mod payload;
mod project;
mod proof;
pub mod reference;
mod rights;
mod schema;
mod secret_source;
pub mod synthesis;
mod text;
mod time;
mod workspace;

pub use money::catalog;
use money::{budget, price, usage};
use rights::{approval, asked, capability, contract, own_tools, tools};
pub use rights::{clearance, protected};
use text::{count, printable, spelling};
pub use text::{excerpt, secret};

pub use approval::*;
pub use ask::*;
pub use asked::*;
pub use assignment::*;
pub use blocked::Blocked;
pub use budget::*;
pub use capability::*;
pub use child::*;
pub use clearance::ToolName;
pub use contract::*;
pub use count::counted;
pub use effect::*;
pub use event::*;
pub use failure::*;
pub use fnv::{fnv, fnv_from};
pub use gate::*;
pub use goal::*;
pub use id::*;
pub use model_call::*;
pub use own_tools::*;
pub use payload::*;
pub use price::*;
pub use printable::{is_control, is_plain, json_without_controls};
pub use project::*;
pub use proof::*;
pub use schema::*;
pub use secret_source::*;
pub use spelling::{edit_distance, nearest};
pub use time::*;
pub use tools::*;
pub use usage::*;
pub use workspace::*;
