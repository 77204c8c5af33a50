//! What these tests share: small manifests, scripted workers, and the record of a run without its times.

use convoke_model::{Assignment, AttemptEnd, Class, Event, Failure, RunStatus, Stamped, Usage, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, World, plan_of, record, unordered};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub const TICK: Duration = Duration::from_millis(50);

/// What a worker does when it is asked.
#[derive(Debug, Clone)]
pub enum Does {
    Says(Value),
    Fails(Class),
}

/// Tasks to what their worker does; a task that is not named succeeds.
pub type Script = Vec<(&'static str, Does)>;

pub fn says(value: Value) -> Does {
    Does::Says(value)
}

pub fn success(payload: Value) -> Does {
    says(json!({ "status": "success", "payload": payload }))
}

pub fn refused(reason: &str) -> Does {
    says(json!({ "status": "validation_fail", "payload": { "refused": reason }, "reason": reason }))
}

pub fn failed(reason: &str) -> Does {
    says(json!({ "status": "failure", "payload": {}, "reason": reason }))
}

/// A manifest with personas `a` (which may hand work to `b`, twice, one deep), `b` and `c`.
pub fn manifest(entry: &str, nodes: &[&str], edges: &[&str]) -> Arc<Plan> {
    with(entry, nodes, edges, "")
}

pub fn with(entry: &str, nodes: &[&str], edges: &[&str], more: &str) -> Arc<Plan> {
    let nodes: String = nodes.iter().map(|text| node(text)).collect();
    let edges: String = edges.iter().map(|text| edge(text)).collect();
    let none = if edges.is_empty() { " []" } else { "" };
    plan_of(
        &format!(
            "schemaVersion: '1'
name: small
topologies: [sequential, parallel, hierarchical, retry-unrolled]
personas:
  - {{id: a, displayName: A, systemPromptTemplate: You are a.}}
  - {{id: b, displayName: B, systemPromptTemplate: You are b.}}
  - {{id: c, displayName: C, systemPromptTemplate: You are c., toolClearance: {{allowlist: [read, Write], banlist: [WRITE]}}}}
relationships:
  - {{parentPersonaId: a, childPersonaId: b, constraints: {{maxDepth: 2, maxChildren: 3}}}}
  - {{parentPersonaId: b, childPersonaId: c, constraints: {{maxDepth: 2, maxChildren: 1}}}}
pipeline:
  entryNodeId: {entry}
  nodes:
{nodes}  edges:{none}
{edges}{more}"
        ),
        &[],
    )
}

/// `id` alone plays persona `c`; whatever else it says stands behind the id.
fn node(text: &str) -> String {
    match text.split_once(' ') {
        Some((id, rest)) => format!("    - {{id: {id}, actorId: model, {rest}}}\n"),
        None => format!("    - {{id: {text}, actorId: model, personaId: c}}\n"),
    }
}

/// `from to`, and whatever else it says.
fn edge(text: &str) -> String {
    let mut words = text.splitn(3, ' ');
    let mut next = || words.next().unwrap_or_default();
    let (from, to, rest) = (next(), next(), next());
    let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
    format!("    - {{from: {from}, to: {to}{rest}}}\n")
}

/// What a worker is told.
pub fn prompt(assignment: &Assignment) -> String {
    match &assignment.work {
        Work::Agent(call) => call.prompt.clone(),
        Work::Script(call) => call.stdin.clone().unwrap_or_default(),
        _ => String::new(),
    }
}

/// The JSON that stands in a prompt behind some words.
pub fn json_behind(prompt: &str, words: &str) -> Value {
    let at = prompt.find(words).unwrap_or_else(|| panic!("no `{words}` in {prompt}")) + words.len();
    let mut values = serde_json::Deserializer::from_str(&prompt[at..]).into_iter();
    values.next().expect("something stands there").expect("JSON stands there")
}

pub fn workers(script: Script) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    let script: HashMap<&str, Does> = script.into_iter().collect();
    Box::new(move |assignment| {
        let task = assignment.task.to_string();
        let done = script.get(task.as_str()).cloned().unwrap_or_else(|| success(json!({ "by": task })));
        behaviour(done)
    })
}

pub fn behaviour(does: Does) -> Behaviour {
    match does {
        Does::Says(value) => Behaviour::gives(TICK, value),
        Does::Fails(class) => {
            let failure = Failure::new(class, format!("simulated {class}"));
            let end = AttemptEnd::Failed { failure, usage: Usage::default(), partial: None };
            Behaviour { takes: TICK, end }
        }
    }
}

pub fn run(plan: &Arc<Plan>, script: Script) -> (Ended, World) {
    run_at(plan, script, 4)
}

pub fn run_at(plan: &Arc<Plan>, script: Script, limit: u32) -> (Ended, World) {
    let mut world = World::new(plan.clone(), json!({}), limit, 1, workers(script));
    (world.finish(), world)
}

/// How each phase ended, in words.
pub fn phases(ended: &Ended) -> HashMap<String, String> {
    let phases = ended.output.as_ref().and_then(|output| output["phases"].as_object().cloned());
    let word = |(id, phase): (String, Value)| (id, phase["status"].as_str().unwrap_or("?").to_owned());
    phases.unwrap_or_default().into_iter().map(word).collect()
}

/// The lines of a run's record that say what happened, in the words of pipelines.
pub fn told(events: &[Stamped]) -> Vec<String> {
    let line = |stamped: &Stamped| match &stamped.event {
        Event::RunStarted(_) => Some("started".to_owned()),
        Event::PhaseDecided(decided) => Some(format!("{} {}", decided.task, decided.chosen)),
        Event::AttemptFinished { task, .. } | Event::AttemptFailed { task, .. } => {
            Some(format!("{task} attempted"))
        }
        Event::Announced { task, kind, .. } => Some(format!("{task} {kind}")),
        Event::StateChanged { task, .. } => Some(format!("{task} changed the state")),
        Event::ProjectSeen { task: Some(task), .. } => Some(format!("{task} changed the project")),
        Event::TaskSkipped { task, .. } => Some(format!("{task} skipped")),
        Event::TaskCancelled { task, .. } => Some(format!("{task} cancelled")),
        Event::RunFinished { status, .. } => Some(format!("finished {}", status.word())),
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

pub fn events(world: &World) -> Vec<Stamped> {
    world.events().cloned().collect()
}

/// What is left of a record by a crash after this many events: commits, the last of them perhaps in part.
pub fn cut(commits: &[Vec<Stamped>], events: usize) -> Vec<Vec<Stamped>> {
    let mut left = events;
    let mut kept = Vec::new();
    for commit in commits {
        let take = commit.len().min(left);
        if take == 0 {
            break;
        }
        kept.push(commit[..take].to_vec());
        left -= take;
    }
    kept
}

/// Cuts a run off after every event and resumes it. A crash leaves whole commits, and then the record is the same, line by line.
/// What is cut off inside a commit, which no crash does, may change the order in which things go on, and nothing else. A
/// change of the project that was asked for may have been made before the crash, or not.
pub fn goes_on_everywhere(plan: &Arc<Plan>, script: &Script, whole: &World, limit: u32) {
    goes_on_at(plan, script, whole, limit, 1..events(whole).len());
}

/// The same for some of the places.
pub fn goes_on_at(
    plan: &Arc<Plan>,
    script: &Script,
    whole: &World,
    limit: u32,
    places: impl Iterator<Item = usize>,
) {
    let all = events(whole);
    let changes = |stamped: &&Stamped| matches!(stamped.event, Event::ProjectSeen { task: Some(_), .. });
    for at in places {
        let made = all[..at].iter().filter(changes).count();
        goes_on(plan, script, whole, limit, at, made);
        if changes(&&all[at]) {
            goes_on(plan, script, whole, limit, at, made + 1);
        }
    }
}

/// The same where the order inside a commit decides what follows: cut off after every commit alone.
pub fn goes_on_after_commits(plan: &Arc<Plan>, script: &Script, whole: &World, limit: u32) {
    for count in 1..whole.commits.len() {
        let at = whole.commits[..count].iter().map(Vec::len).sum();
        goes_on(plan, script, whole, limit, at, 0);
    }
}

/// How a run ended, whatever the order in which things were announced.
fn whatever_the_order(ended: &Ended) -> (RunStatus, Option<Failure>, Value) {
    let output = ended.output.clone().unwrap_or_default();
    (ended.status, ended.failure.clone(), unordered(output))
}

fn goes_on(plan: &Arc<Plan>, script: &Script, whole: &World, limit: u32, at: usize, changes: usize) {
    let all = events(whole);
    let mut world =
        World::resumed(plan.clone(), limit, cut(&whole.commits, at), whole, workers(script.clone()));
    world.project = whole.project.after(changes);
    let ended = world.finish();
    let (mut expected, mut found) = (record(&all), record(&events(&world)));
    let commits: Vec<usize> = whole.commits.iter().map(Vec::len).collect();
    if !(1..commits.len()).any(|count| commits[..count].iter().sum::<usize>() == at) {
        for lines in [&mut expected, &mut found] {
            let last = lines.pop().expect("a record has an end");
            assert!(last.starts_with("{\"run_finished\""), "{last}");
            lines.sort();
        }
        // The output tells what was announced in its order; all else of it is the same.
        let usual = whole.ended().expect("it has ended");
        assert_eq!(whatever_the_order(&ended), whatever_the_order(&usual), "cut after {at}");
    }
    let differs = (0..expected.len().max(found.len())).find(|line| expected.get(*line) != found.get(*line));
    if let Some(line) = differs {
        let (last, expected, found) = (&all[at - 1].event, expected.get(line), found.get(line));
        panic!("cut after {at} events ({last:?}): line {line}\nexpected {expected:?}\n   found {found:?}");
    }
}
