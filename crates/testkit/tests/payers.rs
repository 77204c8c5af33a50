//! Who pays for a task can be told from its name alone: what was spent by a task that is gone is charged to the same budgets.

use convoke_schedule::{Payer, Scheduler};
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
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
parallel: [{name: both, agents: [a, sub], budget: {tokens: 7}}]
for_each:
  - {name: each, type: for_each, source: workflow.input.items, as: it, budget: {usd: 8}, agent: {name: c, type: workflow, workflow: child.yaml, input_mapping: {n: '{{ it }}'}}, routes: [{to: both}]}
";

fn sorted(payers: Vec<Payer>) -> Vec<String> {
    let mut payers: Vec<_> = payers.into_iter().map(|payer| format!("{payer:?}")).collect();
    payers.sort();
    payers
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
        let (payers, tenant) = knows_nothing.payers_of(id);
        assert_eq!(sorted(payers), sorted(scheduler.payers(task)), "{id}");
        assert_eq!(tenant.as_ref(), scheduler.tenant(task), "{id}");
        seen.push(id.to_string());
    }
    for id in ["loop", "loop#2", "each[0]/one", "each[1]/g/two", "both/a", "both/sub/g/two"] {
        assert!(seen.iter().any(|known| known == id), "{id} is among {seen:?}");
    }
}
