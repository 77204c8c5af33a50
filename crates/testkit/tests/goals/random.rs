//! Whatever models say, a goal ends within its bounds and honestly.

use crate::goals::kit::*;
use convoke_model::{Assignment, Class, Event, GoalChoice, GoalDecided, RunStatus, TaskId};
use convoke_testkit::{Behaviour, Ended, Random, World};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A model that says anything at all: bad answers, cycles, hundreds of tasks, endless spawning, endless failing.
fn anything(random: &mut Random, id: &str) -> Result<Value, Class> {
    let role = id.rsplit('/').next().and_then(|last| last.split('[').next()).unwrap_or_default().to_owned();
    if random.percent(15) {
        return Err(Class::ALL[random.below(12) as usize]);
    }
    if random.percent(10) {
        return Ok(json!({"nonsense": true}));
    }
    let mut tasks = || {
        let count = if random.percent(5) { 300 } else { random.below(6) };
        let mut all = Vec::new();
        for n in 0..count {
            let input = random.below(count + 1).to_string();
            let mut one = task(
                &n.to_string(),
                if random.percent(40) { std::slice::from_ref(&input) } else { &[] }
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .as_slice(),
            );
            if random.percent(50) {
                one["estimated_tokens"] = json!(90_000);
            }
            if random.percent(10) {
                (one["skip_probability"], one["skip_reason"]) = (json!(90), json!("no key"));
            }
            all.push(one);
        }
        json!(all)
    };
    let tasks = tasks();
    Ok(match role.as_str() {
        "plan" | "decompose" => json!({"tasks": tasks, "complete": random.percent(50)}),
        "analyse" => json!({"decision": "spawn", "reasoning": "r", "tools": []}),
        "recover" => {
            let words = ["repair_parameters", "decompose", "spawn_recovery", "skip", "fail", "what?"];
            json!({"strategy": words[random.below(6) as usize], "reasoning": "it is gone", "next_steps": ""})
        }
        "classify" => {
            json!({"done": random.percent(50), "goal_achieved": flag(random), "reason": "r", "tasks": tasks})
        }
        "finalise" => {
            let message = if random.percent(90) { "m" } else { "" };
            json!({"message": message, "goal_achieved": flag(random), "reason": "r"})
        }
        _ => json!({"result": "r", "summary": "s", "goal_achieved": random.percent(60), "reason": "r"}),
    })
}

/// Yes, no, or nothing said.
fn flag(random: &mut Random) -> Value {
    [json!(true), json!(true), json!(false), Value::Null][random.below(4) as usize].clone()
}

/// What was said last about all of a goal, by the role.
type Heard = Rc<RefCell<HashMap<String, Value>>>;

/// Whether the planner, the classifier or the finaliser said last that something is missing.
fn was_called_unreached(heard: &HashMap<String, Value>) -> bool {
    let says = |role: &str, key: &str, value: bool| heard.get(role).is_some_and(|said| said[key] == value);
    let sorted = says("classify", "done", false) || says("classify", "goal_achieved", false);
    let planned = !heard.contains_key("classify") && says("plan", "complete", false);
    sorted || planned || says("finalise", "goal_achieved", false)
}

#[test]
fn whatever_models_say_the_run_ends_within_its_bounds_and_honestly() {
    let policies =
        "policies: {any: [retry, repair_parameters, decompose, spawn_recovery, skip, fail]}, backoff: 1";
    let plan = goal(&format!(", max_tasks: 15, max_depth: 2, max_children: 3, max_rounds: 2, {policies}"));
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let heard = Heard::default();
        let hears = heard.clone();
        let script = move |assignment: &Assignment| match anything(&mut random, &assignment.task.0) {
            Ok(value) => {
                let role = assignment.task.0.strip_prefix("g/").and_then(|rest| rest.split_once('['));
                if let Some((role, _)) = role.filter(|_| value.get("nonsense").is_none()) {
                    hears.borrow_mut().insert(role.to_owned(), value.clone());
                }
                Behaviour::gives(TICK, value)
            }
            Err(class) => Behaviour::fails(TICK, class),
        };
        let mut world = World::new(plan.clone(), json!({}), 1 + (seed % 4) as u32, seed, Box::new(script));
        let ended = world.finish();
        assert!(ended.status.is_end(), "seed {seed}: {ended:?}");
        assert!(world.launches.len() < 400, "seed {seed}: {} calls", world.launches.len());
        judge(&world, &ended, seed);
        if was_called_unreached(&heard.borrow()) {
            let reached = matches!(ended.status, RunStatus::Succeeded | RunStatus::Partial);
            assert!(!reached, "seed {seed}: {:?} after {:?}", ended.status, heard.borrow());
        }
    }
}

/// What must hold of any run, told from its events alone.
fn judge(world: &World, ended: &Ended, seed: u64) {
    let (mut items, mut failed, mut over, mut tried) =
        (Vec::new(), HashSet::new(), HashSet::new(), HashSet::new());
    for stamped in world.events() {
        match &stamped.event {
            Event::ChildrenSpawned { task, children: questions } => items.extend(
                questions
                    .iter()
                    .filter(|question| question.kind.word() == "task")
                    .map(|question| question.child_of(task)),
            ),
            Event::TaskFailed { task, .. } => {
                failed.insert(task.clone());
                over.insert(task.clone());
            }
            Event::TaskSucceeded { task, .. } | Event::TaskSkipped { task, .. } => {
                over.insert(task.clone());
            }
            Event::GoalDecided(GoalDecided { chosen, about: Some(about), .. })
                if chosen.word().contains('_')
                    && !matches!(chosen, GoalChoice::AddTasks | GoalChoice::AskAgain) =>
            {
                assert!(tried.insert((about.clone(), *chosen)), "seed {seed}: {chosen} of {about} twice");
            }
            _ => {}
        }
    }
    assert!(items.len() <= 15, "seed {seed}: {} tasks", items.len());
    let top = |id: &TaskId| id.depth() == 1;
    for item in &items {
        assert!(item.depth() <= 3, "seed {seed}: {item} is too deep");
        assert!(over.contains(item), "seed {seed}: {item} has no end");
    }
    let lost = items.iter().any(|item| top(item) && failed.contains(item));
    if lost {
        assert_ne!(ended.status, RunStatus::Succeeded, "seed {seed}");
    }
}
