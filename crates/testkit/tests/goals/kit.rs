//! What these tests share: small goals, scripted models, runs that are cut off, and the record of a run without its times.

use convoke_model::{Answer, Assignment, Class, Event, RunStatus, Stamped, TaskId, Work};
use convoke_plan::Plan;
use convoke_schedule::replayable;
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub const TICK: Duration = Duration::from_millis(50);

pub type Says = fn(&str, &str) -> Result<Value, Class>;

/// Every model call takes a tick and answers what `says` gives for task and prompt.
pub fn model(
    says: impl Fn(&str, &str) -> Result<Value, Class> + 'static,
) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        match says(&assignment.task.to_string(), &call.prompt) {
            Ok(value) => Behaviour::gives(TICK, value),
            Err(class) => Behaviour::fails(TICK, class),
        }
    })
}

pub fn goal(more: &str) -> Arc<Plan> {
    let text = format!(
        "
workflow: {{name: w, entry_point: g, runtime: {{provider: scripted}}}}
agents:
  - {{name: g, type: goal, goal: 'write the report'{more}}}
output: {{answer: '{{{{ g.output | json }}}}'}}
"
    );
    plan_of(&text, &[])
}

pub fn run(plan: &Arc<Plan>, limit: u32, says: Says) -> (Ended, World) {
    let mut world = World::new(plan.clone(), json!({}), limit, 1, model(says));
    (world.finish(), world)
}

pub fn answer(ended: &Ended) -> Value {
    ended.output.as_ref().unwrap_or_else(|| panic!("{ended:?}"))["answer"].clone()
}

pub fn task(id: &str, inputs: &[&str]) -> Value {
    json!({"id": id, "description": format!("do {id}"), "inputs": inputs, "skip_probability": 0})
}

pub fn large(id: &str) -> Value {
    let mut task = task(id, &[]);
    task["estimated_tokens"] = json!(50_000);
    task
}

pub fn impossible(id: &str) -> Value {
    let mut task = task(id, &[]);
    (task["skip_probability"], task["skip_reason"]) = (json!(95), json!("there is no network"));
    task
}

pub fn done(what: &str) -> Result<Value, Class> {
    let summary = format!("{what} is there");
    Ok(json!({"result": format!("<{what}>"), "summary": summary, "goal_achieved": true, "reason": "seen"}))
}

pub fn undone() -> Result<Value, Class> {
    Ok(json!({"result": null, "summary": "", "goal_achieved": false, "reason": "no such file"}))
}

pub fn final_words(message: &str) -> Result<Value, Class> {
    Ok(json!({"message": message, "next_steps": "", "issues": "", "reason": "all is there"}))
}

pub fn launched(world: &World) -> Vec<String> {
    world.launches.iter().map(|(task, _)| task.to_string()).collect()
}

pub fn decided(world: &World) -> Vec<String> {
    let word = |stamped: &Stamped| match &stamped.event {
        Event::GoalDecided(decided) => Some(match &decided.about {
            Some(about) => format!("{} {about}", decided.chosen),
            None => decided.chosen.to_string(),
        }),
        _ => None,
    };
    world.events().filter_map(word).collect()
}

/// Cuts the run off after every commit and resumes it: the end is the same, and nothing that had ended is done again.
pub fn resumes_everywhere(plan: &Arc<Plan>, limit: u32, says: Says) {
    let (expected, whole) = run(plan, limit, says);
    for cut in 1..whole.commits.len() {
        let again = resumed(plan, limit, says, &whole, cut);
        assert_eq!((again.0.status, &again.0.output), (expected.status, &expected.output), "cut after {cut}");
        let (after, before) = (by_task(&again.1), by_task(&whole));
        let differs = before.iter().find(|(task, events)| after.get(*task) != Some(events));
        assert!(
            after == before,
            "cut after {cut}: {:?}",
            differs.map(|(task, events)| (task, events, after.get(task)))
        );
    }
}

pub fn resumed(plan: &Arc<Plan>, limit: u32, says: Says, whole: &World, cut: usize) -> (Ended, World) {
    let left = whole.commits[..cut].to_vec();
    let finished = |stamped: &Stamped| match &stamped.event {
        Event::AttemptFinished { task, .. } => Some(task.to_string()),
        _ => None,
    };
    let done: HashSet<String> = left.iter().flatten().filter_map(finished).collect();
    let mut again = World::resumed(plan.clone(), limit, left, whole, model(says));
    let ended = again.finish();
    let twice = again.launches.iter().find(|(task, _)| done.contains(&task.to_string()));
    assert_eq!(twice, None, "cut after {cut}: done twice");
    (ended, again)
}

/// To the end, with this answer to every question, also where it was asked before the run changed its owner.
pub fn finish(world: &mut World, answer: &Answer) -> Ended {
    world.answers.insert("*".into(), answer.clone());
    loop {
        let ended = world.finish();
        if ended.status != RunStatus::Parked {
            return ended;
        }
        let mut gates = Vec::new();
        for stamped in replayable(world.events().cloned().collect()) {
            match stamped.event {
                Event::GateOpened { task, .. } => gates.push(task),
                Event::GateAnswered { task, .. } => gates.retain(|gate| *gate != task),
                _ => {}
            }
        }
        assert!(!gates.is_empty(), "nothing goes on, and nobody is asked:\n{}", log(world));
        gates.iter().for_each(|task| world.answer(task, answer.clone()));
    }
}

/// All events, one in a line.
pub fn log(world: &World) -> String {
    world.events().map(|stamped| format!("{}\n", serde_json::to_string(&stamped.event).unwrap())).collect()
}

/// The events without times, owners, attempts that a crash cut off, and waits for capacity.
pub fn told(world: &World) -> Vec<Value> {
    let lost: HashSet<(TaskId, u32)> = world
        .events()
        .filter_map(|stamped| match &stamped.event {
            Event::AttemptLost { task, attempt, .. } => Some((task.clone(), *attempt)),
            _ => None,
        })
        .collect();
    let counts = |event: &Event| match event {
        Event::RunOwned { .. } | Event::AttemptLost { .. } | Event::Blocked { .. } => false,
        Event::ContractResolved { task, attempt, .. } | Event::AttemptStarted { task, attempt, .. } => {
            !lost.contains(&(task.clone(), *attempt))
        }
        _ => true,
    };
    let mut started: BTreeMap<String, u64> = BTreeMap::new();
    let events = world.events().map(|stamped| &stamped.event).filter(|event| counts(event));
    events.map(|event| without_times(serde_json::to_value(event).unwrap(), &mut started)).collect()
}

pub fn without_times(mut event: Value, started: &mut BTreeMap<String, u64>) -> Value {
    let (kind, body) =
        event.as_object_mut().and_then(|event| event.iter_mut().next()).expect("an event has a kind");
    if kind == "run_started" {
        *body = json!({});
    }
    if let Some(fields) = body.as_object_mut() {
        fields.remove("at");
        if fields.contains_key("attempt") {
            let count = started.entry(fields["task"].to_string()).or_default();
            *count += u64::from(kind == "attempt_started");
            // A contract is resolved before its attempt starts.
            fields.insert("attempt".into(), json!(*count + u64::from(kind == "contract_resolved")));
        }
    }
    event
}

/// The events of each task, in order: what happens side by side may change its order when time is lost.
pub fn by_task(world: &World) -> BTreeMap<String, Vec<Value>> {
    each_task(&told(world))
}

/// A list of events, by the task that each is about.
pub fn each_task(events: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events {
        let body = event.as_object().and_then(|event| event.values().next()).cloned().unwrap_or_default();
        let about = [&body["about"], &body["task"]]
            .into_iter()
            .find_map(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        all.entry(about).or_default().push(event.clone());
    }
    all
}

/// Three tasks; the second spawns four children, of which the third fails and is recovered by decomposition.
pub fn report(id: &str, prompt: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => Ok(
            json!({"tasks": [task("sources", &[]), large("chapters"), task("title", &["sources", "chapters"])]}),
        ),
        "g/2/decompose[1]" => Ok(
            json!({"tasks": [task("one", &[]), task("two", &[]), task("three", &[]), task("four", &["one"])]}),
        ),
        "g/2/3/execute[1]" => Err(Class::Fatal),
        "g/2/3/decompose[1]" => {
            Ok(json!({"tasks": [task("first half", &[]), task("second half", &["first half"])]}))
        }
        "g/2/3/2/execute[1]" => {
            assert!(prompt.contains("<first half>"), "the input's result is in the prompt: {prompt}");
            done("second half")
        }
        "g/finalise[1]" => final_words("The report is written."),
        id => {
            let what = prompt.lines().find(|line| line.starts_with("do ")).unwrap_or(id);
            done(what.trim_start_matches("do "))
        }
    }
}

pub const DECOMPOSE: &str = ", policies: {fatal: [decompose, fail]}";
