//! Journals that once made the fold panic, as small as they can be.

use crate::folds::shapes::begun;
use convoke_model::{Digest, Event, JsonText, Payload, Stamped, TaskId, Timestamp, Usage};
use convoke_plan::Plan;
use convoke_schedule::Scheduler;
use convoke_testkit::plan_of;
use std::sync::Arc;

/// A run that has just begun.
fn scheduler(plan: &Arc<Plan>) -> Scheduler {
    let mut scheduler = Scheduler::new(plan.clone());
    begun(plan).iter().for_each(|event| scheduler.apply(event).expect("a run begins so"));
    scheduler
}

fn apply(scheduler: &mut Scheduler, event: Event) -> Result<(), String> {
    let stamped = Stamped { seq: 9, at: Timestamp(2_000_000_000), event };
    scheduler.apply(&stamped).map_err(|refused| refused.to_string())
}

fn id(text: &str) -> TaskId {
    TaskId(text.into())
}

#[test]
fn a_group_is_not_woken_while_its_members_go_on() {
    let plan = plan_of(
        "
workflow: {name: w, entry_point: both}
parallel: [{name: both, agents: [a, b]}]
agents: [{name: a, prompt: a}, {name: b, prompt: b}]
",
        &[],
    );
    let mut run = scheduler(&plan);
    apply(&mut run, Event::TaskStarted { task: id("both"), until: None, inputs: None }).unwrap();
    let refused = apply(&mut run, Event::TaskWoken { task: id("both") }).unwrap_err();
    assert!(refused.contains("what stands below it has not ended"), "{refused}");
    // The group is as it was: its members begin and end.
    apply(&mut run, Event::AttemptStarted { task: id("both/a"), attempt: 1, lease: None }).unwrap();
    let (output, usage) = (Payload::Inline(JsonText::of(&1)), Usage::default());
    apply(&mut run, Event::AttemptFinished { task: id("both/a"), attempt: 1, output, usage }).unwrap();
}

const TWO_LISTS: &str = "
workflow: {name: w}
for_each:
  - {name: x, type: for_each, items: [1], as: it, agent: {name: one, prompt: a}}
  - {name: y, type: for_each, items: [1], as: it, agent: {name: two, prompt: b}}
agents: [{name: last, prompt: c, needs: [x, y]}]
";

/// A list that the journal says to be as long as can be.
fn endless(task: &str) -> Event {
    let items = Payload::Blob { digest: Digest::of(b"x"), size: u64::MAX };
    Event::FannedOut { task: id(task), count: u32::MAX, items, keys: None }
}

#[test]
fn more_items_than_can_be_counted_are_folded() {
    let mut run = scheduler(&plan_of(TWO_LISTS, &[]));
    for task in ["x", "y"] {
        apply(&mut run, endless(task)).unwrap();
    }
}

/// It once brought one item after the other into being, until there was no memory left.
#[test]
fn what_is_no_item_of_a_list_is_refused_at_once() {
    let mut run = scheduler(&plan_of(TWO_LISTS, &[]));
    apply(&mut run, endless("x")).unwrap();
    for unknown in ["x[one]", "x[4294967295]", "x[1]#7", "sub/x[1]"] {
        let begun = Event::AttemptStarted { task: id(unknown), attempt: 1, lease: None };
        let refused = apply(&mut run, begun).unwrap_err();
        assert!(refused.contains("there is no such task"), "{unknown}: {refused}");
    }
}

#[test]
fn a_list_has_as_many_items_as_it_says() {
    let mut run = scheduler(&plan_of(TWO_LISTS, &[]));
    let items = Payload::Inline(JsonText::of(&[1, 2]));
    let event = |count| Event::FannedOut { task: id("x"), count, items: items.clone(), keys: None };
    let refused = apply(&mut run, event(3)).unwrap_err();
    assert!(refused.contains("its list is shorter"), "{refused}");
    apply(&mut run, event(2)).unwrap();
}

#[test]
fn more_usage_than_can_be_counted_stays_the_most() {
    let plan = plan_of(
        "
workflow: {name: w, entry_point: a}
agents: [{name: a, prompt: a}]
",
        &[],
    );
    let mut run = scheduler(&plan);
    apply(&mut run, Event::AttemptStarted { task: id("a"), attempt: 1, lease: None }).unwrap();
    let usage = Usage { calls: 1, cost_micros: u64::MAX - 1, input_tokens: u64::MAX, ..Usage::default() };
    for _ in 0..3 {
        let piece = Payload::Inline(JsonText::of(&1));
        let event = Event::TurnRecorded { task: id("a"), attempt: 1, piece, kept: Vec::new(), usage };
        apply(&mut run, event).unwrap();
    }
    let mut sum = usage;
    sum += usage;
    assert_eq!((sum.calls, sum.cost_micros), (2, u64::MAX));
}
