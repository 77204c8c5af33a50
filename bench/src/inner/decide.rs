//! The deciding half of a run, alone: scheduler, governor, prompts, outputs.
//!
//! Every attempt ends in the turn after its launch. No runtime, no clock, no disk, so the work is the same each time;
//! `bench/counts` counts its instructions.

use super::shape::Shape;
use crate::child::{Meter, Spent};
use crate::error::Error;
use convoke_engine::{Core, Effect, Fact, Limits, Permits, Store, What};
use convoke_model::{AttemptEnd, Event, JsonText, Payload, RunId, RunStarted, Timestamp, Usage};
use convoke_plan::Plan;
use convoke_schedule::Scheduler;
use std::hint::black_box;

const NOW: Timestamp = Timestamp(1_000_000_000);

/// Decides a whole run of `count` tasks with `limit` attempts at once.
pub fn run(shape: Shape, count: u32, limit: u32) -> Result<Spent, Error> {
    let core = begin(shape, count, limit)?;
    let answers = shape.answers(count);
    let meter = Meter::start();
    let core = counted_decisions(core, &answers)?;
    let spent = meter.spent();
    // Dropped after the clock has stopped: a program that ends does not tidy up either.
    drop(core);
    Ok(spent)
}

/// A core that knows that the run has started.
fn begin(shape: Shape, count: u32, limit: u32) -> Result<Core, Error> {
    let plan = shape.plan(count)?;
    let store = Store::new(Box::new(|_| None));
    let mut core =
        Core::new(Scheduler::new(plan.clone()), Permits::new(limit, &Limits::default()), store, 1, NOW);
    let started = core.stamp(NOW, Event::RunStarted(Box::new(started(&plan, shape.inputs(count)))));
    core.scheduler.apply(&started).map_err(|illegal| Error::Odd(illegal.to_string()))?;
    Ok(core)
}

/// The first event of a measured run.
pub fn started(plan: &Plan, inputs: serde_json::Value) -> RunStarted {
    RunStarted {
        run: RunId("measured".into()),
        workflow: plan.root().name.to_string(),
        file: plan.root().file.clone(),
        folder: ".".into(),
        plan: plan.digest(),
        inputs: Payload::Inline(JsonText::of(&inputs)),
        seed: 1,
        skip_gates: false,
        version: "measured".into(),
        configuration: Default::default(),
        base: None,
        metadata: Default::default(),
    }
}

/// Decides until the run has ended. Never inlined: instructions are counted by this name.
#[inline(never)]
fn counted_decisions(mut core: Core, answers: &dyn Fn(&str) -> JsonText) -> Result<Core, Error> {
    let mut facts = Vec::new();
    while core.scheduler.finished().is_none() {
        let turn = core.decide(NOW, std::mem::take(&mut facts));
        black_box(core.store.take_pending());
        facts.extend(turn.effects.into_iter().filter_map(|effect| end(effect, answers)));
        black_box(turn.events);
        if facts.is_empty() && core.scheduler.finished().is_none() {
            return Err(Error::Odd("the deciding half has stopped before the end".into()));
        }
    }
    Ok(core)
}

/// The end of an attempt that was launched.
fn end(effect: Effect, answers: &dyn Fn(&str) -> JsonText) -> Option<Fact> {
    let Effect::Launch(task, assignment, _) = effect else { return None };
    let end = AttemptEnd::Finished { output: answers(&assignment.task.to_string()), usage: Usage::default() };
    Some(Fact { at: NOW, what: What::Ended { task, attempt: assignment.attempt, end } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::RunStatus;
    use serde_json::json;

    #[test]
    fn the_deciding_half_comes_to_an_end() {
        let core = begin(Shape::FanOut, 50, 7).unwrap();
        let core = counted_decisions(core, &Shape::FanOut.answers(50)).unwrap();
        let output = core.scheduler.finished().unwrap().output.clone().unwrap();
        assert_eq!(core.store.text(&output).unwrap().value(), json!({"done": 50}));
    }

    #[test]
    fn every_shape_ends_well() {
        use Shape::*;
        for shape in [FanOut, Chain, Manifest, Goal, GoalChain, GoalDigests, Phases, Children, Grandchildren]
        {
            let core = counted_decisions(begin(shape, 12, 7).unwrap(), &shape.answers(12)).unwrap();
            let finished = core.scheduler.finished().unwrap();
            assert_eq!(finished.status, RunStatus::Succeeded, "{shape:?}: {finished:?}");
        }
    }
}
