//! A task of a run that has ended is done again: the run comes to the same end, what followed from the task runs again, and nothing else
//! that had finished does.

use crate::continuing::{GRAPH, GROUPS, continued};
use convoke_engine::{Changes, EngineError, replay};
use convoke_model::{Assignment, Class, Event, RunStatus, Stamped, TaskId, Work};
use convoke_plan::Plan;
use convoke_schedule::NotRetried;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

const TIME: Duration = Duration::from_millis(5);

/// Agents answer with their prompt; these fail.
fn echo(fails: &'static [&'static str]) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only agents here") };
        match fails.contains(&&*assignment.task.0) {
            true => Behaviour::fails(TIME, Class::Fatal),
            false => Behaviour::gives(TIME, json!({ "said": call.prompt })),
        }
    })
}

fn id(task: &str) -> TaskId {
    TaskId(task.into())
}

fn opening(plan: &Arc<Plan>, base: &World, tasks: &[&str]) -> Result<Vec<Event>, EngineError> {
    let history: Vec<Stamped> = base.events().cloned().collect();
    let changes = Changes::Retry(tasks.iter().map(|task| id(task)).collect());
    replay(plan, history, &changes, &|digest| base.kept(digest)).map(|(_, opening)| opening)
}

/// The run after the tasks were named; how it ended, and what was launched then.
fn retried(plan: &Arc<Plan>, base: &World, tasks: &[&str]) -> (Ended, BTreeSet<String>) {
    let history: Vec<Stamped> = base.events().cloned().collect();
    let opening = opening(plan, base, tasks).expect("it can be done again");
    let mut world = continued(plan, history, opening, base, echo(&[]));
    let ended = world.finish();
    (ended, world.launches.iter().map(|(task, _)| task.to_string()).collect())
}

fn refused(plan: &Arc<Plan>, base: &World, tasks: &[&str]) -> NotRetried {
    match opening(plan, base, tasks) {
        Err(EngineError::NotRetried(why)) => why,
        other => panic!("it is not refused: {other:?}"),
    }
}

fn ran(text: &str, inputs: Value, fails: &'static [&'static str]) -> (Arc<Plan>, World, Ended) {
    let plan = plan_of(text, &[]);
    let mut base = World::new(plan.clone(), inputs, 2, 1, echo(fails));
    let ended = base.finish();
    (plan, base, ended)
}

fn set(tasks: &[&str]) -> BTreeSet<String> {
    tasks.iter().map(|task| (*task).to_owned()).collect()
}

#[test]
fn what_is_named_and_what_followed_from_it_runs_again_and_nothing_else() {
    let (plan, base, before) = ran(GRAPH, json!({}), &[]);
    for (task, again) in [("a", &["a", "b", "d"][..]), ("b", &["b", "d"]), ("c", &["c", "d"]), ("d", &["d"])]
    {
        let (ended, launched) = retried(&plan, &base, &[task]);
        assert_eq!((ended.status, &ended.output), (before.status, &before.output), "{task}");
        assert_eq!(launched, set(again), "{task}");
    }
    assert_eq!(retried(&plan, &base, &["b", "c"]).1, set(&["b", "c", "d"]));
}

#[test]
fn a_member_runs_again_alone_and_then_what_followed_from_its_group() {
    let (plan, base, before) = ran(GROUPS, json!({"items": ["x", "y", "z"]}), &[]);
    let members: BTreeSet<String> = base.launches.iter().map(|(task, _)| task.to_string()).collect();
    for (member, again) in members
        .iter()
        .filter(|task| task.contains("left") || task.contains("right"))
        .map(|task| (task, [task.as_str(), "last"]))
    {
        let (ended, launched) = retried(&plan, &base, &[member]);
        assert_eq!((ended.status, &ended.output), (before.status, &before.output), "{member}");
        assert_eq!(launched, set(&again), "{member}");
    }
    let item = members.iter().find(|task| task.contains("[1]")).expect("an item");
    let (ended, launched) = retried(&plan, &base, &[item]);
    assert_eq!(ended.output, before.output);
    assert!(launched.contains(item) && launched.contains("last"), "{launched:?}");
    assert!(!launched.iter().any(|task| task.contains("[0]") || task.contains("[2]")), "{launched:?}");
}

#[test]
fn of_a_run_that_failed_what_ended_well_stays_and_others_that_failed_are_named() {
    let (plan, base, before) = ran(GRAPH, json!({}), &["b"]);
    assert_eq!(before.status, RunStatus::Failed);
    let (ended, launched) = retried(&plan, &base, &["b"]);
    assert_eq!(ended.status, RunStatus::Succeeded, "{:?}", ended.failure);
    assert!(launched.contains("b") && launched.contains("d") && !launched.contains("a"), "{launched:?}");
    // `a` leads to `b`: that what had failed runs again follows from it.
    assert_eq!(retried(&plan, &base, &["a"]).0.status, RunStatus::Succeeded);
    // `c` does not: the run would end of `b` again.
    assert_eq!(refused(&plan, &base, &["c"]), NotRetried::Others(vec![id("b")]));
    assert_eq!(retried(&plan, &base, &["b", "c"]).0.status, RunStatus::Succeeded);
}

#[test]
fn what_cannot_be_done_again_is_refused_by_name() {
    let (plan, base, _) = ran(GRAPH, json!({}), &[]);
    assert_eq!(refused(&plan, &base, &["x"]), NotRetried::Unknown(id("x")));
    let (plan, base, _) = ran(
        "workflow: {name: w, entry_point: g}\nagents:\n  - {name: g, type: human_gate, prompt: ok?, options: [{label: y, value: y, route: $end}]}\n",
        json!({}),
        &[],
    );
    assert_eq!(refused(&plan, &base, &["g"]), NotRetried::NotEnded(id("g")));
}

#[test]
fn a_run_may_be_retried_again_and_again() {
    let (plan, base, before) = ran(GRAPH, json!({}), &[]);
    let mut history: Vec<Stamped> = base.events().cloned().collect();
    for _ in 0..3 {
        let changes = Changes::Retry(vec![id("b")]);
        let (_, opening) = replay(&plan, history.clone(), &changes, &|digest| base.kept(digest)).unwrap();
        let mut world = continued(&plan, history, opening, &base, echo(&[]));
        assert_eq!(world.finish().output, before.output);
        assert_eq!(world.launches.len(), 2);
        history = world.events().cloned().collect();
    }
}
