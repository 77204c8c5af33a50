//! What must hold for every workflow, shown on random ones: P1, P3, P4, P7, P8, P9 of the concepts.

use convoke_model::{
    Answer, Assignment, AttemptEnd, Class, Event, RunStatus, Stamped, TaskId, Work, fnv_from,
};
use convoke_testkit::{Behaviour, Random, World, plan_of};
use proptest::prelude::*;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// A random workflow: layers of steps with needs, some of them groups, loops over items, sub-workflows, gates, waits.
struct Generated {
    text: String,
    /// Step to the steps that it needs.
    needs: HashMap<String, Vec<String>>,
}

const CHILD: &str = "
workflow: {name: child, entry_point: first, input: {n: {type: string}}}
parallel: [{name: both, agents: [c, d], max_concurrent: 1}]
agents:
  - {name: first, prompt: 'first {{ workflow.input.n }}', routes: [{to: both}]}
  - {name: c, prompt: 'c'}
  - {name: d, prompt: 'd'}
output: {n: '{{ both.outputs.c.n }}'}
";

fn generate(seed: u64, steps: u64) -> Generated {
    let mut random = Random::new(seed);
    let mut agents = String::new();
    let mut parallel = String::new();
    let mut each = String::new();
    let mut needs: HashMap<String, Vec<String>> = HashMap::new();
    for n in 0..steps {
        let name = format!("s{n}");
        let wanted: Vec<String> = (0..n).filter(|_| random.percent(25)).map(|m| format!("s{m}")).collect();
        let list =
            if wanted.is_empty() { String::new() } else { format!(", needs: [{}]", wanted.join(", ")) };
        match random.below(8) {
            0 => {
                parallel += &format!(
                    "  - {{name: {name}, agents: [{name}a, {name}b], failure_mode: continue_on_error, max_concurrent: {}{list}}}\n",
                    1 + random.below(3)
                );
                agents +=
                    &format!("  - {{name: {name}a, prompt: 'x'}}\n  - {{name: {name}b, prompt: 'y'}}\n");
            }
            1 => {
                each += &format!(
                    "  - {{name: {name}, type: for_each, source: workflow.input.items, as: it, max_concurrent: {}, failure_mode: continue_on_error, agent: {{name: {name}i, prompt: '{{{{ it }}}}'}}{list}}}\n",
                    1 + random.below(4)
                );
            }
            2 => {
                agents += &format!(
                    "  - {{name: {name}, type: workflow, workflow: child.yaml, input_mapping: {{n: '{n}'}}{list}}}\n"
                )
            }
            3 => {
                agents +=
                    &format!("  - {{name: {name}, type: wait, duration: {}ms{list}}}\n", 1 + random.below(50))
            }
            4 => agents += &format!("  - {{name: {name}, type: set, value: '{n}'{list}}}\n"),
            _ => {
                agents += &format!(
                    "  - {{name: {name}, prompt: 'p{n}', retry: {{max_attempts: 4, delay_seconds: 0.01}}{list}}}\n"
                )
            }
        }
        needs.insert(name, wanted);
    }
    // One step that everything may hang on: it has no needs, so the file is a DAG of needs even if nothing else is.
    agents += "  - {name: last, type: set, value: 'done', needs: [s0]}\n";
    needs.insert("last".into(), vec!["s0".into()]);
    let groups =
        |title: &str, body: &str| if body.is_empty() { String::new() } else { format!("{title}:\n{body}") };
    let text = format!(
        "workflow: {{name: random, input: {{items: {{type: array}}}}, limits: {{max_iterations: 100000}}}}\n{}{}agents:\n{agents}output: {{last: '{{{{ last.output }}}}'}}\n",
        groups("parallel", &parallel),
        groups("for_each", &each),
    );
    Generated { text, needs }
}

fn script(seed: u64, faults: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let prompt = match &assignment.work {
            Work::Agent(call) => call.prompt.clone(),
            Work::Script(call) => call.command.clone(),
            Work::Tool(call) => call.tool.clone(),
            Work::Program(call) => call.agent.prompt.clone(),
            Work::Probe(_) => "probe".to_owned(),
        };
        // Behaviour depends on what is asked, not on when: the same after a crash.
        let asked = assignment.task.0.bytes().chain([assignment.attempt as u8]);
        let mut random = Random::new(convoke_model::fnv_from(seed, asked));
        let takes = Duration::from_micros(1 + random.below(30_000));
        if assignment.attempt < 3 && random.percent(faults) {
            return Behaviour::fails(takes, Class::Transient);
        }
        Behaviour::gives(takes, json!({ "n": prompt }))
    })
}

fn world(generated: &Generated, limit: u32, seed: u64, faults: u64) -> World {
    let plan = plan_of(&generated.text, &[("child.yaml", CHILD)]);
    let mut world =
        World::new(plan, json!({"items": ["a", "b", "c", "d", "e"]}), limit, seed, script(seed, faults));
    world.answers.insert("*".into(), Answer::Retry);
    world
}

fn ends(events: &[Stamped]) -> HashMap<TaskId, usize> {
    let mut ends = HashMap::new();
    for (at, stamped) in events.iter().enumerate() {
        let ended = match &stamped.event {
            Event::AttemptFinished { task, .. }
            | Event::TaskSucceeded { task, .. }
            | Event::TaskFailed { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task, .. } => task,
            _ => continue,
        };
        let before = ends.insert(ended.clone(), at);
        assert_eq!(before, None, "{ended} ended twice");
    }
    ends
}

fn starts(events: &[Stamped]) -> Vec<(usize, TaskId)> {
    let start = |(at, stamped): (usize, &Stamped)| match &stamped.event {
        Event::AttemptStarted { task, .. }
        | Event::TaskStarted { task, .. }
        | Event::FannedOut { task, .. } => Some((at, task.clone())),
        _ => None,
    };
    events.iter().enumerate().filter_map(start).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// P1: nothing starts before everything it needs has ended. P4: it all ends, also with one slot.
    #[test]
    fn never_starts_before_its_inputs(seed in any::<u64>(), steps in 1u64..14, limit in 1u32..5, faults in 0u64..30) {
        let generated = generate(seed, steps);
        let mut world = world(&generated, limit, seed, faults);
        let ended = world.finish();
        prop_assert_eq!(ended.status, RunStatus::Succeeded, "{:?}", ended);
        let events: Vec<_> = world.events().cloned().collect();
        let ends = ends(&events);
        for (at, task) in starts(&events) {
            let Some(needs) = generated.needs.get(&*task.0) else { continue };
            for need in needs {
                let need = TaskId(need.as_str().into());
                prop_assert!(ends.get(&need).is_some_and(|end| *end < at), "{} started before {}", task, need);
            }
        }
    }

    /// P3: while something waits for a slot, every slot is taken.
    #[test]
    fn never_idles_while_work_waits(seed in any::<u64>(), steps in 1u64..14, limit in 1u32..4) {
        let generated = generate(seed, steps);
        let mut world = world(&generated, limit, seed, 0);
        world.finish();
        let events: Vec<_> = world.events().cloned().collect();
        let mut running = HashSet::new();
        for commit in &world.commits {
            for stamped in commit {
                match &stamped.event {
                    Event::AttemptStarted { task, .. } => { running.insert(task.clone()); }
                    Event::AttemptFinished { task, .. } | Event::AttemptFailed { task, .. } => { running.remove(task); }
                    _ => {}
                }
            }
            let blocked = commit.iter().any(|stamped| matches!(stamped.event, Event::Blocked { .. }));
            prop_assert!(!blocked || running.len() == limit as usize, "{} of {} slots taken", running.len(), limit);
        }
        prop_assert!(!events.is_empty());
    }

    /// P7: cut the journal after any commit, resume: the same result, and nothing that ended runs again.
    #[test]
    fn resume_at_any_point_gives_the_same_result(seed in any::<u64>(), steps in 1u64..9, limit in 1u32..4, faults in 0u64..30) {
        let generated = generate(seed, steps);
        let plan = plan_of(&generated.text, &[("child.yaml", CHILD)]);
        let mut whole = world(&generated, limit, seed, faults);
        let expected = whole.finish();
        for cut in 1..whole.commits.len() {
            let left = whole.commits[..cut].to_vec();
            let done: HashSet<TaskId> = ends(&left.concat()).into_keys().collect();
            let mut resumed = World::resumed(plan.clone(), limit, left, &whole, script(seed, faults));
            resumed.answers.insert("*".into(), Answer::Retry);
            let ended = resumed.finish();
            prop_assert_eq!((&ended.status, &ended.output), (&expected.status, &expected.output), "cut {}: {:?}", cut, ended);
            let again: Vec<_> = resumed.launches.iter().filter(|(task, _)| done.contains(task)).collect();
            prop_assert!(again.is_empty(), "cut {}: ran again: {:?}", cut, again);
            ends(&resumed.commits.concat());
        }
    }

    /// Wherever a rendering is cancelled, nothing follows from it, what runs is recorded to its end, and a resume comes to
    /// the same result without asking for an answer again.
    #[test]
    fn a_cancelled_rendering_changes_nothing(seed in any::<u64>(), steps in 1u64..12, limit in 1u32..4, looks in 0u64..80) {
        let generated = generate(seed, steps);
        let mut whole = world(&generated, limit, seed, 0);
        let expected = whole.finish();
        let mut cut = world(&generated, limit, seed, 0);
        cut.cancel_rendering_after(looks);
        if let Some(ended) = cut.run(usize::MAX) {
            prop_assert_eq!(ended.output, expected.output);
            return Ok(());
        }
        prop_assert_eq!(cut.running(), 0, "what ran has ended");
        let failed = cut.events().find(|stamped| matches!(stamped.event, Event::TaskFailed { .. }));
        prop_assert!(failed.is_none(), "{:?}", failed);
        let mut again = World::resumed(cut.plan().clone(), limit, cut.commits.clone(), &cut, script(seed, 0));
        let ended = again.finish();
        prop_assert_eq!((ended.status, &ended.output), (expected.status, &expected.output));
        ends(&again.commits.concat());
        prop_assert_eq!(again.launches.len() + cut.launches.len(), whole.launches.len());
    }

    /// P8: the same plan, answers and seed give the same events in the same order.
    #[test]
    fn the_same_answers_give_the_same_events(seed in any::<u64>(), steps in 1u64..14, limit in 1u32..5) {
        let generated = generate(seed, steps);
        let run = || {
            let mut world = world(&generated, limit, seed, 20);
            world.finish();
            world.commits
        };
        prop_assert_eq!(run(), run());
    }

    /// P9: a stop at any moment ends everything within the time an attempt takes to stop, once each.
    #[test]
    fn a_stop_at_any_moment_reaches_everything(stubborn in any::<bool>(), seed in any::<u64>(), steps in 1u64..14, limit in 1u32..5, moment in 1usize..40) {
        let generated = generate(seed, steps);
        let mut world = world(&generated, limit, seed, 10);
        world.stubborn = stubborn;
        if world.run(moment).is_some() {
            return Ok(());
        }
        let before = world.events().last().map(|event| event.at).unwrap();
        let ended = world.stop(true);
        prop_assert_eq!(ended.status, RunStatus::Cancelled);
        prop_assert_eq!(world.running(), 0);
        let events: Vec<_> = world.events().cloned().collect();
        let after = events.last().unwrap().at.since(before);
        prop_assert!(after <= Duration::from_millis(60), "took {:?}", after);
        let ends = ends(&events);
        for (_, task) in starts(&events) {
            prop_assert!(ends.contains_key(&task), "{} has no end", task);
        }
    }
}

const CAUSES: [Class; 5] =
    [Class::Permission, Class::Fatal, Class::Security, Class::InvalidOutput, Class::Refused];

/// Parts that fail each at a moment and with a class of their own, whatever their order.
fn failing(seed: u64) -> Box<dyn FnMut(&Assignment) -> Behaviour> {
    Box::new(move |assignment| {
        let mut random = Random::new(fnv_from(seed, assignment.task.0.bytes()));
        let takes = Duration::from_micros(1 + random.below(1_000_000));
        match random.percent(60) {
            true => Behaviour::fails(takes, CAUSES[random.below(CAUSES.len() as u64) as usize]),
            false => Behaviour::gives(takes, json!({"result": "r"})),
        }
    })
}

/// The class of the first part that failed, by the order of the journal. A part whose group or sub-workflow was cancelled before it
/// could fail itself never reached the outer group.
fn first_failure(world: &World) -> Option<Class> {
    let cancelled: Vec<String> = world
        .events()
        .filter_map(|stamped| match &stamped.event {
            Event::TaskCancelled { task, .. } => Some(format!("{}/", task.0)),
            _ => None,
        })
        .collect();
    world.events().find_map(|stamped| match &stamped.event {
        Event::AttemptFailed { task, failure, .. } => {
            (!cancelled.iter().any(|above| task.0.starts_with(above.as_str()))).then_some(failure.class)
        }
        _ => None,
    })
}

const GROUPS: [&str; 5] = [
    "parallel: [{name: all, agents: [a, b, c, d], failure_mode: MODE}]",
    "parallel: [{name: all, agents: [g, h], failure_mode: MODE}, {name: g, agents: [a, b]}, {name: h, agents: [c, d], failure_mode: MODE}]",
    "parallel: [{name: g, agents: [a, b, c], failure_mode: MODE}]\nfor_each: [{name: all, type: for_each, items: [1, 2, 3], as: n, run: g, failure_mode: MODE}]",
    "for_each: [{name: all, type: for_each, items: [1, 2, 3, 4], as: n, failure_mode: MODE, agent: {name: i, prompt: p, retry: {max_attempts: 1}}}]",
    "parallel: [{name: all, agents: [sub, d], failure_mode: MODE}]",
];

/// The class of a group that failed, that of its first failure, and its text.
fn failed_group(seed: u64, shape: usize, mode: usize, limit: u32) -> (Option<Class>, Option<Class>, String) {
    let mode = ["fail_fast", "all_or_nothing"][mode];
    let agents: String = ["a", "b", "c", "d"]
        .map(|name| format!("  - {{name: {name}, prompt: p, retry: {{max_attempts: 1}}}}\n"))
        .concat();
    let sub = if shape == 4 { "  - {name: sub, type: workflow, workflow: sub.yaml}\n" } else { "" };
    let text = format!(
        "workflow: {{name: w, entry_point: all}}\n{}\nagents:\n{agents}{sub}",
        GROUPS[shape].replace("MODE", mode)
    );
    let child = format!(
        "workflow: {{name: sub, entry_point: g}}\nparallel: [{{name: g, agents: [a, b, c], failure_mode: {mode}}}]\nagents:\n{agents}"
    );
    let plan = plan_of(&text, &[("sub.yaml", &child)]);
    let mut world = World::new(plan, json!({}), limit, 1, failing(seed));
    let ended = world.finish();
    (ended.failure.map(|failure| failure.class), first_failure(&world), text)
}

/// A group is cancelled while its first failure is still on its way up: the failure that cancelled it is the cause.
#[test]
fn a_failure_that_never_reached_the_outer_group_is_not_its_cause() {
    let (class, first, text) = failed_group(5632527254877102509, 4, 0, 4);
    assert_eq!(class, first, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A group that fails has the class of the part that failed first, however deep it stands and whatever the order.
    #[test]
    fn the_first_failure_is_the_cause(seed in any::<u64>(), shape in 0usize..5, mode in 0usize..2, limit in 1u32..9) {
        let (class, first, text) = failed_group(seed, shape, mode, limit);
        prop_assert_eq!(class, first, "{}", text);
    }

    /// The same for a pipeline: for phases beside each other, and for work that a phase hands out.
    #[test]
    fn the_first_failure_is_the_cause_of_a_pipeline(seed in any::<u64>(), hands_out in any::<bool>(), limit in 1u32..9) {
        let text = "schemaVersion: '1'
name: small
topologies: [sequential, parallel, hierarchical]
personas:
  - {id: a, displayName: A, systemPromptTemplate: You are a.}
  - {id: b, displayName: B, systemPromptTemplate: You are b.}
relationships:
  - {parentPersonaId: a, childPersonaId: b, constraints: {maxDepth: 1, maxChildren: 3}}
actors: {model: {retry: {max_attempts: 1}}}
pipeline:
  entryNodeId: x
  nodes: [{id: x, actorId: model, personaId: a}, {id: y, actorId: model, personaId: b}, {id: z, actorId: model, personaId: b}]
  edges: [{from: x, to: y}, {from: x, to: z}]
";
        let mut parts = failing(seed);
        let script = move |assignment: &Assignment| match assignment.task.0.as_ref() {
            "x/try[1]" => {
                let work: Vec<_> = ["p", "q", "r"].iter().filter(|_| hands_out).map(|key| json!({"persona": "b", "task": key})).collect();
                Behaviour::gives(Duration::from_micros(1), json!({"status": "success", "payload": {}, "children": work}))
            }
            _ => match parts(assignment) {
                // A violation ends the whole run, and an answer that is not accepted is no failure of a pipeline.
                Behaviour { takes, end: AttemptEnd::Failed { failure, .. } }
                    if matches!(failure.class, Class::Security | Class::InvalidOutput) =>
                {
                    Behaviour::fails(takes, Class::Capacity)
                }
                Behaviour { takes, end: AttemptEnd::Finished { .. } } => {
                    Behaviour::gives(takes, json!({"status": "success", "payload": {}}))
                }
                failed => failed,
            },
        };
        let mut world = World::new(plan_of(text, &[]), json!({}), limit, 1, Box::new(script));
        let ended = world.finish();
        let class = ended.failure.map(|failure| failure.class);
        prop_assert_eq!(class, first_failure(&world));
    }
}
