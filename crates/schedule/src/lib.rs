//! Decides what may start, given the plan and what has happened.
//!
//! [`Scheduler::apply`] is the fold: one total function from state and event to state, the same live and replayed.
//! [`Scheduler::decide`] looks at what the fold left on the agenda and answers with further events (decisions) and
//! commands. Knows nothing of capacity (`govern`) or of any clock: time is what events are stamped with. Invariant: no
//! await and no disk here, so a run can be replayed from its events.

mod composite;
mod context;
mod decide;
mod fold;
mod outputs;
mod resume;
mod reuse;
mod scheduler;
mod state;
mod view;

pub use composite::goal::NOT_ACHIEVED;
pub use composite::{Composite, Step};
pub use decide::Launch;
pub use fold::{IllegalEvent, NotGuided, begins_ownership};
pub use outputs::{Outputs, StoredOutputs};
pub use resume::{
    Changed, NotReopened, NotRetried, Reopening, changed, changed_and_set, reopen, replayable, retry, task_of,
};
pub use reuse::{NotSettable, Reusable, check_settable};
pub use scheduler::{Command, Scheduler, Turn};
pub use state::{BudgetScope, ConfiguredBudgets, End, Finished, Owner, State, TaskIx, TaskState};
pub use view::View;
