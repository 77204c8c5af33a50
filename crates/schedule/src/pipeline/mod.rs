//! Pipelines of personas: whether a phase starts, its tries, the work it hands out, and what the whole comes to.
//!
//! `trigger`, `contract` and `verdict` are pure and know nothing of tasks; `state` is what the fold keeps; the others speak
//! for the scheduler. A phase asks as a merge does: its tries, the children of a try and who puts their results together are
//! children with a permit, an attempt and an end of their own. The record is `Routed` (why it started or did not),
//! `StateChanged`, `Announced` and `ProjectSeen`; everything else follows from these and from the ends of the children.

mod came;
mod clearance;
mod contract;
mod fold;
mod handoff;
mod intents;
mod news;
mod outcome;
mod project;
mod record;
mod reopen;
mod rounds;
mod state;
mod told;
mod tries;
mod trigger;
mod triggered;
mod verdict;

pub(crate) use state::{Course, Kept};

use crate::state::State;
use crate::task::TaskIx;

impl State {
    fn kept_of(&self, task: TaskIx) -> &Kept {
        &self.frame(self.tasks[task].place.frame).kept
    }
}
