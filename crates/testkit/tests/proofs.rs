//! Tasks with parts that must prove their work: groups, sub-workflows, goals of others. They succeed behind a check in which everything
//! holds, and a check that is on disk is not made again, wherever the run is cut off.

use convoke_model::{Assignment, Event, RunStatus, TaskId, Work};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::time::Duration;

const GROUPS: &str = "
workflow: {name: w, entry_point: both}
parallel:
  - {name: both, agents: [a, b], ensure: [{file_exists: out.txt}], protect: ['tests/**'], routes: [{to: each}]}
for_each:
  - name: each
    type: for_each
    items: [1, 2, 3]
    as: item
    agent: {name: one, prompt: 'one {{ item }}'}
    ensure: [{file_exists: out.txt}]
    routes: [{to: inner}]
agents:
  - {name: a, prompt: a}
  - {name: b, prompt: b}
  - {name: inner, type: workflow, workflow: inner.yaml, ensure: [{file_exists: out.txt}], RETRY}
output: {said: '{{ inner.output.said }}'}
";

const INNER: &str = "
workflow: {name: inner, entry_point: c}
agents: [{name: c, prompt: c}]
output: {said: '{{ c.output.said }}'}
";

fn echo() -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(|assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only agents here") };
        assert!(assignment.proof.is_none(), "what its group must prove is not its own");
        Behaviour::gives(Duration::from_millis(5), json!({ "said": call.prompt }))
    })
}

fn plan(retry: &str) -> std::sync::Arc<convoke_plan::Plan> {
    plan_of(&GROUPS.replace(", RETRY", retry), &[("inner.yaml", INNER)])
}

fn world(retry: &str, with_file: bool) -> World {
    let mut world = World::new(plan(retry), json!({}), 2, 7, echo());
    world.files.extend(with_file.then(|| "out.txt".to_owned()));
    world
}

/// The checks of a task, in their order: name and outcome.
fn checks(world: &World, of: &str) -> Vec<(String, bool)> {
    let of = TaskId(of.into());
    let found = world.events().filter_map(|stamped| match &stamped.event {
        Event::ProofChecked { task, check, held, .. } if *task == of => Some((check.clone(), *held)),
        _ => None,
    });
    found.collect()
}

fn places(world: &World, is: impl Fn(&Event) -> bool) -> Vec<usize> {
    world.events().enumerate().filter(|(_, stamped)| is(&stamped.event)).map(|(place, _)| place).collect()
}

#[test]
fn a_group_succeeds_behind_its_check_and_is_looked_at_before_its_parts_begin() {
    let mut world = world("", true);
    assert_eq!(world.finish().status, RunStatus::Succeeded);
    for task in ["both", "each", "inner"] {
        assert_eq!(checks(&world, task), [("end 1".to_owned(), true)], "{task}");
        let id = TaskId(task.into());
        let begun = places(&world, |event| matches!(event, Event::ProofBegun { task, .. } if *task == id));
        let started = places(
            &world,
            |event| matches!(event, Event::TaskStarted { task, .. } | Event::FannedOut { task, .. } if *task == id),
        );
        let due = places(&world, |event| matches!(event, Event::ProofDue { task, .. } if *task == id));
        let checked =
            places(&world, |event| matches!(event, Event::ProofChecked { task, .. } if *task == id));
        let ended = places(&world, |event| matches!(event, Event::TaskSucceeded { task, .. } if *task == id));
        let all = [begun, started, due, checked, ended].concat();
        assert!(all.len() == 5 && all.is_sorted(), "{task}: {all:?}");
    }
}

#[test]
fn what_does_not_hold_fails_the_group_and_what_follows_does_not_run() {
    let mut world = world("", false);
    assert_eq!(world.finish().status, RunStatus::Failed);
    assert_eq!(checks(&world, "both"), [("end 1".to_owned(), false)]);
    assert!(checks(&world, "each").is_empty());
    let failure = world.events().find_map(|stamped| match &stamped.event {
        Event::TaskFailed { task, failure } if task.0.as_ref() == "both" => Some(failure.clone()),
        _ => None,
    });
    assert_eq!(failure.expect("the group has failed").reason.as_deref(), Some("unproven"));
}

#[test]
fn a_sub_workflow_that_is_tried_again_is_checked_again() {
    let retry = ", retry: {max_attempts: 2, delay_seconds: 0, retry_on: [invalid_output]}";
    let text = "
workflow: {name: w, entry_point: inner}
agents:
  - {name: inner, type: workflow, workflow: inner.yaml, ensure: [{file_exists: out.txt}], RETRY}
output: {said: '{{ inner.output.said }}'}
";
    let plan = plan_of(&text.replace(", RETRY", retry), &[("inner.yaml", INNER)]);
    let mut world = World::new(plan, json!({}), 2, 7, echo());
    assert_eq!(world.finish().status, RunStatus::Failed);
    assert_eq!(checks(&world, "inner"), [("end 1".to_owned(), false), ("end 2".to_owned(), false)]);
    assert_eq!(world.launches.len(), 2, "its workflow ran twice");
    assert_eq!(places(&world, |event| matches!(event, Event::ProofBegun { .. })).len(), 1);
}

#[test]
fn a_run_that_is_cut_off_anywhere_checks_once_and_comes_to_the_same_end() {
    for with_file in [true, false] {
        let mut whole = world("", with_file);
        let ended = whole.finish().status;
        for cut in 1..whole.commits.len() {
            let left = whole.commits[..cut].to_vec();
            let mut again = World::resumed(plan(""), 2, left, &whole, echo());
            assert_eq!(again.finish().status, ended, "cut behind commit {cut}");
            for task in ["both", "each", "inner"] {
                assert_eq!(checks(&again, task), checks(&whole, task), "{task}, cut behind commit {cut}");
            }
        }
    }
}
