//! The deciding half of a fan-out, alone: scheduler, governor, prompts, outputs.
//!
//! Every attempt ends in the turn after its launch. No runtime, no clock, no disk, so the work is the same each time;
//! `bench/counts` counts its instructions.

use super::compile;
use crate::child::{Meter, Spent};
use crate::error::Error;
use crate::workflow;
use convoke_engine::{Core, Effect, Fact, Limits, Permits, Store, What};
use convoke_model::{AttemptEnd, Event, JsonText, Payload, RunId, RunStarted, Timestamp, Usage};
use convoke_plan::Plan;
use convoke_schedule::Scheduler;
use serde_json::json;
use std::hint::black_box;
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000_000);

/// Decides a whole fan-out of `count` items with `limit` attempts at once.
pub fn run(count: u32, limit: u32) -> Result<Spent, Error> {
    let plan = compile(&workflow::fan_out(workflow::AT_ONCE))?;
    let core = begin(plan, count, limit)?;
    let meter = Meter::start();
    let core = counted_decisions(core)?;
    let spent = meter.spent();
    // Dropped after the clock has stopped: a program that ends does not tidy up either.
    drop(core);
    Ok(spent)
}

/// A core that knows that the run has started.
fn begin(plan: Arc<Plan>, count: u32, limit: u32) -> Result<Core, Error> {
    let store = Store::new(Box::new(|_| None));
    let mut core =
        Core::new(Scheduler::new(plan.clone()), Permits::new(limit, &Limits::default()), store, 1, NOW);
    let started = core.stamp(NOW, Event::RunStarted(Box::new(started(&plan, json!({"count": count})))));
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
        metadata: Default::default(),
    }
}

/// Decides until the run has ended. Never inlined: instructions are counted by this name.
#[inline(never)]
fn counted_decisions(mut core: Core) -> Result<Core, Error> {
    let answer = JsonText::of(&json!({"answer": "answer"}));
    let mut facts = Vec::new();
    while core.scheduler.finished().is_none() {
        let turn = core.decide(NOW, std::mem::take(&mut facts));
        black_box(core.store.take_pending());
        facts.extend(turn.effects.into_iter().filter_map(|effect| end(effect, &answer)));
        black_box(turn.events);
        if facts.is_empty() && core.scheduler.finished().is_none() {
            return Err(Error::Odd("the deciding half has stopped before the end".into()));
        }
    }
    Ok(core)
}

/// The end of an attempt that was launched.
fn end(effect: Effect, answer: &JsonText) -> Option<Fact> {
    let Effect::Launch(task, assignment, _) = effect else { return None };
    let end = AttemptEnd::Finished { output: answer.clone(), usage: Usage::default() };
    Some(Fact { at: NOW, what: What::Ended { task, attempt: assignment.attempt, end } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deciding_half_comes_to_an_end() {
        let core = begin(compile(&workflow::fan_out(workflow::AT_ONCE)).unwrap(), 50, 7).unwrap();
        let core = counted_decisions(core).unwrap();
        let output = core.scheduler.finished().unwrap().output.clone().unwrap();
        assert_eq!(core.store.text(&output).unwrap().value(), json!({"done": 50}));
    }
}
