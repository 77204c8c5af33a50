//! What a resume does again, and what it does not.

use crate::merging::kit::{CHECKED, EXPECTING, Says, answer, many, run, words, world};
use convoke_model::RunStatus;
use convoke_plan::Plan;
use convoke_testkit::{Ended, World, plan_of};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs, then resumes what has ended, with other answers.
fn again(plan: &Arc<Plan>, first: Says, second: Says) -> (Ended, Ended, Vec<String>) {
    let (before, earlier) = run(plan, json!({}), 60, first);
    let mut later = World::resumed(plan.clone(), 60, earlier.commits.clone(), &earlier, world(second));
    let after = later.finish();
    (before, after, later.launches.iter().map(|(task, _)| task.to_string()).collect())
}

#[test]
fn a_partial_run_that_is_resumed_gets_what_is_missing_and_merges_again() {
    fn fails(task: &str, prompt: &str) -> Option<Value> {
        if task == "a[3]" { None } else { words(task, prompt) }
    }
    for strategy in ["hierarchical", "progressive", "flat"] {
        let plan = many(6, &format!("strategy: {strategy}"));
        let (before, after, launches) = again(&plan, fails, words);
        assert_eq!((before.status, after.status), (RunStatus::Partial, RunStatus::Succeeded), "{strategy}");
        assert_eq!(answer(&after)["sources"].as_array().unwrap().len(), 6);
        let agents: Vec<_> = launches.iter().filter(|task| task.starts_with("a[")).collect();
        assert_eq!(agents, ["a[3]"], "{strategy}: only what was missing is asked again");
    }
}

#[test]
fn a_repair_and_an_examination_that_failed_are_made_again() {
    fn broken(task: &str, prompt: &str) -> Option<Value> {
        if task.contains("repair_input") || task.contains("assess") { None } else { repaired(task, prompt) }
    }
    fn repaired(task: &str, prompt: &str) -> Option<Value> {
        match task.split('[').next().unwrap() {
            "maker" => Some(json!({ "price": "12 Euro" })),
            "user" => Some(json!({ "result": prompt })),
            "user/repair_input" => Some(json!({ "price": 12 })),
            "writer" => Some(json!({ "result": "words" })),
            "checked/assess" => Some(json!({ "findings": [] })),
            _ => None,
        }
    }
    for (text, status) in [(EXPECTING, RunStatus::Failed), (CHECKED, RunStatus::Partial)] {
        let (before, after, _) = again(&plan_of(text, &[]), broken, repaired);
        assert_eq!((before.status, after.status), (status, RunStatus::Succeeded), "{after:?}");
    }
}
