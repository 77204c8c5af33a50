//! What others are told about runs: spans for traces, numbers for dashboards, records for logs, notices for people.
//!
//! Each is a fold of the journal, apart from the way that it is sent: `spans` folds events to spans, `instruments` to numbers, `records`
//! to log records, and `otlp` sends them; `metrics` folds runs to numbers and prints them for Prometheus, `notices` folds events to what a person should hear of and posts it. Following journals,
//! repeating what was not delivered and keeping cursors is `follow`'s; reading the configuration and the environment is `cli`'s.
//!
//! Kept true: everything follows from the journal, so what is sent twice has the same ids; prompts, answers and arguments of tools
//! leave the machine only where that was asked for, and without known keys; no run waits for any of it.

mod by_run;
mod client;
pub mod instruments;
pub mod metrics;
pub mod notices;
pub mod otlp;
pub mod records;
pub mod spans;

pub use client::{Address, AddressError, basic};
