//! Journals of simulated runs: one of every front end, and what people and crashes do to runs.

use crate::folds::{goals, merging, pipelines};
use convoke_model::{Answer, Assignment, AttemptEnd, Class, JsonText, Stamped, Usage, Work};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A journal, and the plan that it was written under.
pub struct Journal {
    pub plan: Arc<Plan>,
    pub events: Vec<Stamped>,
}

fn of(world: &World) -> Journal {
    Journal { plan: world.plan().clone(), events: world.events().cloned().collect() }
}

/// The events with which a run of a plan begins.
pub fn begun(plan: &Arc<Plan>) -> Vec<Stamped> {
    World::new(plan.clone(), json!({}), 1, 1, Box::new(echo)).commits.concat()
}

const CHILD: &str = "
workflow: {name: child, entry_point: first, input: {n: {type: string}}, hooks: {on_complete: {run: tidy}}}
parallel: [{name: both, agents: [c, d], max_concurrent: 1}]
agents:
  - {name: first, prompt: 'first {{ workflow.input.n }}', routes: [{to: both}]}
  - {name: c, prompt: 'c'}
  - {name: d, prompt: 'd'}
  - {name: tidy, type: set, value: '1'}
output: {n: '{{ both.outputs.c.said }}'}
";

const WORKFLOWS: [&str; 5] = [
    // Groups, loops over items, sub-workflows, waits.
    "
workflow: {name: groups, limits: {max_iterations: 1000}}
parallel: [{name: both, agents: [a, b, c], failure_mode: continue_on_error, max_concurrent: 2}]
for_each:
  - {name: each, type: for_each, items: [1, 2, 3, 4], as: it, max_concurrent: 2, failure_mode: continue_on_error, agent: {name: one, prompt: 'it {{ it }}'}, needs: [both]}
  - {name: keyed, type: for_each, items: [{k: x}, {k: y}], as: it, key_by: k, agent: {name: two, prompt: 'k {{ it.k }}'}, needs: [sub]}
agents:
  - {name: a, prompt: 'a'}
  - {name: b, prompt: 'b !fatal'}
  - {name: c, prompt: 'c'}
  - {name: sub, type: workflow, workflow: child.yaml, input_mapping: {n: '1'}}
  - {name: rest, type: wait, duration: 20ms, needs: [sub]}
  - {name: last, type: set, value: 'done', needs: [each, rest]}
output: {last: '{{ last.output }}'}
",
    // Routes that lead back, routes of failures, attempts that are made again.
    "
workflow: {name: routes, entry_point: a}
agents:
  - {name: a, prompt: 'a !timeout', retry: {max_attempts: 2, delay_seconds: 0.01}, on_error: [{class: [timeout], to: rescue}, {class: any, to: $end}]}
  - {name: rescue, prompt: 'rescue', routes: [{to: again}]}
  - {name: again, prompt: 'again', routes: [{to: again, when: '{{ context.iteration < 5 }}'}, {to: $end}]}
output: {all: '{{ again.output.said }}'}
",
    // Joins that are decided early, a step whose time is over, skipped steps.
    "
workflow: {name: joins}
agents:
  - {name: a, prompt: 'a ~900'}
  - {name: b, prompt: 'b ~50'}
  - {name: c, prompt: 'c !fatal', retry: {max_attempts: 1}}
  - {name: pick, prompt: 'pick', needs: [a, b, c], join: first_success}
  - {name: after, prompt: 'after', needs: [{step: c, requires: completed}, pick]}
output: {won: '{{ pick.output.said }}'}
",
    // People.
    "
workflow: {name: people, entry_point: ask}
agents:
  - {name: ask, type: human_gate, prompt: 'go?', options: [{label: Yes, value: y, route: work}, {label: No, value: n, route: $end}]}
  - {name: work, prompt: 'w', routes: [{to: sure}]}
  - {name: sure, type: human_gate, prompt: 'sure?', options: [{label: Yes, value: y, route: $end}, {label: No, value: n, route: work}]}
output: {said: '{{ work.output.said }}'}
",
    // Outputs in another shape are repaired.
    merging::EXPECTING,
];

/// Agents answer with what they are asked; `!class` fails so, `~n` takes so many milliseconds.
fn echo(assignment: &Assignment) -> Behaviour {
    let prompt = match &assignment.work {
        Work::Agent(call) => call.prompt.clone(),
        Work::Script(call) => call.command.clone(),
        Work::Tool(call) => call.tool.clone(),
        Work::Program(call) => call.agent.prompt.clone(),
        Work::Probe(_) => "probe".to_owned(),
    };
    let takes = prompt.split('~').nth(1).and_then(|n| n.trim().parse().ok()).unwrap_or(10);
    let takes = Duration::from_millis(takes);
    match prompt.split('!').nth(1).and_then(|word| Class::from_word(word.trim())) {
        Some(class) => Behaviour::fails(takes, class),
        None => {
            let output = JsonText::of(&json!({ "said": prompt, "price": 3, "result": "r" }));
            let usage = Usage { calls: 1, input_tokens: 5, cost_micros: 10, ..Usage::default() };
            Behaviour { takes, end: AttemptEnd::Finished { output, usage } }
        }
    }
}

fn workflows(all: &mut Vec<Journal>) {
    for text in WORKFLOWS {
        let plan = plan_of(text, &[("child.yaml", CHILD)]);
        let begin = || {
            let mut world = World::new(plan.clone(), json!({}), 2, 7, Box::new(echo));
            world.answers.insert("*".into(), Answer::Choice { value: "y".into(), input: Default::default() });
            world
        };
        let mut whole = begin();
        whole.finish();
        all.push(of(&whole));
        let mut stopped = begin();
        if stopped.run(whole.commits.len() / 2).is_none() {
            stopped.stop(true);
        }
        all.push(of(&stopped));
        // Stopped, opened again, cut off, taken over.
        let mut resumed = World::resumed(plan.clone(), 2, stopped.commits.clone(), &stopped, Box::new(echo));
        resumed.run(stopped.commits.len() + 3);
        let mut taken = World::resumed(plan.clone(), 2, resumed.commits.clone(), &resumed, Box::new(echo));
        taken.answers.insert("*".into(), Answer::Choice { value: "y".into(), input: Default::default() });
        taken.guide("hurry");
        taken.finish();
        all.push(of(&taken));
    }
}

fn goal_runs(all: &mut Vec<Journal>) {
    let plan = goals::goal(goals::DECOMPOSE);
    let (_, golden) = goals::run(&plan, 4, goals::report);
    all.push(of(&golden));
    let (_, taken) = goals::resumed(&plan, 4, goals::report, &golden, golden.commits.len() / 2);
    all.push(of(&taken));
    let failing: goals::Says = |id, prompt| match id {
        "g/2/3/1/execute[1]" => Err(Class::Fatal),
        _ => goals::report(id, prompt),
    };
    let (_, failed) = goals::run(&plan, 2, failing);
    all.push(of(&failed));
    let mut again = World::resumed(plan, 2, failed.commits.clone(), &failed, goals::model(goals::report));
    again.finish();
    all.push(of(&again));
}

fn pipeline_runs(all: &mut Vec<Journal>) {
    use pipelines::{refused, run, success, with};
    let edges = ["plan build", "build qa", "qa build on: validation_fail, maxRounds: 3", "qa release"];
    let qa = "qa personaId: c, constraints: {maxRetries: 0}";
    let plan = with("plan", &["plan", "build personaId: a", qa, "release"], &edges, "");
    let children = json!([{"persona": "b", "task": "first"}, {"persona": "b", "task": "second"}]);
    let script = vec![
        ("build/try[1]", pipelines::says(json!({"status": "success", "payload": {}, "children": children}))),
        ("qa/try[1]", refused("one test fails")),
        ("release/try[1]", success(json!({"done": true}))),
    ];
    let (_, whole) = run(&plan, script.clone());
    all.push(of(&whole));
    let failing = vec![("build/try[1]", pipelines::failed("no")), ("build/try[2]", pipelines::failed("no"))];
    let (_, failed) = run(&plan, failing);
    all.push(of(&failed));
    let workers = pipelines::workers(script);
    let mut again = World::resumed(plan, 4, failed.commits.clone(), &failed, workers);
    again.finish();
    all.push(of(&again));
}

fn merge_runs(all: &mut Vec<Journal>) {
    let judge: merging::Says = |task, prompt| match task.starts_with("s/") {
        true => Some(json!({ "winner": "S1", "reason": "first", "result": "merged [S1]" })),
        false => merging::words(task, prompt),
    };
    let strategies = ["flat", "hierarchical, ratio: 2", "progressive", "judge", "tournament"];
    for strategy in strategies {
        let plan = merging::many(5, &format!("strategy: {strategy}"));
        let (_, world) = merging::run(&plan, json!({}), 4, judge);
        all.push(of(&world));
    }
    let mistaken: merging::Says = |task, _| match task.split('[').next() {
        Some("checked/assess") => Some(json!({ "findings": [
            {"kind": "gap", "severity": "high", "claim": "c", "explanation": "S1", "correction": "leave out"},
        ] })),
        _ => Some(json!({ "result": "It is 300 m tall." })),
    };
    let plan = plan_of(merging::CHECKED, &[]);
    let (_, world) = merging::run(&plan, json!({}), 4, mistaken);
    all.push(of(&world));
    let priced: merging::Says = |task, _| match task {
        "maker" => Some(json!({ "cost": "three" })),
        _ => Some(json!({ "price": 3, "result": Value::Null })),
    };
    let plan = plan_of(merging::EXPECTING, &[]);
    let (_, world) = merging::run(&plan, json!({}), 4, priced);
    all.push(of(&world));
}

pub fn journals() -> Vec<Journal> {
    let mut all = Vec::new();
    workflows(&mut all);
    goal_runs(&mut all);
    pipeline_runs(&mut all);
    merge_runs(&mut all);
    all
}
