//! Steps that ask on their way, above all for repairs of their inputs, in trouble: they are cancelled, stopped, or take too
//! long, and their run is resumed after it ended.

use convoke_model::{Assignment, Class, Event, RunStatus, Work};
use convoke_plan::Plan;
use convoke_schedule::{Scheduler, TaskState};
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(50);

type Script = fn(&Assignment) -> Behaviour;

fn world(plan: &Arc<Plan>, limit: u32, script: Script) -> World {
    World::new(plan.clone(), json!({}), limit, 1, Box::new(script))
}

fn resumed(plan: &Arc<Plan>, limit: u32, commits: usize, earlier: &World, script: Script) -> World {
    World::resumed(plan.clone(), limit, earlier.commits[..commits].to_vec(), earlier, Box::new(script))
}

fn prompt(assignment: &Assignment) -> &str {
    match &assignment.work {
        Work::Agent(call) => &call.prompt,
        _ => panic!("only agents here"),
    }
}

/// Nothing goes on: every task has an end, every attempt too, and the run has one.
fn is_over(world: &World, what: &str) {
    let mut scheduler = Scheduler::new(world.plan().clone());
    for event in convoke_schedule::replayable(world.events().cloned().collect()) {
        scheduler.apply(&event).unwrap_or_else(|refused| panic!("{what}: {refused}"));
    }
    let left: Vec<_> = scheduler
        .tasks()
        .filter(|task| !matches!(scheduler.state(*task), TaskState::Ended(_)))
        .map(|task| (scheduler.id(task).to_string(), scheduler.state(task)))
        .collect();
    assert_eq!(left, [], "{what}: these have no end");
    assert_eq!(world.running(), 0, "{what}: attempts go on");
    assert!(scheduler.finished().is_some(), "{what}");
}

/// Tasks that had ended well and were begun again by the owner that took the run over.
fn done_twice(before: &World, after: &World) -> Vec<String> {
    let done: HashSet<_> = before
        .events()
        .filter_map(|stamped| match &stamped.event {
            Event::AttemptFinished { task, .. } => Some(task.clone()),
            _ => None,
        })
        .collect();
    let again = after.launches.iter().filter(|(task, _)| done.contains(task));
    again.map(|(task, _)| task.to_string()).collect()
}

const CHILD: &str = "
workflow: {name: child, entry_point: one, input: {price: {type: number}}}
agents:
  - {name: one, prompt: 'one {{ workflow.input.price }}', routes: [{to: two}]}
  - {name: two, prompt: 'two {{ workflow.input.price }}'}
output: {said: '{{ two.output.result }}'}
";

/// A sub-workflow whose input is repaired, beside a step that may fail.
fn with_sub(more: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, runtime: {{provider: scripted}}, entry_point: maker}}
parallel: [{{name: both, agents: [sub, rival], routes: [{{to: $end}}]}}]
agents:
  - {{name: maker, prompt: make, routes: [{{to: both}}]}}
  - {{name: sub, type: workflow, workflow: child.yaml, input_mapping: {{price: '{{{{ maker.output.price }}}}'}}, expects: {{maker: {{price: {{type: number}}}}}}, repair_input: true{more}}}
  - {{name: rival, prompt: rival}}
output: {{said: '{{{{ both.outputs.sub.said }}}}'}}
"
    );
    plan_of(&text, &[("child.yaml", CHILD)])
}

fn shaped(assignment: &Assignment) -> Behaviour {
    let task = assignment.task.to_string();
    Behaviour::gives(
        TICK,
        match task.as_str() {
            "maker" => json!({ "price": "12 Euro" }),
            "both/sub/repair_input[maker]" => json!({ "price": 12 }),
            _ => json!({ "result": prompt(assignment) }),
        },
    )
}

#[test]
fn a_sub_workflow_goes_on_behind_the_repair_of_its_input() {
    let plan = with_sub("");
    let mut whole = world(&plan, 4, shaped);
    let ended = whole.finish();
    assert_eq!(ended.output, Some(json!({ "said": "two 12" })), "{ended:?}");
    for cut in 1..whole.commits.len() {
        let again = resumed(&plan, 4, cut, &whole, shaped).finish();
        assert_eq!((again.status, again.output), (ended.status, ended.output.clone()), "cut after {cut}");
    }
}

const CHECKED: &str = "
workflow: {name: w, runtime: {provider: scripted}, entry_point: maker}
agents:
  - {name: maker, prompt: make}
  - {name: checked, type: verify, needs: [maker], query: how?, rounds: 1}
output: {said: '{{ checked.output.verdict }}'}
";

/// The first examination finds something, the second nothing.
fn examined(assignment: &Assignment) -> Behaviour {
    match assignment.task.to_string().as_str() {
        "checked/assess[1]" => Behaviour::gives(
            TICK,
            json!({ "findings": [
                { "kind": "gap", "severity": "high", "claim": "x", "explanation": "y", "correction": "z" },
            ]}),
        ),
        "checked/assess[2]" => Behaviour::gives(TICK, json!({ "findings": [] })),
        _ => shaped(assignment),
    }
}

#[test]
fn a_run_that_is_stopped_while_it_asks_ends_and_goes_on_with_the_answers_it_has() {
    stops_anywhere(&with_sub(""), shaped);
    stops_anywhere(&with_items(2, "fail_fast", "output: {n: '{{ each.count }}'}"), none_fails);
    stops_anywhere(&plan_of(CHECKED, &[]), examined);
}

fn stops_anywhere(plan: &Arc<Plan>, script: Script) {
    let mut whole = world(plan, 4, script);
    let expected = whole.finish();
    assert_eq!(expected.status, RunStatus::Succeeded, "{expected:?}");
    for at in 1..whole.commits.len() {
        for (now, stubborn) in [(true, false), (true, true), (false, false)] {
            let what = format!("stopped after {at}, now {now}, done already {stubborn}");
            let mut stopped = world(plan, 4, script);
            stopped.stubborn = stubborn;
            stopped.run(at);
            let ended = stopped.stop(now);
            is_over(&stopped, &what);
            resumes_alike(plan, &stopped, script, &ended);
            if ended.status != RunStatus::Succeeded {
                let mut later = resumed(plan, 4, stopped.commits.len(), &stopped, script);
                let resumed = later.finish();
                assert_eq!((resumed.status, &resumed.output), (expected.status, &expected.output), "{what}");
                assert_eq!(done_twice(&stopped, &later), [""; 0], "{what}");
                is_over(&later, &what);
            }
        }
    }
}

#[test]
fn a_repaired_sub_workflow_is_cancelled_with_its_group_wherever_it_stands() {
    let plan = with_sub("");
    // The rival fails at any moment: before the repair, while it is made, in the first step and in the second.
    let fails: [Script; 4] = [rival_fails::<1>, rival_fails::<3>, rival_fails::<5>, rival_fails::<7>];
    let mut reached = HashSet::new();
    for script in fails {
        let mut cancelled = world(&plan, 4, script);
        let ended = cancelled.finish();
        assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
        is_over(&cancelled, "cancelled");
        reached.insert(cancelled.launches.last().unwrap().0.to_string());
        resumes_alike(&plan, &cancelled, script, &ended);
        let mut later = resumed(&plan, 4, cancelled.commits.len(), &cancelled, shaped);
        assert_eq!(later.finish().output, Some(json!({ "said": "two 12" })));
        assert_eq!(done_twice(&cancelled, &later), [""; 0]);
    }
    assert!(reached.contains("both/sub/one") && reached.contains("both/sub/two"), "{reached:?}");
}

/// The step beside the sub-workflow fails after so many half ticks.
fn rival_fails<const HALVES: u32>(assignment: &Assignment) -> Behaviour {
    match assignment.task.to_string() == "both/rival" {
        true => Behaviour::fails(TICK * HALVES / 2, Class::Fatal),
        false => shaped(assignment),
    }
}

#[test]
fn a_repaired_sub_workflow_that_takes_too_long_ends_with_all_that_it_runs() {
    // A step's time begins with what it asks; tasks take 50 ms each.
    for (limit, launched) in [("20ms", 1), ("70ms", 2), ("120ms", 3)] {
        let plan = with_sub(&format!(", timeout: {limit}"));
        let mut late = world(&plan, 4, shaped);
        let ended = late.finish();
        let failure = ended.failure.clone().unwrap_or_else(|| panic!("{limit}: {ended:?}"));
        assert!(failure.message.contains("timed out"), "{limit}: {}", failure.message);
        is_over(&late, limit);
        let inner = late.launches.iter().filter(|(task, _)| task.to_string().starts_with("both/sub/"));
        assert_eq!(inner.count(), launched, "{limit}: the repair, `one` and `two` in turn");
    }
}

/// Cut off at any commit (once it was told to stop, if it was), a run comes to the same end again.
fn resumes_alike(plan: &Arc<Plan>, earlier: &World, script: Script, ended: &Ended) {
    let asks_to_stop = |event: &Event| matches!(event, Event::StopRequested { .. });
    for cut in 1..earlier.commits.len() {
        let left = &earlier.commits[..cut];
        let told = left.iter().flatten().any(|stamped| asks_to_stop(&stamped.event));
        if !told && ended.status == RunStatus::Cancelled {
            continue;
        }
        let mut again = resumed(plan, 4, cut, earlier, script);
        let resumed = again.finish();
        let what = format!("cut after {cut}");
        assert_eq!(resumed.status, ended.status, "{what}");
        // What there is of a run that failed depends on how far its members had come.
        if ended.status != RunStatus::Failed {
            assert_eq!(resumed.output, ended.output, "{what}");
        }
        is_over(&again, &what);
    }
}

/// Items of which each has its input repaired, one after the other or side by side.
fn with_items(places: u32, mode: &str, more: &str) -> Arc<Plan> {
    plan_of(
        &format!(
            "
workflow: {{name: w, runtime: {{provider: scripted}}, entry_point: maker}}
for_each:
  - {{name: each, type: for_each, items: [0, 1, 2, 3], as: n, max_concurrent: {places}, failure_mode: {mode}, needs: [maker], agent: {{name: use, prompt: 'use {{{{ maker.output.price }}}} {{{{ n }}}}', expects: {{maker: {{price: {{type: number}}}}}}, repair_input: true}}}}
agents:
  - {{name: maker, prompt: make}}
{more}
"
        ),
        &[],
    )
}

/// Every repair is made but those of the items that `fails` names.
fn item_repairs(assignment: &Assignment, fails: &[&str]) -> Behaviour {
    let task = assignment.task.to_string();
    match (task.as_str(), task.split_once("/repair_input")) {
        ("maker", _) => Behaviour::gives(TICK, json!({ "price": "12 Euro" })),
        (_, Some((item, _))) if fails.contains(&item) => Behaviour::fails(TICK, Class::Fatal),
        (_, Some(_)) => Behaviour::gives(TICK, json!({ "price": 12 })),
        _ => Behaviour::gives(TICK, json!({ "result": prompt(assignment).lines().next() })),
    }
}

fn first_and_third_fail(assignment: &Assignment) -> Behaviour {
    item_repairs(assignment, &["each[0]", "each[2]"])
}

fn none_fails(assignment: &Assignment) -> Behaviour {
    item_repairs(assignment, &[])
}

/// What a resumed run launches: the items whose repair had failed, begun anew, and what follows from them.
fn launched(world: &World) -> Vec<String> {
    let mut launched: Vec<_> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
    launched.sort();
    launched
}

const AGAIN: [&str; 4] = ["each[0]", "each[0]/repair_input[maker]", "each[2]", "each[2]/repair_input[maker]"];

#[test]
fn a_failed_fan_out_is_reopened_around_items_that_have_their_repairs() {
    let output = "output: {all: '{{ each.outputs | map(attribute=\"result\") | join(\",\") }}'}";
    for places in [1, 2, 10] {
        let plan = with_items(places, "all_or_nothing", output);
        let mut first = world(&plan, 4, first_and_third_fail);
        assert_eq!(first.finish().status, RunStatus::Failed, "{places}");
        let mut second = resumed(&plan, 4, first.commits.len(), &first, none_fails);
        let ended = second.finish();
        assert_eq!(ended.output, Some(json!({ "all": "use 12 0,use 12 1,use 12 2,use 12 3" })), "{places}");
        assert_eq!(launched(&second), AGAIN, "{places}: what had its repair is not done again");
        is_over(&second, "resumed");
        for cut in first.commits.len() + 1..second.commits.len() {
            let again = resumed(&plan, 4, cut, &second, none_fails).finish();
            assert_eq!(
                (again.status, &again.output),
                (ended.status, &ended.output),
                "{places}, cut after {cut}"
            );
        }
    }
}

#[test]
fn a_partial_run_is_reopened_around_items_that_have_their_repairs() {
    let merge = "  - {name: s, type: reduce, needs: [{step: each, requires: any}], strategy: flat}
output: {answer: '{{ s.output | json }}'}";
    for places in [1, 2, 10] {
        let plan = with_items(places, "continue_on_error", merge);
        let mut first = world(&plan, 4, first_and_third_fail);
        let before = first.finish();
        assert_eq!(before.status, RunStatus::Partial, "{places}: {before:?}");
        assert_eq!(before.output.unwrap()["answer"]["missing"].as_array().unwrap().len(), 2);
        let mut second = resumed(&plan, 4, first.commits.len(), &first, none_fails);
        let ended = second.finish();
        assert_eq!(ended.status, RunStatus::Succeeded, "{places}: {ended:?}");
        assert_eq!(ended.output.as_ref().unwrap()["answer"]["sources"].as_array().unwrap().len(), 4);
        assert_eq!(launched(&second), AGAIN, "{places}");
        is_over(&second, "resumed");
        for cut in first.commits.len() + 1..second.commits.len() {
            let again = resumed(&plan, 4, cut, &second, none_fails).finish();
            assert_eq!(
                (again.status, &again.output),
                (ended.status, &ended.output),
                "{places}, cut after {cut}"
            );
        }
    }
}

#[test]
fn who_failed_behind_its_repair_goes_on_with_it() {
    fn second_fails(assignment: &Assignment) -> Behaviour {
        match assignment.task.to_string() == "each[1]" {
            true => Behaviour::fails(TICK, Class::Fatal),
            false => none_fails(assignment),
        }
    }
    for places in [1, 2, 10] {
        let plan = with_items(places, "all_or_nothing", "output: {n: '{{ each.count }}'}");
        let mut first = world(&plan, 4, second_fails);
        assert_eq!(first.finish().status, RunStatus::Failed, "{places}");
        let mut second = resumed(&plan, 4, first.commits.len(), &first, none_fails);
        assert_eq!(second.finish().status, RunStatus::Succeeded, "{places}");
        assert_eq!(launched(&second), ["each[1]"], "{places}: its input is in shape already");
    }
}
