//! What follows when a task fails: waiting, other ways, each once.

use crate::goals::kit::*;
use convoke_model::{Assignment, Class, Event, RunStatus, Stamped, Timestamp};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// One task, whose agent is cut off every time.
fn never_works(id: &str, _: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
        "g/finalise[1]" => final_words("done"),
        "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
        _ => Err(Class::Transient),
    }
}

#[test]
fn a_failed_task_is_not_tried_before_its_back_off_has_passed() {
    let (_, world) = run(&goal(", backoff: 2"), 9, never_works);
    let mut starts = Vec::new();
    for stamped in world.events() {
        match &stamped.event {
            Event::AttemptStarted { task, .. } if &*task.0 == "g/1/execute[1]" => starts.push(stamped.at),
            _ => {}
        }
    }
    let pauses: Vec<Duration> = starts.windows(2).map(|pair| pair[1].since(pair[0]) - TICK).collect();
    assert_eq!(pauses.len(), 2, "{pauses:?}");
    assert!(pauses[0] >= Duration::from_secs(2) && pauses[1] >= Duration::from_secs(4), "{pauses:?}");
    resumes_everywhere(&goal(", backoff: 2"), 9, never_works);
}

#[test]
fn what_was_not_achieved_waits_for_its_retry_and_the_moment_survives_a_restart() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/1/execute[1]" => undone(),
            "g/1/execute[2]" => {
                assert!(prompt.contains("no such file"), "{prompt}");
                done("a")
            }
            _ => final_words("done"),
        }
    }
    let plan = goal(", backoff: 5, policies: {invalid_output: [retry, fail]}");
    let (ended, world) = run(&plan, 9, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert!(ended.took >= Duration::from_secs(5));
    assert!(
        world
            .events()
            .any(|stamped| matches!(&stamped.event, Event::RetryScheduled { task, .. } if &*task.0 == "g/1"))
    );
    resumes_everywhere(&plan, 9, says);
    assert_eq!(waits_kept(&plan, &world, says, "g/1", "g/1/execute[2]"), 1);
}

/// The same for the pause between two attempts of a task's agent.
#[test]
fn the_moment_of_another_attempt_survives_a_restart() {
    let plan = goal(", backoff: 2");
    let (_, world) = run(&plan, 9, never_works);
    assert!(waits_kept(&plan, &world, never_works, "g/1/execute[1]", "g/1/execute[1]") >= 2);
}

/// Cuts the run off while `waits` waits for a moment of the journal, and sees that `then` starts no earlier. How many
/// such cuts there were.
fn waits_kept(plan: &Arc<Plan>, whole: &World, says: Says, waits: &str, then: &str) -> usize {
    let mut seen = 0;
    for cut in 1..whole.commits.len() {
        let before: Vec<&Stamped> = whole.commits[..cut].iter().flatten().collect();
        let Some(due) = due(&before, waits) else { continue };
        seen += 1;
        let (_, again) = resumed(plan, 9, says, whole, cut);
        let after = again.events().skip(before.len());
        let started = after.filter(|stamped| starts(&stamped.event, then)).map(|stamped| stamped.at).next();
        assert!(started.is_some_and(|at| at >= due), "cut after {cut}: {started:?}, due {due:?}");
    }
    seen
}

/// When a task that waits is to go on, unless it has.
fn due(events: &[&Stamped], waits: &str) -> Option<Timestamp> {
    let mut due = None;
    for stamped in events {
        match &stamped.event {
            Event::RetryScheduled { task, at } if &*task.0 == waits => due = Some(*at),
            Event::TaskWoken { task } if &*task.0 == waits => due = None,
            Event::AttemptStarted { task, .. } if &*task.0 == waits => due = None,
            _ => {}
        }
    }
    due
}

fn starts(event: &Event, wanted: &str) -> bool {
    matches!(event, Event::AttemptStarted { task, .. } if &*task.0 == wanted)
}

#[test]
fn every_way_to_recover_is_taken_at_most_once() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/finalise[1]" => final_words("it could not be done"),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            id if id.contains("recover") => {
                // Always the first that is offered.
                let offered = prompt
                    .split("`strategy` is one of: ")
                    .nth(1)
                    .and_then(|rest| rest.split(['.', ',']).next());
                Ok(
                    json!({"strategy": offered, "reasoning": "r", "confidence": "low", "success_probability": 1, "next_steps": "n"}),
                )
            }
            id if id.contains("decompose") => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
            _ => undone(),
        }
    }
    let plan = goal(
        ", max_depth: 1, max_recoveries: 9, policies: {any: [repair_parameters, decompose, spawn_recovery, skip]}",
    );
    let (ended, world) = run(&plan, 9, says);
    assert_eq!(ended.status, RunStatus::Failed, "{ended:?}");
    let mut taken = decided(&world);
    taken.retain(|word| word.ends_with(" g/1"));
    let expected = [
        "execute g/1",
        "recover g/1",
        "repair_parameters g/1",
        "recover g/1",
        "decompose g/1",
        "add_tasks g/1",
    ];
    assert_eq!(taken[..6], expected, "{taken:?}");
    assert_eq!(taken.iter().filter(|word| word.starts_with("repair_parameters")).count(), 1);
    resumes_everywhere(&plan, 9, says);
}

#[test]
fn results_that_could_not_be_put_together_are_put_together_again() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [large("a")]})),
            "g/1/decompose[1]" => Ok(json!({"tasks": [task("x", &[]), task("y", &[])]})),
            "g/1/reconcile[1]" => undone(),
            "g/1/reconcile[2]" => {
                assert!(
                    prompt.contains("<g/1/1/execute[1]>") && prompt.contains("<g/1/2/execute[1]>"),
                    "{prompt}"
                );
                assert!(prompt.contains("no such file"), "{prompt}");
                done("a")
            }
            "g/finalise[1]" => final_words("done"),
            id => done(id),
        }
    }
    for way in ["retry", "repair_parameters"] {
        let plan = goal(&format!(", policies: {{any: [{way}, fail]}}"));
        let (ended, world) = run(&plan, 4, says);
        assert_eq!(ended.status, RunStatus::Succeeded, "{way}: {ended:?}");
        assert_eq!(launched(&world)[4..], ["g/1/reconcile[1]", "g/1/reconcile[2]", "g/finalise[1]"], "{way}");
        resumes_everywhere(&plan, 4, says);
    }
}

#[test]
fn a_recovery_has_what_the_failed_task_had_and_what_was_advised() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])]})),
            "g/2/execute[1]" => undone(),
            "g/2/recover[1]" => Ok(json!({
                "strategy": "spawn_recovery", "reasoning": "r", "confidence": "low", "success_probability": 1,
                "next_steps": "look into the attic first",
            })),
            "g/2/1/rescue[1]" => {
                for part in
                    ["This task was tried and failed", "<a>", "look into the attic first", "no such file"]
                {
                    assert!(prompt.contains(part), "`{part}` is missing: {prompt}");
                }
                done("b")
            }
            "g/finalise[1]" => final_words("done"),
            _ => done("a"),
        }
    }
    let plan = goal(", policies: {any: [repair_parameters, spawn_recovery, fail]}");
    let (ended, _) = run(&plan, 4, says);
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    let reason = answer(&ended)["tasks"][1]["reason"].clone();
    assert_eq!(reason, "task 2/1 did it: seen", "a task that was done is not told by why it failed before");
    resumes_everywhere(&plan, 4, says);
}

#[test]
fn the_task_that_failed_first_is_the_cause() {
    let plan = goal(", policies: {permission: [fail], security: [fail]}");
    for (first, second, cause) in [(1, 9, "task 1"), (9, 1, "task 2")] {
        let script = move |assignment: &Assignment| match &*assignment.task.0 {
            "g/plan[1]" => Behaviour::gives(TICK, json!({"tasks": [task("a", &[]), task("b", &[])]})),
            "g/1/execute[1]" => Behaviour::fails(first * TICK, Class::Permission),
            "g/2/execute[1]" => Behaviour::fails(second * TICK, Class::Security),
            _ => Behaviour::gives(TICK, final_words("done").unwrap()),
        };
        let mut world = World::new(plan.clone(), json!({}), 9, 1, Box::new(script));
        let failure = world.finish().failure.expect("nothing was done");
        assert!(failure.message.contains(cause), "{failure}");
        let class = if first < second { Class::Permission } else { Class::Security };
        assert_eq!(failure.class, class, "{failure}");
    }
}
