//! Decides what may start, given the plan and what has happened.
//!
//! [`Scheduler::apply`] is the fold: one total function from state and event to state, the same live and replayed.
//! [`Scheduler::decide`] looks at what the fold left on the agenda and answers with further events (decisions) and
//! commands. Knows nothing of capacity (`govern`) or of any clock: time is what events are stamped with. Invariant: no
//! await and no disk here, so a run can be replayed from its events.

mod agenda;
mod budget;
mod cancel;
mod changed;
mod composite;
mod context;
mod contract;
mod decide;
mod dependencies;
mod ending;
mod explicit;
mod fold;
mod frame;
mod gate;
mod goal;
mod group;
mod history;
mod index;
mod labels;
mod launch;
mod lineage;
mod merge;
mod outputs;
mod payers;
mod pipeline;
mod reopen;
mod reshape;
mod roots;
mod route;
mod salvage;
mod scheduler;
mod shown;
mod state;
mod task;
mod timer;
mod tool;
mod trim;
mod values;
mod view;
mod window;
mod work;

pub use changed::{Changed, changed};
pub use composite::{Composite, Step};
pub use fold::IllegalEvent;
pub use goal::{NOT_ACHIEVED, check_plan};
pub use history::replayable;
pub use launch::Launch;
pub use outputs::Outputs;
pub use payers::{House, Owner, Payer};
pub use reopen::{NotReopened, Reopening, reopen};
pub use scheduler::{Command, Scheduler, Turn};
pub use state::{Finished, State};
pub use task::{End, TaskIx, TaskState};
pub use view::View;
