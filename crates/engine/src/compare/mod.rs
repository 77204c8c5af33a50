//! Why two runs differ: causes apart from consequences.
//!
//! Runs of one plan differ in the order of their events by timing alone, so events are never compared by position. Each run is
//! folded to stories (`story`): for each task, by its path, what it was asked, what it was answered and what was decided about it.
//! The first place where the stories of a task part is its divergence (`divergence`). A divergence that follows from another one,
//! by the ways that data takes in the runs and before it in both, is a consequence; all others are causes (`explain`): a changed
//! plan (`definition`), a changed start (`start`), or a fact from outside.
//!
//! Pure: events, plans and a lookup of stored values in, a [`Comparison`] out. Prompts are rendered anew from plan and events.
//! Invariant: the time that a comparison takes grows with the number of events, not with its square.

mod ask;
mod definition;
mod divergence;
mod excerpt;
mod explain;
mod result;
mod start;
mod story;
mod tell;
mod totals;
mod wording;

pub use excerpt::parting;
pub use result::{
    Cause, Change, Comparison, Consequence, Kind, RunTotals, Since, TaskTotals, Totals, task_name,
};

use crate::error::EngineError;
use convoke_model::{Digest, JsonText, Stamped};
use convoke_plan::Plan;
use std::sync::Arc;

/// One of the two runs.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The plan that it goes by.
    pub plan: &'a Arc<Plan>,
    /// Everything that happened.
    pub events: &'a [Stamped],
    /// Reads stored values.
    pub blob: &'a dyn Fn(&Digest) -> Option<JsonText>,
}

/// Compares two runs.
pub fn compare(sides: [Side<'_>; 2]) -> Result<Comparison, EngineError> {
    let stories = [story::fold(&sides[0])?, story::fold(&sides[1])?];
    let definitions = definition::changes(sides[0].plan, sides[1].plan);
    let started = start::changes(&sides);
    let divergences = divergence::find(&stories);
    let findings = explain::explain(&sides, &stories, &divergences, &definitions, &started.causes);
    tell::comparison(&sides, &stories, &divergences, &definitions, started, &findings)
}
