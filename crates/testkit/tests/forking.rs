//! A fork at any event of a run, going on with the same answers, comes to the same end, and nothing that had finished runs again.

use crate::continuing::{GRAPH, GROUPS, continued};
use convoke_engine::{Fork, done};
use convoke_model::{Assignment, Digest, Event, RunId, RunStatus, SetOutput, Stamped, TaskId, Work};
use convoke_model::{JsonText, Payload};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Agents answer with their prompt.
fn echo() -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(|assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only agents here") };
        Behaviour::gives(Duration::from_millis(5), json!({ "said": call.prompt }))
    })
}

fn request(plan: &Arc<Plan>, seq: u64, set: Vec<SetOutput>) -> Fork {
    let (before, now) = (plan.clone(), plan.clone());
    Fork { run: RunId("base".into()), seq, hash: Digest::of(b"record"), before, now, set }
}

/// The fork of a run after so many of its events; what it began with, how it ended, and the world that it ended in.
fn fork(plan: &Arc<Plan>, base: &World, seq: u64, set: Vec<SetOutput>) -> (Vec<TaskId>, Ended, World) {
    let history: Vec<Stamped> = base.events().filter(|event| event.seq <= seq).cloned().collect();
    let opening =
        request(plan, seq, set).opening(&history, &|digest| base.kept(digest)).expect("it can be forked");
    let kept: Vec<TaskId> = done(&history, &opening).into_iter().collect();
    let mut world = continued(plan, history, opening, base, echo());
    let ended = world.finish();
    (kept, ended, world)
}

fn forks_come_to_the_same(text: &str, inputs: Value) -> u64 {
    let plan = plan_of(text, &[]);
    let mut base = World::new(plan.clone(), inputs, 2, 1, echo());
    let expected = base.finish();
    assert_eq!(expected.status, RunStatus::Succeeded);
    let last = base.events().last().expect("it ran").seq;
    let mut forks = 0;
    // At the end nothing is left to do, which is refused.
    for seq in 1..last {
        let (kept, ended, world) = fork(&plan, &base, seq, Vec::new());
        assert_eq!((ended.status, &ended.output), (expected.status, &expected.output), "after event {seq}");
        let again: Vec<_> = world.launches.iter().filter(|(task, _)| kept.contains(task)).collect();
        assert!(again.is_empty(), "after event {seq} these ran again: {again:?}");
        forks += 1;
    }
    forks
}

#[test]
fn a_fork_at_every_event_comes_to_the_same_end() {
    let forks = forks_come_to_the_same(GROUPS, json!({"items": ["x", "y", "z"]}))
        + forks_come_to_the_same(GRAPH, json!({}));
    assert!(forks > 30, "only {forks}");
}

#[test]
fn a_run_that_ended_well_is_not_forked_at_its_end() {
    let plan = plan_of(GRAPH, &[]);
    let mut base = World::new(plan.clone(), json!({}), 2, 1, echo());
    base.finish();
    let history: Vec<Stamped> = base.events().cloned().collect();
    let seq = history.len() as u64;
    let refused = request(&plan, seq, Vec::new()).opening(&history, &|digest| base.kept(digest)).unwrap_err();
    assert!(matches!(refused, convoke_engine::EngineError::Ended(_)), "{refused}");
}

#[test]
fn a_set_output_runs_what_followed_from_it_and_nothing_else() {
    let plan = plan_of(GRAPH, &[]);
    let mut base = World::new(plan.clone(), json!({}), 2, 1, echo());
    base.finish();
    let seq = base.events().last().expect("it ran").seq;
    let output = Payload::Inline(JsonText::of(&json!({ "said": "SET" })));
    let set = vec![SetOutput { task: TaskId("b".into()), output }];
    let (_, ended, world) = fork(&plan, &base, seq, set);
    assert_eq!(ended.output, Some(json!({ "all": "d SET c" })));
    let ran: Vec<&str> = world.launches.iter().map(|(task, _)| &*task.0).collect();
    assert_eq!(ran, ["d"]);
    let taken = world.events().filter(|event| matches!(event.event, Event::OutputTaken { .. })).count();
    assert_eq!(taken, 1);
}

#[test]
fn a_set_output_of_a_group_member_opens_the_group() {
    let plan = plan_of(GROUPS, &[]);
    let mut base = World::new(plan.clone(), json!({"items": ["x", "y"]}), 2, 1, echo());
    base.finish();
    let seq = base.events().last().expect("it ran").seq;
    let left = base.events().find_map(|event| match &event.event {
        Event::AttemptFinished { task, .. } if task.0.ends_with("left") => Some(task.clone()),
        _ => None,
    });
    let output = Payload::Inline(JsonText::of(&json!({ "said": "SET" })));
    let set = vec![SetOutput { task: left.expect("it finished"), output }];
    let (_, ended, world) = fork(&plan, &base, seq, set);
    assert_eq!(ended.output, Some(json!({ "all": "last SET right item x" })));
    let ran: Vec<&str> = world.launches.iter().map(|(task, _)| &*task.0).collect();
    assert_eq!(ran, ["last"]);
}
