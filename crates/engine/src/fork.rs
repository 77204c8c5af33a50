//! What a copied history becomes in a run of its own: the events that its new owner begins with. Pure.
//!
//! Nothing is done in the name of the fork before they are on disk with the copy; from then on it is resumed as every run is.

use crate::effects::{Effect, effects};
use crate::error::EngineError;
use crate::setup::{Written, fold, reopening, with};
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Digest, Event, JsonText, PlanChanged, RunForked, RunId, SetOutput, Stamped, TaskId};
use convoke_plan::Plan;
use convoke_schedule::{Changed, Scheduler, changed_and_set, reopen, replayable};
use std::sync::Arc;

/// A fork that is asked for.
pub struct Fork {
    /// The run that is copied.
    pub run: RunId,
    /// Its last event that is copied.
    pub seq: u64,
    /// The hash of the record that holds it.
    pub hash: Digest,
    /// The plan that the events were written under.
    pub before: Arc<Plan>,
    /// The plan from here on.
    pub now: Arc<Plan>,
    /// Outputs that were set.
    pub set: Vec<SetOutput>,
}

impl Fork {
    /// The events that follow the copied ones; refused if nothing would follow from them.
    pub fn opening(
        self,
        history: &[Stamped],
        blob: &dyn Fn(&Digest) -> Option<JsonText>,
    ) -> Result<Vec<Event>, EngineError> {
        let outputs = Written(blob);
        let is_other = self.before.digest() != self.now.digest();
        let mut state = fold(&self.before, history.to_vec())?;
        let mut opening = Vec::new();
        if state.finished().is_some() {
            match reopen(&state) {
                Ok(found) => {
                    opening.push(reopening(&state, found, &outputs));
                    state = fold(&self.before, with(history, &opening))?;
                }
                // What is changed is done again, and what follows from it.
                Err(_) if is_other || !self.set.is_empty() => {}
                Err(ended) => return Err(ended.into()),
            }
        }
        let set: Vec<TaskId> = self.set.iter().map(|set| set.task.clone()).collect();
        let Changed { dropped, opened, superseded } = match is_other || !set.is_empty() {
            true => changed_and_set(&state, &self.now, &set),
            false => Changed::default(),
        };
        let superseded = state.view(&outputs).as_it_stood(superseded);
        let change = PlanChanged { plan: self.now.digest(), dropped, opened, superseded, asking: Vec::new() };
        let forked = RunForked { run: self.run, seq: self.seq, hash: self.hash, set: self.set, change };
        opening.push(Event::RunForked(Box::new(forked)));
        let asking = fold(&self.now, with(history, &opening))?.asking();
        if let Some(Event::RunForked(forked)) = opening.last_mut() {
            forked.change.asking = asking;
        }
        Ok(opening)
    }
}

/// What tasks that are not `done` did to the world, and would do again; `base` has taken all of these events. What failed is part of it,
/// because a command may have done much before it failed. What never began, and what its step declares to be repeatable, is left out. A call that
/// was made several times is there once, as it was made last.
pub fn repeated(base: &Scheduler, events: &[Stamped], done: &HashSet<TaskId>) -> Vec<Effect> {
    let mut found = effects(events);
    found.retain(|effect| effect.begun && !done.contains(&effect.task) && !base.may_repeat(&effect.task));
    let last: HashMap<String, u64> = found.iter().map(|effect| (effect.key.clone(), effect.event)).collect();
    found.retain(|effect| last[&effect.key] == effect.event);
    found
}

/// The tasks whose end counts in a run with these events.
pub fn done(history: &[Stamped], opening: &[Event]) -> HashSet<TaskId> {
    let ended = replayable(with(history, opening)).into_iter().filter_map(|stamped| match stamped.event {
        Event::AttemptFinished { task, .. }
        | Event::TaskSucceeded { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::TaskCancelled { task, .. }
        | Event::OutputTaken { task, .. } => Some(task),
        _ => None,
    });
    ended.collect()
}
