//! Random goals of which something fails: cut off, stopped or ended anywhere, and resumed when nothing fails any more.
//!
//! What models say depends on the seed and on the task that asks, never on when, so that a run can be repeated in part.

use crate::goals::kit::*;
use convoke_model::{
    Answer, ChildKind, Class, Event, Item, RunReopened, RunStatus, Stamped, TaskId, fnv_from,
};
use convoke_plan::Plan;
use convoke_testkit::{Ended, Random, World};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

fn chance(seed: u64, id: &str) -> Random {
    Random::new(fnv_from(seed ^ 0x9e37_79b9, id.bytes()))
}

fn some_tasks(random: &mut Random, most: u64, broken: bool) -> Vec<Value> {
    let count = 1 + random.below(most);
    let mut tasks = Vec::new();
    for n in 0..count {
        let input = random.below(n).to_string();
        let inputs = if n > 0 && random.percent(40) { vec![input.as_str()] } else { Vec::new() };
        let mut one = task(&n.to_string(), &inputs);
        if random.percent(35) {
            one["estimated_tokens"] = json!(90_000);
        }
        if random.percent(10) && broken {
            (one["skip_probability"], one["skip_reason"]) = (json!(90), json!("there is no network"));
        }
        tasks.push(one);
    }
    tasks
}

/// What the model of a task says; with `broken` some of them fail.
fn says(seed: u64, broken: bool, id: &str, prompt: &str) -> Result<Value, Class> {
    let mut random = chance(seed, id);
    let role = id.rsplit('/').next().and_then(|last| last.split('[').next()).unwrap_or_default();
    let fails = random.percent(if role == "finalise" { 15 } else { 40 }) && broken;
    match role {
        "plan" => Ok(json!({ "tasks": some_tasks(&mut random, 4, broken), "complete": true })),
        "decompose" => Ok(json!({ "tasks": some_tasks(&mut random, 3, broken) })),
        "recover" => Ok(chosen(&mut random, prompt)),
        "classify" if fails => Err(Class::Fatal),
        "classify" => Ok(json!({"done": true, "goal_achieved": true, "reason": "r", "tasks": []})),
        "finalise" if fails => Err(Class::Refused),
        "finalise" => final_words("all is there"),
        _ if fails && random.percent(50) => Err(Class::Fatal),
        _ if fails => undone(),
        _ => done(id),
    }
}

/// Any of the strategies that are offered.
fn chosen(random: &mut Random, prompt: &str) -> Value {
    let offered = prompt.split("`strategy` is one of: ").nth(1).and_then(|rest| rest.split('.').next());
    let words: Vec<&str> = offered.unwrap_or_default().split(", ").collect();
    let word = words[random.below(words.len() as u64) as usize];
    json!({"strategy": word, "reasoning": "it is gone", "confidence": "low", "success_probability": 1, "next_steps": "n"})
}

fn random_goal(seed: u64) -> Arc<Plan> {
    let ways = ["retry", "repair_parameters", "decompose", "spawn_recovery", "escalate", "skip"];
    let mut random = chance(seed, "policy");
    let mut policy: Vec<&str> = ways.into_iter().filter(|_| random.percent(45)).collect();
    policy.push("fail");
    let policy = policy.join(", ");
    goal(&format!(", max_depth: 3, max_children: 5, backoff: 1, policies: {{any: [{policy}]}}"))
}

fn world(plan: &Arc<Plan>, seed: u64) -> World {
    let script = model(move |id, prompt| says(seed, true, id, prompt));
    with_people(World::new(plan.clone(), json!({}), limit(seed), seed, script), seed)
}

/// The same run with a new owner, and nothing that fails.
fn healed(plan: &Arc<Plan>, seed: u64, commits: &[Vec<Stamped>], blobs: &World) -> World {
    let script = model(move |id, prompt| says(seed, false, id, prompt));
    with_people(World::resumed(plan.clone(), limit(seed), commits.to_vec(), blobs, script), seed)
}

fn with_people(mut world: World, seed: u64) -> World {
    world.answers.insert("*".into(), answer_of(seed));
    world
}

fn answer_of(seed: u64) -> Answer {
    if seed.is_multiple_of(3) { Answer::Fail } else { Answer::Retry }
}

fn limit(seed: u64) -> u32 {
    1 + (seed % 4) as u32
}

/// What a journal says of the tasks of a goal.
#[derive(Default)]
struct Known {
    items: HashMap<TaskId, Item>,
    succeeded: HashSet<TaskId>,
    /// Tasks that have ended well since the run was last begun anew.
    answered: HashSet<TaskId>,
}

impl Known {
    fn of<'e>(events: impl Iterator<Item = &'e Stamped>) -> Known {
        let mut known = Known::default();
        for stamped in events {
            match &stamped.event {
                Event::ChildrenSpawned { task, children: questions } => {
                    for question in questions {
                        if let ChildKind::Item(item) = &question.kind {
                            known.items.insert(question.child_of(task), (**item).clone());
                        }
                    }
                }
                Event::TaskSucceeded { task, .. } => drop(known.succeeded.insert(task.clone())),
                Event::AttemptFinished { task, .. } => drop(known.answered.insert(task.clone())),
                Event::RunReopened(RunReopened { tasks, restarted, .. }) => {
                    let below = |task: &TaskId| {
                        std::iter::successors(Some(task.clone()), TaskId::parent)
                            .any(|up| restarted.contains(&up))
                    };
                    known.succeeded.retain(|task| !tasks.contains(task) && !below(task));
                    known.answered.retain(|task| !below(task));
                }
                _ => {}
            }
        }
        known
    }

    fn children(&self, id: &TaskId) -> impl Iterator<Item = &TaskId> {
        self.items.keys().filter(move |other| other.parent().as_ref() == Some(id))
    }

    /// Whether nothing below a task that succeeded is missing.
    fn is_whole(&self, id: &TaskId) -> bool {
        self.succeeded.contains(id) && self.children(id).all(|child| self.is_whole(child))
    }

    /// Whether what a task was made from stays as it is.
    fn stands(&self, id: &TaskId) -> bool {
        let Some(item) = self.items.get(id) else { return true };
        let is_same = |input: &TaskId| self.is_whole(input) && self.stands(input);
        item.inputs.iter().all(is_same) && id.parent().is_none_or(|up| self.stands(&up))
    }

    /// Whether a role was answered, and the answer counts: a plan, or the work on a task without children that
    /// succeeded.
    fn counts(&self, role: &TaskId) -> bool {
        let Some(of) = role.parent() else { return false };
        let is_plan = role.0.contains("/plan[") && !self.items.is_empty();
        let is_leaf = self.succeeded.contains(&of) && self.children(&of).next().is_none();
        self.answered.contains(role)
            && (is_plan || is_leaf && self.items.contains_key(&of) && self.stands(&of))
    }
}

/// What holds of every end of every run: nothing goes on behind it, and nothing is done twice that counts.
fn check(world: &World, before: &[Vec<Stamped>], what: &str) {
    assert_eq!(world.running(), 0, "{what}: attempts run behind the end");
    let mut open: HashMap<TaskId, u32> = HashMap::new();
    for stamped in world.events() {
        match &stamped.event {
            Event::AttemptStarted { task, attempt, .. } => drop(open.insert(task.clone(), *attempt)),
            Event::AttemptFinished { task, .. }
            | Event::AttemptFailed { task, .. }
            | Event::AttemptLost { task, .. }
            | Event::AttemptSuspended { task, .. } => drop(open.remove(task)),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{what}: attempts without end: {open:?}");
    let known = Known::of(before.iter().flatten());
    let twice = world.launches.iter().find(|(task, _)| known.counts(task));
    assert_eq!(twice, None, "{what}: it was done, and counts\n{}", log(world));
}

/// Resumes until the goal is reached; once is enough for what had ended by itself.
fn reaches(
    plan: &Arc<Plan>,
    seed: u64,
    commits: Vec<Vec<Stamped>>,
    blobs: &World,
    most: usize,
    what: &str,
) -> World {
    let mut again = healed(plan, seed, &commits, blobs);
    let mut ended = finish(&mut again, &answer_of(seed));
    check(&again, &commits, what);
    for _ in 1..most {
        if !is_resumable(ended.status) {
            break;
        }
        let commits = again.commits.clone();
        again = healed(plan, seed, &commits, &again);
        ended = finish(&mut again, &answer_of(seed));
        check(&again, &commits, what);
    }
    assert!(!is_resumable(ended.status), "{what}: {ended:?}\n{}", log(&again));
    again
}

fn is_resumable(status: RunStatus) -> bool {
    status != RunStatus::Succeeded
}

fn broken(plan: &Arc<Plan>, seed: u64) -> (Ended, World) {
    let mut world = world(plan, seed);
    let ended = finish(&mut world, &answer_of(seed));
    check(&world, &[], &format!("seed {seed}"));
    (ended, world)
}

/// A goal of which something fails, to its end.
pub fn broken_goal(seed: u64) -> (Arc<Plan>, World) {
    let plan = random_goal(seed);
    let (_, world) = broken(&plan, seed);
    (plan, world)
}

const SEEDS: std::ops::Range<u64> = 0..120;

#[test]
fn a_goal_that_was_not_reached_is_reached_when_nothing_fails_any_more() {
    let mut not_reached = 0;
    for seed in SEEDS {
        let plan = random_goal(seed);
        let (ended, first) = broken(&plan, seed);
        if is_resumable(ended.status) {
            not_reached += 1;
            reaches(&plan, seed, first.commits.clone(), &first, 1, &format!("seed {seed}"));
        }
    }
    assert!(not_reached > 40, "too few of these goals fail: {not_reached}");
}

#[test]
fn killed_anywhere_it_goes_on_and_is_reached() {
    for seed in SEEDS.step_by(24) {
        let plan = random_goal(seed);
        let (_, whole) = broken(&plan, seed);
        for cut in 1..whole.commits.len() {
            let commits = whole.commits[..cut].to_vec();
            reaches(&plan, seed, commits, &whole, 3, &format!("seed {seed}, killed after {cut}"));
        }
    }
}

#[test]
fn stopped_anywhere_it_goes_on_and_is_reached() {
    for seed in SEEDS.step_by(12) {
        let plan = random_goal(seed);
        let (_, whole) = broken(&plan, seed);
        for cut in 1..whole.commits.len() {
            let mut stopped = world(&plan, seed);
            if stopped.run(cut).is_none() {
                stopped.stop(cut % 2 == 0);
                let what = format!("seed {seed}, stopped after {cut}");
                check(&stopped, &[], &what);
                reaches(&plan, seed, stopped.commits.clone(), &stopped, 3, &what);
            }
        }
    }
}

#[test]
fn a_resumed_goal_that_is_killed_goes_on_to_the_same_answer() {
    for seed in SEEDS.step_by(6) {
        let plan = random_goal(seed);
        let (ended, first) = broken(&plan, seed);
        if !is_resumable(ended.status) {
            continue;
        }
        let mut second = healed(&plan, seed, &first.commits, &first);
        let expected = finish(&mut second, &answer_of(seed));
        for cut in first.commits.len() + 1..second.commits.len() {
            let commits = second.commits[..cut].to_vec();
            let mut third = healed(&plan, seed, &commits, &second);
            let ended = finish(&mut third, &answer_of(seed));
            let what = format!("seed {seed}, killed after {cut}");
            check(&third, &commits, &what);
            assert_eq!(ended.status, expected.status, "{what}");
            assert_eq!(ended.output, expected.output, "{what}");
        }
    }
}
