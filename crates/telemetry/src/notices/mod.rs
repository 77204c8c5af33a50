//! What a person should hear of: the end of a run, a question, money, silence, a failure, a pause.
//!
//! `fold` finds it in the events of a run, once for every way to be told; `webhook` posts it to an address, signed. Commands and
//! desktop notifications are `cli`'s, which tells them from the process that drives the run.

mod fold;
mod webhook;

pub use fold::{Nothing, Notice, RunNotices, Topic, ended_as};
pub use webhook::{Webhook, signature};
