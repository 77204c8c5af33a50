//! A pipeline that is resumed under other bounds, after other work, or after another end than a failure of its own: what was
//! decided stays decided, and only what was cut off goes on.

use super::kit::*;
use convoke_model::{Assignment, Event, RunStatus};
use convoke_plan::Plan;
use convoke_plan::compile::Caps;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ONE_TRY: &str = "topologyConstraints: {maxDepth: 3, maxRetries: 0}\n";

fn launched(world: &World) -> Vec<String> {
    world.launches.iter().map(|(task, _)| task.to_string()).collect()
}

fn names(tasks: &[&str]) -> Vec<String> {
    tasks.iter().map(|task| (*task).to_owned()).collect()
}

fn resumed(plan: &Arc<Plan>, world: &World, script: Script) -> (Ended, World) {
    let mut again = World::resumed(plan.clone(), 4, world.commits.clone(), world, workers(script));
    (again.finish(), again)
}

/// A pipeline of programs, whose own text does not depend on which events there are.
fn programs(events: &str) -> Arc<Plan> {
    let edges = ["a b event: validation_passed", "a d event: validation_failed"];
    let more = format!(
        "{ONE_TRY}events: {events}\nactors: {{model: {{type: script, command: work, idempotent: true}}}}\n"
    );
    with("a", &["a", "b", "d"], &edges, &more)
}

#[test]
fn an_answer_that_was_refused_stays_so_under_wider_bounds() {
    let (narrow, wide) = (programs("[shipped]"), programs("[shipped, deployed]"));
    let deploys = json!({"status": "success", "payload": {}, "events": [{"type": "deployed"}]});
    let (ended, world) = run(&narrow, vec![("a/try[1]", says(deploys))]);
    assert_eq!((ended.status, phases(&ended)["d"].as_str()), (RunStatus::Failed, "success"));
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let heard = asked.clone();
    let listens = Box::new(move |assignment: &Assignment| {
        let told = serde_json::from_str(&prompt(assignment)).expect("programs are given JSON");
        heard.lock().expect("one thread").push(told);
        behaviour(success(json!({})))
    });
    let mut again = World::changed(narrow, wide, 4, &world, listens);
    let ended = again.finish();
    assert_eq!(launched(&again), ["a/try[2]", "b/try[1]"]);
    assert_eq!((ended.status, phases(&ended)["d"].as_str()), (RunStatus::Succeeded, "skipped"));
    assert_eq!(ended.output.expect("a report")["phases"]["a"]["tries"], 2);
    let first = &asked.lock().expect("one thread")[0]["previous"][0];
    let why = "there is no event `deployed`: `events` of the manifest can define it";
    assert_eq!(*first, json!({"try": 1, "status": "validation_fail", "payload": {}, "reason": why}));
}

/// Persona `p` may hand this many to `q`.
fn handing_out(most: u32) -> Arc<Plan> {
    plan_of(
        &format!(
            "schemaVersion: '1'
personas:
  - {{id: p, displayName: P, systemPromptTemplate: You are p.}}
  - {{id: q, displayName: Q, systemPromptTemplate: You are q.}}
relationships: [{{parentPersonaId: p, childPersonaId: q, constraints: {{maxDepth: 1, maxChildren: {most}}}}}]
{ONE_TRY}pipeline:
  entryNodeId: a
  nodes: [{{id: a, actorId: model, personaId: p}}, {{id: b, actorId: model, personaId: q}}]
  edges: [{{from: a, to: b, event: tasks_planned}}]
"
        ),
        &[],
    )
}

#[test]
fn what_a_refused_answer_would_have_announced_is_announced_by_the_next() {
    let plans = json!({"status": "success", "payload": {},
        "events": [{"type": "tasks_planned"}, {"type": "code_committed"}],
        "children": [{"persona": "q", "task": "1"}, {"persona": "q", "task": "2"}]});
    let script: Script = vec![("a/try[1]", says(plans.clone())), ("a/try[2]", says(plans))];
    let (ended, world) = run(&handing_out(1), script.clone());
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 1));
    let mut again = World::changed(handing_out(1), handing_out(2), 4, &world, workers(script));
    let ended = again.finish();
    assert_eq!((ended.status, phases(&ended)["b"].as_str()), (RunStatus::Succeeded, "success"), "{ended:?}");
    assert!(told(&events(&again)).contains(&"a tasks_planned".to_owned()));
}

/// Tasks, and how long they take to do what.
type Slowly = Vec<(&'static str, u64, Does)>;

/// Workers that take their time.
fn slowly(script: Slowly) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let known = script.iter().find(|(task, ..)| **task == *assignment.task.0);
        let (millis, does) =
            known.map_or((50, success(json!({}))), |(_, millis, does)| (*millis, does.clone()));
        Behaviour { takes: Duration::from_millis(millis), ..behaviour(does) }
    })
}

/// Runs until a task is launched, and stops the run then.
fn stopped_in(plan: &Arc<Plan>, task: &str, script: Slowly) -> World {
    stopped_when(plan, script, |world| launched(world).iter().any(|launched| launched == task))
}

/// Runs until this holds, and stops the run then.
fn stopped_when(plan: &Arc<Plan>, script: Slowly, holds: impl Fn(&World) -> bool) -> World {
    let mut world = World::new(plan.clone(), json!({}), 4, 1, slowly(script));
    while !holds(&world) {
        let commits = world.commits.len() + 1;
        assert!(world.run(commits).is_none(), "it ended before that");
    }
    assert_eq!(world.stop(true).status, RunStatus::Cancelled);
    world
}

fn hands(children: &[&str]) -> Does {
    let children: Vec<Value> = children.iter().map(|who| json!({"persona": who, "task": "x"})).collect();
    says(json!({"status": "success", "payload": {}, "children": children}))
}

#[test]
fn what_tighter_bounds_refused_is_tried_again_under_wider_ones() {
    let plan = manifest("x", &["x personaId: a"], &[]);
    let script = || {
        vec![
            ("x/try[1]", 50, hands(&["b", "b"])),
            ("x/child[1.1]", 1000, hands(&["c"])),
            ("x/child[1.2]", 1000, hands(&["c"])),
        ]
    };
    let world = stopped_in(&plan, "x/child[1.2]", script());
    let mut tight = (*plan).clone();
    tight.bound_by(&Caps { recursive_depth: 1, topology_retries: 0, ..Caps::default() });
    let mut second = World::resumed(Arc::new(tight), 4, world.commits.clone(), &world, slowly(script()));
    assert_eq!(second.finish().status, RunStatus::Failed);
    let mut third = World::resumed(plan, 4, second.commits.clone(), &second, slowly(script()));
    let ended = third.finish();
    assert_eq!((ended.status, launched(&third)), (RunStatus::Succeeded, names(&["x/try[2]"])), "{ended:?}");
}

/// A try hands work to two, of whom the first gives nothing good while the second is at it; another try follows.
fn one_of_two_is_refused() -> Slowly {
    vec![
        ("x/try[1]", 50, hands(&["b", "b"])),
        ("x/child[1.1]", 300, refused("bad")),
        ("x/child[1.2]", 3000, success(json!({}))),
        ("x/try[2]", 4000, success(json!({}))),
    ]
}

#[test]
fn work_of_a_try_that_is_over_is_not_done_again() {
    let plan = manifest("x", &["x personaId: a"], &[]);
    let asked_to_stop =
        |world: &World| world.events().any(|stamped| matches!(stamped.event, Event::CancelRequested { .. }));
    let stopped = [
        stopped_in(&plan, "x/try[2]", one_of_two_is_refused()),
        // The same while the sibling of the one that failed is being ended.
        stopped_when(&plan, one_of_two_is_refused(), asked_to_stop),
    ];
    for world in stopped {
        let workers = slowly(one_of_two_is_refused());
        let mut again = World::resumed(plan.clone(), 4, world.commits.clone(), &world, workers);
        assert_eq!((again.finish().status, launched(&again)), (RunStatus::Succeeded, names(&["x/try[2]"])));
    }
}

#[test]
fn a_failure_that_a_new_try_made_good_leads_nowhere() {
    let nodes = ["a", "fix", "b", "c"];
    let said = json!({"status": "failure", "payload": {}, "events": [{"type": "task_blocked"}]});
    for fails in [failed("no"), says(said)] {
        let plan = with("a", &nodes, &["a fix event: task_blocked", "a b", "b c"], ONE_TRY);
        let (ended, world) = run(&plan, vec![("a/try[1]", fails), ("fix/try[1]", failed("no"))]);
        assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 2));
        let (ended, again) = resumed(&plan, &world, vec![]);
        assert_eq!(launched(&again), ["a/try[2]", "b/try[1]", "c/try[1]"]);
        assert_eq!(ended.status, RunStatus::Succeeded);
    }
}

#[test]
fn a_failure_that_a_new_try_made_good_has_not_happened_for_conditions() {
    for when in ["{type: history_has_event, event: task_blocked}", "\"'task_blocked' in events\""] {
        let care = format!("b care when: [{when}]");
        let plan = with("a", &["a", "b", "care"], &["a b on: always", &care], ONE_TRY);
        let (ended, world) = run(&plan, vec![("a/try[1]", failed("no"))]);
        assert_eq!(phases(&ended)["care"], "success", "{when}");
        let (ended, again) = resumed(&plan, &world, vec![]);
        assert_eq!(
            (ended.status, launched(&again)),
            (RunStatus::Succeeded, names(&["a/try[2]", "b/try[1]"])),
            "{when}"
        );
        // What another phase announced has happened.
        let (ended, again) = resumed(&plan, &world, vec![("a/try[2]", failed("no"))]);
        assert_eq!((ended.status, launched(&again).len()), (RunStatus::Failed, 3), "{when}");
    }
}

#[test]
fn a_worker_that_calls_its_failure_cancelled_was_not_stopped() {
    let plan = manifest(
        "e",
        &["e", "x", "care", "l1", "l2", "bad"],
        &["e x", "x care on: failure", "e l1", "l1 l2", "l2 bad"],
    );
    let cancelled = json!({"status": "failure", "payload": {}, "failure_code": "cancelled"});
    let (ended, world) = run(&plan, vec![("x/try[1]", says(cancelled)), ("bad/try[1]", failed("no"))]);
    assert_eq!((ended.status, phases(&ended)["care"].as_str()), (RunStatus::Failed, "success"));
    let (ended, again) = resumed(&plan, &world, vec![]);
    assert_eq!((ended.status, launched(&again)), (RunStatus::Succeeded, names(&["bad/try[2]"])));
}

#[test]
fn items_that_a_failed_sibling_ended_get_new_tries_as_it_does() {
    let child = format!(
        "schemaVersion: '1'
personas: [{{id: p, displayName: P, systemPromptTemplate: You are p.}}]
{ONE_TRY}pipeline:
  entryNodeId: a
  nodes: [{{id: a, actorId: model, personaId: p}}, {{id: b, actorId: model, personaId: p}}]
  edges: [{{from: a, to: b, on: failure}}]
"
    );
    let text = "
workflow: {name: w, entry_point: each, input: {items: {type: array}}}
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, failure_mode: fail_fast, agent: {name: c, type: workflow, workflow: child.yaml}}
agents: []
output: {all: '{{ each.count }}'}
";
    let plan = plan_of(text, &[("child.yaml", &child)]);
    let script = || {
        vec![
            ("each[0]/a/try[1]", 50, failed("no")),
            ("each[0]/b/try[1]", 300, failed("no")),
            ("each[1]/a/try[1]", 50, failed("no")),
            ("each[1]/b/try[1]", 3000, success(json!({}))),
        ]
    };
    let mut world = World::new(plan.clone(), json!({"items": [0, 1]}), 4, 1, slowly(script()));
    let ended = world.finish();
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Failed, 4), "{ended:?}");
    let mut again = World::resumed(plan, 4, world.commits.clone(), &world, slowly(script()));
    let ended = again.finish();
    let mut tries = launched(&again);
    tries.sort();
    assert_eq!(
        (ended.status, tries),
        (RunStatus::Succeeded, names(&["each[0]/a/try[2]", "each[1]/a/try[2]"])),
        "{ended:?}"
    );
}

#[test]
fn what_a_changed_phase_came_to_before_is_told_as_it_ended() {
    let plan = |task: &str| manifest("x", &["x", &format!("d personaId: c, task: {task}")], &["x d"]);
    let (before, now) = (plan("one"), plan("two"));
    for (ends, status) in
        [(failed("no"), "failure"), (says(json!({"status": "success", "flags": 1})), "validation_fail")]
    {
        let script = ["d/try[1]", "d/try[2]", "d/try[3]"].map(|task| (task, ends.clone())).to_vec();
        let (ended, world) = run(&before, script);
        let tries = ended.output.expect("a report")["phases"]["d"]["tries"].clone();
        let mut again = World::changed(before.clone(), now.clone(), 4, &world, workers(vec![]));
        let ended = again.finish();
        assert_eq!((ended.status, launched(&again)), (RunStatus::Succeeded, names(&["d/try[1]"])));
        let told = &ended.output.expect("a report")["phases"]["d"];
        assert_eq!(told["superseded"], json!([{"status": status, "tries": tries}]));
    }
}

#[test]
fn violations_of_a_phase_that_begins_anew_stay_in_the_result() {
    let plan = with("x", &["x", "care"], &["x care on: failure"], "violationMode: validation_fail\n");
    // Too large to stand in an event.
    let reason = format!("asked for a key {}", "x".repeat(20_000));
    let violates = json!({"status": "failure", "failure_code": "security", "reason": reason});
    let (ended, world) = run(&plan, vec![("x/try[1]", failed("no")), ("care/try[1]", says(violates))]);
    let violations = |ended: &Ended| ended.output.as_ref().expect("a report")["violations"].clone();
    assert_eq!((ended.status, violations(&ended).as_array().map(Vec::len)), (RunStatus::Failed, Some(1)));
    let mut before = violations(&ended);
    before[0]["superseded"] = json!(true);
    let (ended, again) = resumed(&plan, &world, vec![("x/try[2]", failed("no"))]);
    assert_eq!((ended.status, violations(&ended)), (RunStatus::Failed, before.clone()));
    let (ended, _) = resumed(&plan, &again, vec![]);
    assert_eq!((ended.status, violations(&ended)), (RunStatus::Succeeded, before));
}
