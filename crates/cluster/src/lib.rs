//! Runs on many machines: the same plans, events and decisions, with a Restate cluster in place of a state directory.
//!
//! Restate keeps the log, the locks, the timers and the delivery; [`convoke_engine::Core`] decides, as on one machine. A run is an
//! object keyed by its id (`run`). One exclusive call of it is the engine's turn: facts in, one decision as a journaled step
//! (`turn`), events into the object's state, then effects as sends. Attempts are calls of a service (`attempt`) which any worker
//! takes; they go on as jobs of its process (`jobs`), and what they say comes back as facts, in batches (`facts`). A `Ledger` object
//! lists the runs (`directory`). [`Worker`] serves all of it; [`Client`] is what commands use.
//!
//! Left to others: what an attempt does (`agent`, through [`convoke_handover::Performers`]), the terminal and the copy of a run's
//! journal that commands read (`cli`).
//!
//! Kept true: a decision is made once and carried out as it was recorded, wherever the call is repeated. An attempt records that it
//! begins before it acts, and nothing performs it a second time: if that process is gone, the run is told that the attempt is lost.

mod address;
mod attempt;
mod client;
mod directory;
mod error;
mod facts;
mod hosted;
mod ingress;
mod jobs;
mod link;
mod peers;
mod plan;
mod process;
mod question;
mod run;
mod turn;
mod values;
mod wire;
mod worker;

pub use address::{Address, NotAnAddress};
pub use client::{Client, Tail};
pub use error::ClusterError;
pub use plan::unsupported;
pub use wire::{Begin, Identity, Listed, Reopen, RunOptions};
pub use worker::{Listening, Worker, WorkerOptions};
