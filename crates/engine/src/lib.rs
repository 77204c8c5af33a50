//! The only driver: turns decisions into effects and effects into events.
//!
//! [`Run::drive`] is the whole engine in one loop: take what happened, decide, commit facts and decisions together,
//! then act. A fresh start and a resume are the same loop; a resumed run begins with old events. This is the only place
//! that waits, and the only one that looks at a clock.

mod attempts;
mod beginning;
mod bounds;
mod capacity;
mod clock;
pub mod compare;
mod core;
pub mod effects;
mod error;
mod fact;
mod failpoints;
mod fork;
mod handle;
mod link;
mod lookups;
mod pause;
mod project;
mod reporting;
mod run;
mod setup;
mod snapshot;
mod store;
mod tenure;

pub use reporting::report;
use reporting::{learned_statistics, outcome, summary};

pub use beginning::Beginning;
pub use capacity::budget;
pub use capacity::{
    Breaker, BreakerKey, Calls, Counts, DayBudget, Durations, Fence, Flow, Known, Limits, MONEY_UNIT,
    Metrics, Permits, Queue, RequestNo, Return, ServiceLimit, Shared, Stated, TenantLimit, Terms, Want,
    midnight,
};
pub use clock::{Clock, Machine};
pub use convoke_journal::Reply;
pub use core::{Core, Effect, MOST_GUIDANCE, Turn, stopping};
pub use error::EngineError;
pub use fact::{CallReply, CapacityFact, Fact, Learned, What};
pub use fork::{Fork, done, repeated};
pub use handle::{Handle, Notice, Watch};
pub use learned_statistics::LearnedStatistics;
pub use outcome::Outcome;
pub use project::{Project, ProjectState, Projects};
pub use run::Run;
pub use setup::{Changes, Options, Setup, Shares, Start, fold_into, prepare, replay};
pub use snapshot::{Pace, RULES, compact};
pub use store::Store;
pub use summary::{Latency, Summary};
