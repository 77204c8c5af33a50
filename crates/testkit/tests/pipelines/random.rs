//! What must hold for every pipeline, shown on random ones against a naive evaluator.

use super::kit::{TICK, behaviour, says};
use convoke_model::{Assignment, Event, RunStatus, TaskId};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, Ended, Random, World, plan_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug, Clone)]
struct Edge {
    from: usize,
    to: usize,
    on: Option<&'static str>,
    event: Option<&'static str>,
    /// Of an edge that leads back: how many rounds there are at most.
    rounds: Option<u32>,
}

struct Generated {
    plan: Arc<Plan>,
    edges: Vec<Edge>,
    count: usize,
    max_tries: u32,
}

const EVENTS: [&str; 3] = ["tasks_planned", "code_committed", "validation_failed"];

fn generate(seed: u64, count: usize) -> Generated {
    generate_with(seed, count, 0)
}

/// Phases and edges that lead on, and so many that lead back from a phase to one before it, or to itself.
fn generate_with(seed: u64, count: usize, back: usize) -> Generated {
    let mut random = Random::new(seed);
    let max_retries = random.below(3);
    let mut edges = Vec::new();
    for to in 1..count {
        let wanted = 1 + random.below(3);
        for _ in 0..wanted {
            let from = random.below(to as u64) as usize;
            let (on, event) = condition(&mut random);
            edges.push(Edge { from, to, on, event, rounds: None });
        }
    }
    let mut text = "schemaVersion: '1'\nname: random\ntopologies: [sequential, parallel]\npersonas: [{id: p, displayName: P, systemPromptTemplate: You.}]\nrelationships: []\npipeline:\n  entryNodeId: n0\n  nodes:\n".to_owned();
    for n in 0..count {
        let block = if random.percent(20) { ", topology: {kind: sequential, blockId: s}" } else { "" };
        text += &format!("    - {{id: n{n}, actorId: m, personaId: p{block}}}\n");
    }
    for _ in 0..back {
        let from = random.below(count as u64) as usize;
        let before: Vec<usize> = (0..=from).filter(|to| *to == from || leads_to(&edges, *to, from)).collect();
        let to = before[random.below(before.len() as u64) as usize];
        let ((on, event), rounds) = (condition(&mut random), Some(2 + random.below(3) as u32));
        edges.push(Edge { from, to, on, event, rounds });
    }
    text += if edges.is_empty() { "  edges: []\n" } else { "  edges:\n" };
    for edge in &edges {
        let on = edge.on.map(|on| format!(", on: {on}")).unwrap_or_default();
        let event = edge.event.map(|event| format!(", event: {event}")).unwrap_or_default();
        let rounds = edge.rounds.map(|rounds| format!(", maxRounds: {rounds}")).unwrap_or_default();
        text += &format!("    - {{from: n{}, to: n{}{on}{event}{rounds}}}\n", edge.from, edge.to);
    }
    text += &format!("topologyConstraints: {{maxDepth: 1, maxRetries: {max_retries}}}\nhardFailures: 1000\n");
    Generated { plan: plan_of(&text, &[]), edges, count, max_tries: max_retries as u32 + 1 }
}

/// When an edge is taken.
fn condition(random: &mut Random) -> (Option<&'static str>, Option<&'static str>) {
    let on = [None, Some("success"), Some("validation_fail"), Some("failure"), Some("always")]
        [random.below(5) as usize];
    (on, random.percent(25).then(|| EVENTS[random.below(3) as usize]))
}

/// Whether a way of one edge or more leads from one phase to another.
fn leads_to(edges: &[Edge], from: usize, to: usize) -> bool {
    let mut reached = HashSet::new();
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        let onwards = edges.iter().filter(|edge| edge.from == at).map(|edge| edge.to);
        next.extend(onwards.filter(|onwards| reached.insert(*onwards)));
    }
    reached.contains(&to)
}

/// How often a phase may run: as often as the most generous edge that leads back on a circle with it says.
fn most_rounds(edges: &[Edge], phase: usize) -> u32 {
    let on_a_circle = |edge: &&Edge| {
        let (from, to) = (edge.from, edge.to);
        (phase == to || leads_to(edges, to, phase)) && (phase == from || leads_to(edges, phase, from))
    };
    edges.iter().filter(on_a_circle).filter_map(|edge| edge.rounds).max().unwrap_or(1)
}

/// What the worker of a try says; the same whenever it is asked.
fn said(seed: u64, task: &str) -> Value {
    let mut random = Random::new(convoke_model::fnv_from(seed, task.bytes()));
    let status = ["success", "success", "success", "validation_fail", "failure"][random.below(5) as usize];
    let events: Vec<Value> =
        EVENTS[..2].iter().filter(|_| random.percent(40)).map(|kind| json!({ "type": kind })).collect();
    let mut said = json!({ "status": status, "payload": { "of": task }, "events": events });
    if status != "success" {
        said["reason"] = "r".into();
    }
    if status == "failure" {
        said["failure_code"] = "transient".into();
    }
    // Only phases change what runs share.
    if random.percent(30) && !task.contains("child") {
        said["project"] = json!({ "globalFlags": { task: true } });
    }
    said
}

fn worker(seed: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| Behaviour {
        takes: TICK * (1 + assignment.task.0.len() as u32 % 3),
        ..behaviour(says(said(seed, &assignment.task.0)))
    })
}

/// What a phase comes to: its status, its tries and what it announced.
struct Came {
    status: &'static str,
    tries: u32,
    announced: HashSet<&'static str>,
}

fn naive_phase(seed: u64, n: usize, max_tries: u32) -> Came {
    let mut announced = HashSet::new();
    for tried in 1..=max_tries {
        let said = said(seed, &format!("n{n}/try[{tried}]"));
        announced.extend(
            EVENTS.iter().filter(|kind| {
                said["events"].as_array().unwrap().iter().any(|event| event["type"] == **kind)
            }),
        );
        match said["status"].as_str().unwrap() {
            "success" => return Came { status: "success", tries: tried, announced },
            "failure" => return Came { status: "failure", tries: tried, announced },
            _ => drop(announced.insert("validation_failed")),
        }
    }
    Came { status: "validation_fail", tries: max_tries, announced }
}

/// The naive evaluator: in the order of numbers, because edges lead to greater ones alone.
fn naive(generated: &Generated, seed: u64) -> (BTreeMap<usize, Came>, HashSet<(usize, usize)>) {
    let mut ran: BTreeMap<usize, Came> = BTreeMap::new();
    let mut taken = HashSet::new();
    for n in 0..generated.count {
        for edge in generated.edges.iter().filter(|edge| edge.to == n) {
            let Some(from) = ran.get(&edge.from) else { continue };
            let by_status = match (edge.on, edge.event) {
                (None, Some(_)) | (Some("always"), _) => true,
                (None, None) => from.status == "success",
                (Some(on), _) => from.status == on,
            };
            if by_status && edge.event.is_none_or(|event| from.announced.contains(event)) {
                taken.insert((edge.from, n));
            }
        }
        if n == 0 || taken.iter().any(|(_, to)| *to == n) {
            ran.insert(n, naive_phase(seed, n, generated.max_tries));
        }
    }
    (ran, taken)
}

fn naive_success(ran: &BTreeMap<usize, Came>, taken: &HashSet<(usize, usize)>) -> bool {
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for n in ran.keys() {
        let before: Vec<Vec<usize>> =
            chains.iter().filter(|chain| taken.contains(&(*chain.last().unwrap(), *n))).cloned().collect();
        match before.is_empty() {
            true => chains.push(vec![*n]),
            false => chains.extend(before.into_iter().map(|chain| [chain, vec![*n]].concat())),
        }
    }
    let longest = chains.iter().map(Vec::len).max().unwrap_or(0);
    let failed = |n: &usize| ran[n].status != "success";
    let leaf = |n: &usize| !taken.iter().any(|(from, _)| from == n);
    let critical = |n: &usize| chains.iter().any(|chain| chain.len() == longest && chain.contains(n));
    !ran.keys().any(|n| failed(n) && (leaf(n) || critical(n)))
}

fn run(generated: &Generated, seed: u64, limit: u32) -> (Ended, World) {
    let mut world = World::new(generated.plan.clone(), json!({}), limit, seed, worker(seed));
    (world.finish(), world)
}

fn ends(world: &World) -> HashMap<TaskId, u32> {
    let mut ends = HashMap::new();
    for stamped in world.events() {
        if let Event::AttemptFinished { task, .. }
        | Event::TaskSucceeded { task, .. }
        | Event::TaskFailed { task, .. }
        | Event::TaskSkipped { task, .. }
        | Event::TaskCancelled { task, .. } = &stamped.event
        {
            *ends.entry(task.clone()).or_insert(0) += 1;
        }
    }
    ends
}

/// Phases that hand work down at random, within bounds or not.
fn handing(max_depth: u32) -> Arc<Plan> {
    plan_of(
        &format!(
            "schemaVersion: '1'
name: deep
topologies: [hierarchical]
personas: [{{id: p, displayName: P, systemPromptTemplate: P.}}, {{id: q, displayName: Q, systemPromptTemplate: Q.}}, {{id: r, displayName: R, systemPromptTemplate: R.}}]
relationships: [{{parentPersonaId: p, childPersonaId: q, constraints: {{maxChildren: 2}}}}, {{parentPersonaId: q, childPersonaId: r}}]
pipeline:
  entryNodeId: n0
  nodes: [{{id: n0, actorId: m, personaId: p}}, {{id: n1, actorId: m, personaId: p}}]
  edges: [{{from: n0, to: n1, on: always}}]
topologyConstraints: {{maxDepth: {max_depth}, maxRetries: 1}}
"
        ),
        &[],
    )
}

fn hands_down(seed: u64, task: &str) -> Value {
    let mut answer = said(seed, task);
    let mut random = Random::new(seed ^ task.len() as u64 ^ task.bytes().map(u64::from).sum::<u64>());
    if answer["status"] == "success" && random.percent(60) {
        let persona = if task.contains("child") { "r" } else { "q" };
        let children = (0..random.below(4)).map(|n| json!({ "persona": persona, "task": n }));
        answer["children"] = children.collect();
    }
    answer
}

fn handing_world(plan: &Arc<Plan>, seed: u64, limit: u32) -> World {
    World::new(plan.clone(), json!({}), limit, seed, hander(seed))
}

fn hander(seed: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| Behaviour {
        takes: TICK * (1 + assignment.task.0.len() as u32 % 3),
        ..behaviour(says(hands_down(seed, &assignment.task.0)))
    })
}

/// What a run came to: its status, the critical path, and of each phase the status and the tries.
fn verdict(ended: &Ended) -> (RunStatus, Value, Vec<Value>) {
    let output = ended.output.clone().unwrap_or_default();
    let phases = output["phases"].as_object().cloned().unwrap_or_default().into_iter();
    let told =
        |(name, phase): (String, Value)| json!([name, phase["status"], phase["tries"], phase["superseded"]]);
    (ended.status, output["critical_path"].clone(), phases.map(told).collect())
}

/// As [`hander`]; but which of several children, or of those that put theirs together, fails first makes no difference to
/// the phase: that is a race, and a crash changes its outcome.
fn alike(seed: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let mut answer = hands_down(seed, &assignment.task.0);
        let is_below = ["child", "aggregate"].iter().any(|kind| assignment.task.0.contains(kind));
        if is_below && answer["status"] == "failure" {
            answer["status"] = "validation_fail".into();
        }
        behaviour(says(answer))
    })
}

/// Stops a run after each of its commits and resumes it, and once more after it was killed on its way: it comes to what it
/// would have come to, no try is made twice, and its journal can be read.
fn goes_on_after_stops(
    whole: &World,
    expected: &Ended,
    limit: u32,
    now: bool,
    world: &dyn Fn() -> World,
    worker: &dyn Fn() -> Box<dyn FnMut(&Assignment) -> Behaviour>,
) {
    let plan = whole.plan();
    for at in 1..whole.commits.len() {
        let mut stopped = world();
        if stopped.run(at).is_some() {
            continue;
        }
        let stop = stopped.stop(now);
        if stop.status != RunStatus::Cancelled {
            continue;
        }
        let mut again = World::resumed(plan.clone(), limit, stopped.commits.clone(), &stopped, worker());
        let ended = again.finish();
        assert_eq!(verdict(&ended), verdict(expected), "stopped after {at}");
        let (changed, expected_changes) = (again.project.state(), whole.project.state());
        assert_eq!(changed.revision, expected_changes.revision, "stopped after {at}: changes of the project");
        made_once(&again, at);
        let kill = stopped.commits.len() + 1 + at % (again.commits.len() - stopped.commits.len());
        if kill < again.commits.len() {
            let left = again.commits[..kill].to_vec();
            let mut last = World::resumed(plan.clone(), limit, left, &again, worker());
            assert_eq!(verdict(&last.finish()), verdict(expected), "stopped after {at}, killed after {kill}");
            made_once(&last, at);
        }
    }
}

fn made_once(world: &World, at: usize) {
    let mut finished: HashMap<&TaskId, u32> = HashMap::new();
    for stamped in world.events() {
        if let Event::AttemptFinished { task, .. } = &stamped.event {
            *finished.entry(task).or_default() += 1;
        }
    }
    finished.into_iter().for_each(|(task, count)| assert_eq!(count, 1, "stopped after {at}: {task}"));
    let mut scheduler = convoke_schedule::Scheduler::new(world.plan().clone());
    for stamped in convoke_schedule::replayable(world.events().cloned().collect()) {
        scheduler.apply(&stamped).expect("a journal can be read");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_phase_runs_iff_the_naive_evaluator_says_so(seed in any::<u64>(), count in 1usize..14, limit in 1u32..5) {
        let generated = generate(seed, count);
        let (ended, world) = run(&generated, seed, limit);
        let (ran, taken) = naive(&generated, seed);
        let output = ended.output.expect("a report");
        let mut tried: HashMap<usize, u32> = HashMap::new();
        for (task, _) in &world.launches {
            let n: usize = task.0[1..task.0.find('/').unwrap()].parse().unwrap();
            *tried.entry(n).or_default() += 1;
        }
        for n in 0..count {
            let Some(told) = output["phases"].get(format!("n{n}")) else {
                prop_assert!(!ran.contains_key(&n), "n{} is missing", n);
                continue;
            };
            let expected = ran.get(&n).map_or("skipped", |came| came.status);
            prop_assert_eq!(told["status"].as_str(), Some(expected), "n{}", n);
            prop_assert_eq!(tried.get(&n).copied(), ran.get(&n).map(|came| came.tries), "tries of n{}", n);
        }
        let succeeded = ended.status == RunStatus::Succeeded;
        prop_assert_eq!(succeeded, naive_success(&ran, &taken));
        for (task, count) in ends(&world) {
            prop_assert_eq!(count, 1, "{} ended more than once", task);
        }
    }

    #[test]
    fn a_fan_in_is_given_every_payload(seed in any::<u64>(), count in 2usize..10) {
        let generated = generate(seed, count);
        let (ran, _) = naive(&generated, seed);
        let (keep, kept) = std::sync::mpsc::channel();
        let mut does = worker(seed);
        let listening = Box::new(move |assignment: &Assignment| {
            keep.send((assignment.task.to_string(), super::kit::prompt(assignment))).unwrap();
            does(assignment)
        });
        World::new(generated.plan.clone(), json!({}), 3, seed, listening).finish();
        for (task, prompt) in kept.try_iter() {
            let n: usize = task[1..task.find('/').unwrap()].parse().unwrap();
            let handed = super::kit::json_behind(&prompt, "status and payload:");
            let mut found: Vec<&str> = handed["from"].as_array().unwrap().iter().map(|from| {
                from["payload"]["of"].as_str().unwrap()
            }).collect();
            let before: HashSet<usize> = generated.edges.iter().filter(|edge| edge.to == n).map(|edge| edge.from).collect();
            let mut expected: Vec<String> = before.iter().filter_map(|from| {
                Some(format!("n{from}/try[{}]", ran.get(from)?.tries))
            }).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected, "{}", task);
        }
    }

    #[test]
    fn a_run_that_is_cut_off_goes_on_to_the_same_end(seed in any::<u64>(), count in 1usize..8, limit in 1u32..4) {
        let generated = generate(seed, count);
        let (expected, whole) = run(&generated, seed, limit);
        let phases = |ended: &Ended| ended.output.as_ref().map(|output| output["phases"].clone());
        for at in 1..whole.commits.len() {
            let left = whole.commits[..at].to_vec();
            let mut again = World::resumed(generated.plan.clone(), limit, left, &whole, worker(seed));
            let ended = again.finish();
            prop_assert_eq!(ended.status, expected.status, "cut after {}", at);
            prop_assert_eq!(phases(&ended), phases(&expected), "cut after {}", at);
            for (task, count) in ends(&again) {
                prop_assert_eq!(count, 1, "cut after {}: {} ended more than once", at, task);
            }
        }
    }

    /// Edges that lead back: every run ends, no phase runs more often than its edges allow, no round is tried more often than
    /// its phase, and a run that is cut off anywhere comes to what it would have come to.
    #[test]
    fn rounds_keep_their_bounds_and_go_on_wherever_they_were_cut_off(seed in any::<u64>(), count in 1usize..7, back in 1usize..4, limit in 1u32..4) {
        let generated = generate_with(seed, count, back);
        let (expected, whole) = run(&generated, seed, limit);
        prop_assert!(matches!(expected.status, RunStatus::Succeeded | RunStatus::Failed), "{:?}", expected);
        prop_assert_eq!(whole.running(), 0);
        let phases = |ended: &Ended| ended.output.as_ref().map(|output| output["phases"].clone());
        let mut tried: BTreeMap<(usize, u32), u32> = BTreeMap::new();
        for (task, _) in &whole.launches {
            let phase = task.0[1..].split('/').next().unwrap();
            let (phase, round) = phase.split_once('#').unwrap_or((phase, "1"));
            *tried.entry((phase.parse().unwrap(), round.parse().unwrap())).or_default() += 1;
        }
        for ((phase, round), tries) in &tried {
            let most = most_rounds(&generated.edges, *phase);
            prop_assert!(*round <= most, "round {} of n{}, of {}", round, phase, most);
            prop_assert!(*tries <= generated.max_tries, "{} tries in round {} of n{}", tries, round, phase);
        }
        for at in 1..whole.commits.len() {
            let left = whole.commits[..at].to_vec();
            let mut again = World::resumed(generated.plan.clone(), limit, left, &whole, worker(seed));
            let ended = again.finish();
            prop_assert_eq!((ended.status, phases(&ended)), (expected.status, phases(&expected)), "cut after {}", at);
            for (task, count) in ends(&again) {
                prop_assert_eq!(count, 1, "cut after {}: {} ended more than once", at, task);
            }
        }
    }

    #[test]
    fn a_run_that_is_stopped_goes_on_to_the_same_end(seed in any::<u64>(), count in 1usize..7, limit in 1u32..4, now in any::<bool>()) {
        let generated = generate(seed, count);
        let (expected, whole) = run(&generated, seed, limit);
        let fresh = || World::new(generated.plan.clone(), json!({}), limit, seed, worker(seed));
        goes_on_after_stops(&whole, &expected, limit, now, &fresh, &|| worker(seed));
    }

    #[test]
    fn work_that_is_handed_down_goes_on_after_a_stop(seed in any::<u64>(), limit in 1u32..3, now in any::<bool>()) {
        let plan = handing(2);
        let fresh = || World::new(plan.clone(), json!({}), limit, seed, alike(seed));
        let mut whole = fresh();
        let expected = whole.finish();
        goes_on_after_stops(&whole, &expected, limit, now, &fresh, &|| alike(seed));
    }

    #[test]
    fn work_that_is_handed_down_ends_within_its_bounds(seed in any::<u64>(), max_depth in 1u32..4, limit in 1u32..4) {
        let plan = handing(max_depth);
        let mut world = handing_world(&plan, seed, limit);
        let ended = world.finish();
        prop_assert!(matches!(ended.status, RunStatus::Succeeded | RunStatus::Failed), "{:?}", ended);
        prop_assert_eq!(world.running(), 0);
        for (task, count) in ends(&world) {
            prop_assert_eq!(count, 1, "{} ended more than once", task);
        }
        let launched: Vec<String> = world.launches.iter().map(|(task, _)| task.to_string()).collect();
        for task in &launched {
            let dots = task.matches('.').count() as u32;
            prop_assert!(dots <= max_depth, "{} stands too deep", task);
            // An aggregation comes after all its results, and only if all succeeded.
            if let Some(of) = task.strip_suffix(']').and_then(|task| task.split_once("aggregate[")) {
                let below = format!("{}child[{}.", of.0, of.1);
                let at = launched.iter().position(|other| other == task).unwrap();
                let children = launched.iter().enumerate().filter(|(_, other)| other.starts_with(&below));
                for (child_at, child) in children {
                    prop_assert!(child_at < at, "{} before {}", task, child);
                    prop_assert!(hands_down(seed, child)["status"] == "success", "{}", child);
                }
            }
        }
    }

    #[test]
    fn work_that_is_handed_down_goes_on_wherever_it_was_cut_off(seed in any::<u64>(), limit in 1u32..3) {
        let plan = handing(2);
        let mut whole = handing_world(&plan, seed, limit);
        whole.finish();
        for at in 1..whole.commits.len() {
            let left = whole.commits[..at].to_vec();
            let mut again = World::resumed(plan.clone(), limit, left, &whole, hander(seed));
            let ended = again.finish();
            prop_assert!(ended.status.is_end(), "cut after {}: {:?}", at, ended);
            for (task, count) in ends(&again) {
                prop_assert_eq!(count, 1, "cut after {}: {} ended more than once", at, task);
            }
        }
    }
}
