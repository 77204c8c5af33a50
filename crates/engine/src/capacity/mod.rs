//! Capacity: what attempts and calls need before they may begin, what is held for them, and what the processes of a machine
//! share.
//!
//! One subsystem, in three layers. [`Permits`] is pure: it turns demands, answers and ends into grants and effects, with
//! `govern` to choose the next one. What this process requests of the machine and holds of it is in one `ledger`, whatever it is
//! for: the run (`run_slot`), attempts (`attempt_leases`) or a call (`calls`). `orphans` are leases of attempts whose performer
//! is silent. `client` carries the requests to the table that all processes map, in threads that may wait, and its answers are
//! facts of the run.
//!
//! What it keeps true:
//! - An attempt or call begins with all that it needs, or holds nothing.
//! - A request has one answer, and each lease goes back once, whatever becomes of the run.
//! - A holder waits for nothing that others of its kind hold: a run slot comes before leases of attempts, and these
//!   before leases of calls.
//! - A budget is charged at worst case before a call is made, and at what was used after it.

pub(crate) mod attempt_leases;
pub mod budget;
pub(crate) mod calls;
pub(crate) mod client;
pub(crate) mod durations;
pub(crate) mod ledger;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod orphans;
pub(crate) mod paths;
pub(crate) mod permits;
pub(crate) mod run_slot;
pub(crate) mod services;
pub(crate) mod terms;

pub use budget::days::{DayBudget, midnight};
pub use durations::{Durations, Known};
pub use limits::{Breaker, BreakerKey, Limits, Queue, ServiceLimit, Stated, TenantLimit};
pub use metrics::{Flow, Metrics};
pub use permits::Permits;
pub use terms::{Calls, Counts, Fence, MONEY_UNIT, RequestNo, Return, Shared, Terms, Want};
