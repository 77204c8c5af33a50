//! People decide about what is escalated, change and approve plans, and say how to go on.

use crate::goals::kit::*;
use convoke_model::{Answer, Class, Event, RunStatus};
use convoke_testkit::World;
use serde_json::{Value, json};

#[test]
fn a_person_decides_about_what_is_escalated() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[])]})),
            "g/1/execute[1]" => Err(Class::Permission),
            "g/1/execute[2]" => done("a"),
            "g/classify[1]" => Ok(json!({"done": true, "reason": "r", "tasks": []})),
            _ => final_words("done"),
        }
    }
    let plan = goal(", policies: {permission: [escalate, fail]}");
    for (answer, status) in [(Answer::Retry, RunStatus::Succeeded), (Answer::Fail, RunStatus::Failed)] {
        let mut world = World::new(plan.clone(), json!({}), 4, 1, model(says));
        world.answers.insert("1".into(), answer);
        let ended = world.finish();
        assert_eq!(ended.status, status, "{ended:?}");
    }
    let mut alone = World::new(plan, json!({}), 4, 1, model(says));
    assert_eq!(alone.finish().status, RunStatus::Parked, "it waits for a person");
    assert_eq!(alone.running(), 0, "and holds nothing meanwhile");
}

/// The recovery role of the first task chooses a way that the second has used up meanwhile.
#[test]
fn a_person_who_wants_another_try_gets_it_whatever_else_is_left() {
    fn says(id: &str, _: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), large("b")]})),
            "g/1/execute[1]" => Err(Class::Fatal),
            "g/2/decompose[1]" => Ok(json!({"tasks": [task("x", &[])]})),
            id if id.contains("recover") => Ok(json!({
                "strategy": "spawn_recovery", "reasoning": "r", "confidence": "low", "success_probability": 1,
                "next_steps": "n",
            })),
            "g/finalise[1]" => final_words("done"),
            id => done(id),
        }
    }
    let policy = "[spawn_recovery, decompose, escalate, repair_parameters, fail]";
    let plan = goal(&format!(", max_tasks: 3, policies: {{any: {policy}}}"));
    let mut world = World::new(plan, json!({}), 4, 1, model(says));
    world.answers.insert("1".into(), Answer::Retry);
    assert_eq!(world.finish().status, RunStatus::Succeeded);
    let taken: Vec<String> = decided(&world).into_iter().filter(|word| word.ends_with(" g/1")).collect();
    assert_eq!(
        taken,
        ["execute g/1", "recover g/1", "recover g/1", "escalate g/1", "execute g/1", "end g/1"]
    );
}

#[test]
fn a_person_edits_and_approves_the_plan() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        match id {
            "g/plan[1]" => Ok(json!({"tasks": [task("a", &[]), task("b", &["a"])]})),
            "g/1/execute[1]" => {
                assert!(prompt.contains("only this"), "{prompt}");
                done("it")
            }
            _ => final_words("done"),
        }
    }
    let plan = goal(", approve: true");
    let mut world = World::new(plan.clone(), json!({}), 4, 1, model(says));
    world.answers.insert("g".into(), Answer::Plan { plan: "- description: only this\n".into() });
    let ended = world.finish();
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    assert_eq!(launched(&world), ["g/plan[1]", "g/1/execute[1]", "g/finalise[1]"]);
    let asked = world.events().find_map(|stamped| match &stamped.event {
        Event::GateOpened { ask, .. } => Some(serde_json::to_string(ask).unwrap()),
        _ => None,
    });
    assert!(asked.unwrap().contains("do a"), "the plan is shown");
    let mut refused = World::new(plan.clone(), json!({}), 4, 1, model(says));
    refused.answers.insert("g".into(), Answer::Fail);
    let ended = refused.finish();
    assert_eq!((ended.status, launched(&refused).len()), (RunStatus::Failed, 1), "{ended:?}");
    let mut open = World::new(plan, json!({}), 4, 1, model(says));
    assert_eq!(open.finish().status, RunStatus::Parked);
}

#[test]
fn guidance_reaches_whoever_is_asked_afterwards() {
    fn says(id: &str, prompt: &str) -> Result<Value, Class> {
        let guided = prompt.contains("use metric units");
        match id {
            "g/plan[1]" => {
                assert!(!guided);
                Ok(json!({"tasks": [task("a", &[])]}))
            }
            "g/finalise[1]" => {
                assert!(guided, "{prompt}");
                final_words("done")
            }
            _ => done(if guided { "metric" } else { "imperial" }),
        }
    }
    let plan = goal("");
    let mut world = World::new(plan.clone(), json!({}), 4, 1, model(says));
    world.run(2);
    world.guide("use metric units");
    assert_eq!(world.finish().status, RunStatus::Succeeded);
    let mut again = World::resumed(plan, 4, world.commits[..4].to_vec(), &world, model(says));
    assert_eq!(again.finish().status, RunStatus::Succeeded, "what was said is not forgotten");
}
