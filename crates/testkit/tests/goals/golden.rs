//! The run that is committed as a file: planned, spawned, recovered, rejoined and answered, and the same wherever it was
//! killed.

use crate::goals::kit::*;
use convoke_model::{Class, Event, RunStatus};
use convoke_schedule::{Owner, Scheduler};
use convoke_testkit::World;
use serde_json::{Value, json};

/// At so many cuts of the golden run at least the list is that of the file, event by event.
const EXACT_CUTS: usize = 10;

/// `Blocked` is no decision of the router but of capacity, and is told again by the process that goes on: it is left out of the
/// files (`told`), as are times, owners and what the run started from.
fn assert_golden(name: &str, world: &World) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let told: String = told(world).iter().map(|event| format!("{event}\n")).collect();
    if std::env::var_os("CONVOKE_BLESS").is_some() {
        std::fs::write(&path, &told).expect("the golden file can be written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = golden.lines().zip(told.lines()).position(|(golden, told)| golden != told);
    assert!(
        golden == told,
        "{name} differs from line {differs:?} on; CONVOKE_BLESS=1 writes it anew:\n{told}"
    );
}

#[test]
fn the_golden_run_equals_its_file() {
    let plan = goal(DECOMPOSE);
    let (ended, world) = run(&plan, 4, report);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let answer = answer(&ended);
    assert_eq!(
        (&answer["message"], &answer["status"]),
        (&json!("The report is written."), &json!("succeeded"))
    );
    assert_eq!(answer["tasks"].as_array().unwrap().len(), 9);
    assert_golden("goal.jsonl", &world);
}

#[test]
fn the_golden_run_is_the_same_wherever_it_was_killed() {
    resumes_everywhere(&goal(DECOMPOSE), 4, report);
    resumes_everywhere(&goal(DECOMPOSE), 1, report);
}

/// The list of the committed file, also after a kill. One rule: where attempts were lost, those that ran beside them end at
/// other moments, and events of different tasks may change places; those of each task stand in the file's order.
#[test]
fn killed_anywhere_the_golden_run_is_its_file() {
    let golden: Vec<Value> = include_str!("../golden/goal.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    let plan = goal(DECOMPOSE);
    let (_, whole) = run(&plan, 4, report);
    let mut exact = 0;
    for cut in 1..whole.commits.len() {
        let (_, again) = resumed(&plan, 4, report, &whole, cut);
        let list = told(&again);
        let lost = again.events().any(|stamped| matches!(stamped.event, Event::AttemptLost { .. }));
        assert!(list == golden || lost, "cut after {cut}: nothing was lost, and the order differs");
        assert!(each_task(&list) == each_task(&golden), "cut after {cut}: other events than the file's");
        exact += usize::from(list == golden);
    }
    // Fewer would mean that more is lost by a kill, or that what follows a loss is told in another order than before.
    assert!(exact >= EXACT_CUTS, "only {exact} of {} cuts give the file's list", whole.commits.len() - 1);
}

#[test]
fn nested_parents_complete_also_at_concurrency_one() {
    let (ended, world) = run(&goal(DECOMPOSE), 1, report);
    assert_eq!((ended.status, world.peak), (RunStatus::Succeeded, 1));
}

/// The same with one thing at a time: what comes after what is fixed.
fn chain(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => {
            let mut chapters = large("chapters");
            chapters["inputs"] = json!(["sources"]);
            Ok(json!({"tasks": [task("sources", &[]), chapters, task("title", &["chapters"])]}))
        }
        "g/2/decompose[1]" => {
            let one_by_one =
                [task("one", &[]), task("two", &["one"]), task("three", &["two"]), task("four", &["three"])];
            Ok(json!({ "tasks": one_by_one }))
        }
        id => report(id, prompt),
    }
}

#[test]
fn killed_anywhere_the_same_events_follow_in_the_same_order() {
    let plan = goal(DECOMPOSE);
    let (expected, whole) = run(&plan, 4, chain);
    assert_eq!(expected.status, RunStatus::Succeeded);
    assert_golden("goal_chain.jsonl", &whole);
    for cut in 1..whole.commits.len() {
        let (ended, again) = resumed(&plan, 4, chain, &whole, cut);
        assert_eq!(ended.output, expected.output, "cut after {cut}");
        assert!(told(&again) == told(&whole), "cut after {cut}: other events");
    }
}

#[test]
fn what_roles_spend_is_paid_by_the_step() {
    let plan = goal(", budget: {usd: 5}");
    let (_, world) = run(&plan, 4, report);
    let mut scheduler = Scheduler::new(plan.clone());
    world.events().for_each(|event| scheduler.apply(event).expect("it happened"));
    let knows_nothing = Scheduler::new(plan);
    for task in scheduler.tasks() {
        let id = scheduler.id(task);
        let scopes = scheduler.budget_scopes(task);
        assert_eq!(scopes.len(), 1, "{id}");
        assert_eq!(scopes[0].owner, Owner::Step { name: "g".into(), file: None }, "{id}");
        assert_eq!(knows_nothing.budget_scopes_of(id).0, scopes, "{id}");
    }
}

#[test]
fn independent_tasks_run_side_by_side() {
    let (ended, world) = run(&goal(DECOMPOSE), 9, report);
    // plan | 1, decompose 2 | three children | 2/3 decompose, 2/4 | half | half | reconcile 3 | reconcile 2 | 3 | finalise
    assert_eq!(ended.took, TICK * 10, "{:?}", launched(&world));
    assert!(world.peak >= 3);
}
