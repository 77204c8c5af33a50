//! From a goal to its answer: which task comes next, and who does it.
//!
//! A goal and its tasks hold no permits themselves: they ask, and each duty is a child with a permit, an attempt and an
//! end of its own. The record of it is `Routed` (a decision and its reason) and `Asked`; everything else follows from
//! these and from the ends of the children, so that a goal goes on in its middle wherever it was cut off. `proposal`,
//! `check`, `contract`, `recover`, `items` and `route` are pure values in, values out; the others speak for the
//! scheduler. Only what has changed is looked at (`touched`).
//! Invariant: a goal ends, within its bounds, and never better than its tasks did.

mod absent;
mod carry;
mod cause;
mod check;
mod collect;
mod contract;
mod decision;
mod digest;
mod fold;
mod gather;
mod inputs;
mod items;
mod joined;
mod mend;
mod outcome;
mod prompt;
mod proposal;
mod purse;
mod recover;
mod reopen;
mod route;
mod share;
mod state;
#[cfg(test)]
mod tests;
mod tools;
mod touched;
mod turn;
mod verdict;

pub(crate) use cause::NOT_ANSWERED;
pub(crate) use contract::Said;
pub(crate) use fold::Pursuit;
pub use items::NOT_ACHIEVED;
pub(crate) use outcome::Status;

use crate::scheduler::Scheduler;
use crate::task::TaskIx;
use convoke_model::Event;
use convoke_plan::Goal;

impl Scheduler {
    /// Decide: a goal can start.
    pub(crate) fn begin_goal(&mut self, task: TaskIx) {
        self.emit(Event::TaskStarted { task: self.tasks[task].id.clone(), until: None, inputs: None });
    }
}

/// Whether a person's plan for a goal can be carried out; else what is wrong with it.
pub fn check_plan(goal: &Goal, text: &str) -> Result<(), String> {
    let terms = check::Terms {
        most: goal.bounds.max_tasks,
        because: ("max_tasks", goal.bounds.max_tasks),
        known: None,
        skip_threshold: goal.skip_threshold,
        vouched: true,
    };
    proposal::Proposal::read_text(text)?.check(terms)
}
