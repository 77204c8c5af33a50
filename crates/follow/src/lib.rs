//! Follows the journals of a state directory, for receivers elsewhere: traces, webhooks, every later projection.
//!
//! A [`Consumer`] says what it makes of a run's events ([`Fold`]) and how that is delivered. This crate does the rest: it finds
//! runs that have something new (`runs`), reads each journal from where it was read last (`tail`), delivers in order and keeps how
//! far every run has been delivered (`cursors`), waits where the receiver cannot be reached (`backoff`), and lets one process at a time
//! do so (`lease`). [`Following`] does all of it on a thread of its own.
//!
//! ```text
//! follow/NAME.db     how far each run was delivered; what the receiver said last     cursors
//! follow/NAME.lock   held by the process that delivers                               lease
//! ```
//!
//! Runs know nothing of it: no run waits for a receiver, and nothing is kept in memory for one that is down, because the journals
//! are there. What is sent over which protocol is left to consumers.
//!
//! Kept true: a cursor moves only after the receiver has taken everything before it, so nothing is left out and what a crash hides
//! is delivered again; what a fold gives follows from the events alone, so what comes twice has the same ids. Of a fork nothing is
//! delivered that its base has done. A journal that cannot be read is skipped with the reason, and the others go on.

mod background;
mod backoff;
mod consumer;
mod cursors;
mod error;
mod forwarder;
mod lease;
mod runs;
mod tail;

pub use background::Following;
pub use consumer::{Consumer, Delivered, Fold, Standing, Totals, Undelivered, Urgency};
pub use cursors::{Account, Cursors, account, accounts};
pub use error::Error;
pub use forwarder::{Forwarder, Pass, Since};
pub use lease::Lease;
