//! The budget scopes of a task follow from its name alone: what was spent by a task that is gone is charged to the same budgets.

use convoke_engine::budget::standings;
use convoke_engine::{Changes, Limits, replay};
use convoke_model::{
    Assignment, AttemptEnd, Class, JsonText, Payload, Stamped, SubQuery, Usage, WaitsFor, Work,
};
use convoke_plan::Plan;
use convoke_schedule::{BudgetScope, Owner, Scheduler};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const CHILD: &str = "
workflow: {name: child, entry_point: one, limits: {budget_usd: 3}, input: {n: {type: string}}}
agents:
  - {name: one, prompt: one, routes: [{to: g}]}
  - {name: two, prompt: two, budget: {usd: 4}}
  - {name: three, prompt: three}
parallel: [{name: g, agents: [two, three], budget: {usd: 5}}]
";

const PARENT: &str = "
workflow: {name: w, entry_point: loop, limits: {budget_usd: 1, budget_tokens: 9}, labels: {tenant: blue}, input: {items: {type: array}}}
agents:
  - {name: loop, prompt: 'again', budget: {usd: 2}, routes: [{to: each, when: '{{ context.iteration >= 2 }}'}, {to: loop}]}
  - {name: a, prompt: a, budget: {usd: 6}}
  - {name: sub, type: workflow, workflow: child.yaml, input_mapping: {n: x}}
parallel: [{name: both, agents: [a, sub], budget: {tokens: 7}, labels: {tenant: green}}]
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, budget: {usd: 8}, agent: {name: c, type: workflow, workflow: child.yaml, labels: {tenant: red}, input_mapping: {n: '{{ it }}'}}, routes: [{to: both}]}
";

fn sorted(scopes: Vec<BudgetScope>) -> Vec<String> {
    let mut scopes: Vec<_> = scopes.into_iter().map(|scope| format!("{scope:?}")).collect();
    scopes.sort();
    scopes
}

#[test]
fn a_name_tells_who_pays() {
    let plan = plan_of(PARENT, &[("child.yaml", CHILD)]);
    let script = Box::new(|_: &_| Behaviour::gives(Duration::from_millis(1), json!({"said": 1})));
    let mut world = World::new(plan.clone(), json!({"items": ["x", "y"]}), 4, 1, script);
    world.finish();
    let mut scheduler = Scheduler::new(plan.clone());
    world.events().for_each(|event| scheduler.apply(event).expect("it happened"));
    let knows_nothing = Scheduler::new(plan);
    let mut seen = Vec::new();
    for task in scheduler.tasks() {
        let id = scheduler.id(task);
        let (scopes, tenant) = knows_nothing.budget_scopes_of(id);
        assert_eq!(sorted(scopes), sorted(scheduler.budget_scopes(task)), "{id}");
        assert_eq!(tenant, scheduler.tenant(task), "{id}");
        seen.push(id.to_string());
    }
    for id in ["loop", "loop#2", "each[0]/one", "each[1]/g/two", "both/a", "both/sub/g/two"] {
        assert!(seen.iter().any(|known| known == id), "{id} is among {seen:?}");
    }
}

/// Every way of asking something on a step's way: repairs of inputs, by a step, an item and a sub-workflow; merges by
/// levels, as outputs arrive and by programs; an examination with its correction.
const ASKING: &str = "
workflow: {name: w, entry_point: maker, runtime: {provider: scripted}, limits: {budget_tokens: 90000}}
for_each:
  - {name: each, type: for_each, items: [0, 1, 2, 3], as: n, needs: [maker], budget: {tokens: 10000}, agent: {name: use, prompt: 'use {{ n }}', budget: {tokens: 5000}, expects: {maker: {price: {type: number}}}, repair_input: true}}
parallel: [{name: both, agents: [member, sub], needs: [maker], budget: {tokens: 10001}}]
agents:
  - {name: maker, prompt: make}
  - {name: member, prompt: member, budget: {tokens: 5001}, expects: {maker: {price: {type: number}}}, repair_input: true}
  - {name: sub, type: workflow, workflow: asking.yaml, input_mapping: {price: '{{ maker.output.price }}'}, expects: {maker: {price: {type: number}}}, repair_input: true}
  - {name: levels, type: reduce, needs: [each], strategy: hierarchical, ratio: 2, budget: {tokens: 5002}}
  - {name: arrivals, type: reduce, needs: [each], strategy: progressive, budget: {tokens: 5003}}
  - {name: programs, type: reduce, needs: [each], strategy: rlm, budget: {tokens: 5004}}
  - {name: checked, type: verify, needs: [levels], query: how?, rounds: 1, budget: {tokens: 5005}}
";

const ASKING_CHILD: &str = "
workflow: {name: asking, entry_point: writer, limits: {budget_tokens: 20000}, input: {price: {type: number}}}
agents:
  - {name: writer, prompt: 'write {{ workflow.input.price }}'}
  - {name: inner, type: verify, needs: [writer], query: how?, rounds: 1, budget: {tokens: 5006}}
";

/// Everything that is asked is answered, for one token each; the first examination finds something.
fn asking(assignment: &Assignment) -> Behaviour {
    let task = assignment.task.to_string();
    let usage = Usage { calls: 1, output_tokens: 1, ..Usage::default() };
    let end = match (&assignment.work, assignment.continues.len()) {
        (Work::Program(call), 0) if call.depth == 0 => {
            let deeper = SubQuery::Program { query: "deeper".into(), of: vec!["S1".into()] };
            let sub_queries = JsonText::of(&[SubQuery::Prompt("one".into()), deeper]);
            let waits_for = WaitsFor::Children(Payload::Inline(sub_queries));
            AttemptEnd::Suspended { state: JsonText::of(&json!([])), waits_for, usage }
        }
        (Work::Program(call), 0) if call.depth == 1 => {
            let waits_for =
                WaitsFor::Children(Payload::Inline(JsonText::of(&[SubQuery::Prompt("two".into())])));
            AttemptEnd::Suspended { state: JsonText::of(&json!([])), waits_for, usage }
        }
        _ => AttemptEnd::Finished { output: JsonText::of(&answer(&task)), usage },
    };
    Behaviour { takes: Duration::from_millis(1), end }
}

fn answer(task: &str) -> Value {
    let last = task.rsplit('/').next().unwrap();
    match last {
        "maker" => json!({ "price": "12 Euro" }),
        "repair_input[maker]" => json!({ "price": 12 }),
        "assess[1]" => json!({ "findings": [
            { "kind": "gap", "severity": "high", "claim": "x", "explanation": "y", "correction": "z" },
        ]}),
        _ if last.starts_with("assess[") => json!({ "findings": [] }),
        _ => json!({ "result": "words" }),
    }
}

fn asking_world() -> (Arc<Plan>, World) {
    let plan = plan_of(ASKING, &[("asking.yaml", ASKING_CHILD)]);
    let mut world = World::new(plan.clone(), json!({}), 4, 1, Box::new(asking));
    let ended = world.finish();
    assert!(ended.failure.is_none(), "{ended:?}");
    (plan, world)
}

/// What was asked, and by which step with which budget.
const ASKED: [(&str, &str, u64); 12] = [
    ("each[2]/repair_input[maker]", "use", 5000),
    ("both/member/repair_input[maker]", "member", 5001),
    ("levels/merge[1.0]", "levels", 5002),
    ("levels/merge[2.0]", "levels", 5002),
    ("arrivals/merge[1]", "arrivals", 5003),
    ("programs/llm[1]", "programs", 5004),
    ("programs/rlm[2]", "programs", 5004),
    ("programs/rlm[2]/llm[1]", "programs", 5004),
    ("checked/assess[1]", "checked", 5005),
    ("checked/correct[1]", "checked", 5005),
    ("both/sub/inner/assess[1]", "inner", 5006),
    ("both/sub/inner/correct[1]", "inner", 5006),
];

fn steps(scopes: &[BudgetScope]) -> Vec<(&str, Option<u64>)> {
    scopes
        .iter()
        .filter_map(|scope| match &scope.owner {
            Owner::Step { name, .. } => Some((&**name, scope.budget.tokens)),
            _ => None,
        })
        .collect()
}

/// The budget scopes of each task, by what is known of it and by its name.
fn all_scopes(scheduler: &Scheduler, by_name: &Scheduler) -> BTreeMap<String, Vec<BudgetScope>> {
    let mut all = BTreeMap::new();
    for task in scheduler.tasks() {
        let (id, scopes) = (scheduler.id(task), scheduler.budget_scopes(task));
        assert_eq!(sorted(by_name.budget_scopes_of(id).0), sorted(scopes.clone()), "{id}");
        all.insert(id.to_string(), scopes);
    }
    all
}

#[test]
fn what_a_step_asks_is_paid_by_the_step_also_after_a_resume() {
    let (plan, world) = asking_world();
    let by_name = Scheduler::new(plan.clone());
    let resumed = |commits: &[Vec<Stamped>]| {
        let (scheduler, _) =
            replay(&plan, commits.concat(), &Changes::None, &|_| None).expect("it can be resumed");
        all_scopes(&scheduler, &by_name)
    };
    let before_the_end = world.commits.len() - 1;
    let whole = resumed(&world.commits[..before_the_end]);
    for (task, step, tokens) in ASKED {
        let scopes = whole.get(task).unwrap_or_else(|| panic!("{task} is among {:?}", whole.keys()));
        assert_eq!(steps(scopes), [(step, Some(tokens))], "{task}");
        assert!(scopes.iter().any(|scope| scope.owner == Owner::Run), "{task}");
    }
    let around = |task: &str| whole[task].iter().filter_map(|scope| scope.budget.tokens).collect::<Vec<_>>();
    assert_eq!(around("each[2]/repair_input[maker]"), [5000, 10000, 90000]);
    assert_eq!(around("both/sub/repair_input[maker]"), [10001, 90000], "the sub-workflow has not begun");
    assert_eq!(around("both/sub/inner/assess[1]"), [5006, 20000, 10001, 90000]);
    for cut in 1..before_the_end {
        for (task, scopes) in resumed(&world.commits[..cut]) {
            assert_eq!(sorted(scopes), sorted(whole[&task].clone()), "{task}, cut after {cut}");
        }
    }
}

/// What each budget of a step has paid, in tokens.
fn paid(plan: &Arc<Plan>, world: &World) -> BTreeMap<String, u64> {
    let events: Vec<Stamped> = world.events().cloned().collect();
    let standings = standings(plan, &Limits::default(), &events).into_iter();
    standings.map(|standing| (standing.name, standing.spent)).collect()
}

#[test]
fn every_token_is_on_the_account_of_the_step_that_asked_wherever_the_run_was_cut_off() {
    let (plan, whole) = asking_world();
    let paid_once = paid(&plan, &whole);
    let of = |step: &str| paid_once[&format!("budget of step {step} (tokens)")];
    // Four items with a repair each; two questions and a last one; two sub-queries, one of which has one of its own, and the
    // attempts around them; two examinations and a correction.
    assert_eq!((of("use"), of("member"), of("levels"), of("checked"), of("inner")), (8, 2, 3, 3, 3));
    assert_eq!(of("programs"), 2 + 1 + 2 + 1);
    assert_eq!(paid_once["budget of the run (tokens)"], whole.launches.len() as u64);
    for cut in 1..whole.commits.len() {
        let left = whole.commits[..cut].to_vec();
        let mut again = World::resumed(plan.clone(), 4, left, &whole, Box::new(asking));
        again.finish();
        let (mut paid, mut expected) = (paid(&plan, &again), paid_once.clone());
        // How often a progressive merge asks depends on what arrives together.
        for name in ["budget of step arrivals (tokens)", "budget of the run (tokens)"] {
            let _ = (paid.remove(name), expected.remove(name));
        }
        assert_eq!(paid, expected, "cut after {cut}");
    }
}

#[test]
fn what_a_step_had_asked_before_it_began_anew_stays_on_its_account() {
    // The examiner of the answer fails, so the step fails; resumed, it examines anew.
    let fails = |assignment: &Assignment| match assignment.task.to_string().as_str() {
        "checked/assess[1]" => {
            let usage = Usage { calls: 1, output_tokens: 100, ..Usage::default() };
            let Behaviour { takes, end: AttemptEnd::Failed { failure, partial, .. } } =
                Behaviour::fails(Duration::from_millis(1), Class::Fatal)
            else {
                unreachable!("it fails")
            };
            Behaviour { takes, end: AttemptEnd::Failed { failure, usage, partial } }
        }
        _ => asking(assignment),
    };
    let plan = plan_of(ASKING, &[("asking.yaml", ASKING_CHILD)]);
    let mut first = World::new(plan.clone(), json!({}), 4, 1, Box::new(fails));
    assert!(first.finish().failure.is_some());
    let mut second = World::resumed(plan.clone(), 4, first.commits.clone(), &first, Box::new(asking));
    assert!(second.finish().failure.is_none());
    assert_eq!(paid(&plan, &second)["budget of step checked (tokens)"], 100 + 3);
}
