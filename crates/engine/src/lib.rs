//! The only driver: turns decisions into effects and effects into events.
//!
//! [`Run::drive`] is the whole engine in one loop: take what happened, decide, commit facts and decisions together,
//! then act. A fresh start and a resume are the same loop; a resumed run begins with old events. This is the only place
//! that waits, and the only one that looks at a clock.

mod adrift;
mod attempts;
mod berth;
mod bounds;
pub mod budgets;
mod calls;
mod clock;
mod core;
mod days;
mod durations;
mod errands;
mod error;
mod fact;
mod handle;
mod holdings;
mod learned_statistics;
mod leases;
mod limits;
mod line;
mod metrics;
mod outcome;
mod paths;
mod pause;
mod permits;
mod project;
mod purses;
pub mod report;
mod run;
mod services;
mod setup;
pub mod spending;
mod steward;
mod store;
mod summary;
mod tenure;
mod terms;

pub use clock::Clock;
pub use core::{Core, Effect, MOST_GUIDANCE, Turn};
pub use days::{DayBudget, midnight};
pub use durations::{Durations, Known};
pub use error::EngineError;
pub use fact::{CallReply, Capacity, Fact, Learned, What};
pub use handle::{Handle, Notice, Watch};
pub use learned_statistics::LearnedStatistics;
pub use limits::{Breaker, BreakerKey, Limits, Queue, ServiceLimit, Stated, TenantLimit};
pub use metrics::{Flow, Metrics};
pub use outcome::Outcome;
pub use permits::Permits;
pub use project::{Project, ProjectState, Projects};
pub use run::Run;
pub use setup::{Changes, Options, Setup, Shares, Start, fold_into, prepare, replay};
pub use store::Store;
pub use summary::{Latency, Summary};
pub use terms::{AskNo, Calls, Counts, Fence, MONEY_UNIT, Return, Shared, Terms, Want};
