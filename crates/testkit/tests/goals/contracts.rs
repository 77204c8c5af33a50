//! What each role may do and use: the contract of each attempt.

use crate::goals::kit::*;
use convoke_model::{Class, Contract, Event, Violation};
use convoke_testkit::{World, plan_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const TOOLS: &str = "
workflow: {name: w, entry_point: g, limits: {budget_tokens: 90000}, runtime: {provider: scripted, mcp_servers: {s: {command: s, tools: [read, write]}}}}
agents: [{name: g, type: goal, goal: x, model: m, max_agent_iterations: 8, budget: {tokens: 5000}, policies: {any: [spawn_recovery, fail]}}]
output: {answer: '{{ g.output | json }}'}
";

/// Two tasks, of which the second names a tool and fails at first.
fn two(id: &str, _: &str) -> Result<Value, Class> {
    match id {
        "g/plan[1]" => {
            let mut reads = task("b", &[]);
            reads["tools"] = json!(["s__read"]);
            Ok(json!({"tasks": [task("a", &[]), reads]}))
        }
        "g/2/execute[1]" => Err(Class::Fatal),
        "g/finalise[1]" => final_words("done"),
        _ => done("it"),
    }
}

fn contracts(world: &World) -> BTreeMap<String, Contract> {
    let resolved = world.events().filter_map(|stamped| match &stamped.event {
        Event::ContractResolved { task, contract, .. } => Some((task.to_string(), contract.clone())),
        _ => None,
    });
    resolved.collect()
}

#[test]
fn every_attempt_of_a_role_has_its_contract_right_before_it_starts() {
    for (plan, says) in [(plan_of(TOOLS, &[]), two as Says), (goal(DECOMPOSE), report)] {
        let (_, world) = run(&plan, 4, says);
        let events: Vec<&Event> = world.events().map(|stamped| &stamped.event).collect();
        let mut attempts = 0;
        for (at, event) in events.iter().enumerate() {
            let Event::AttemptStarted { task, attempt, .. } = event else { continue };
            let Event::ContractResolved { task: of, attempt: which, contract } = events[at - 1] else {
                panic!("{task} starts without one");
            };
            assert_eq!((of, which, contract.phase.as_str()), (task, attempt, "g"));
            attempts += 1;
        }
        assert!(attempts > 4, "{attempts}");
    }
}

#[test]
fn whoever_plans_has_no_tools_and_whoever_does_a_task_has_those_that_it_names() {
    let (_, world) = run(&plan_of(TOOLS, &[]), 4, two);
    let contracts = contracts(&world);
    let tools = |id: &str| {
        let contract = contracts.get(id).unwrap_or_else(|| panic!("{id} of {:?}", contracts.keys()));
        (contract.allowed_tools.clone(), contract.tools_settled)
    };
    for id in ["g/plan[1]", "g/finalise[1]"] {
        assert_eq!(tools(id), (Some(Vec::new()), true), "{id}: it may call nothing");
    }
    assert_eq!(tools("g/1/execute[1]"), (None, false), "all of the goal's, once they are known");
    assert_eq!(tools("g/2/execute[1]"), (Some(vec!["s__read".to_owned()]), false));
}

#[test]
fn a_role_is_bound_by_what_is_drawn_from_and_told_what_it_may_not() {
    let (_, world) = run(&plan_of(TOOLS, &[]), 4, two);
    for (id, contract) in contracts(&world) {
        let names: Vec<&str> = contract.budgets.iter().map(|allowance| allowance.name.as_str()).collect();
        assert_eq!(names, ["budget of step g", "budget of the run"], "{id}");
        assert_eq!((contract.violation, contract.model.as_str()), (Violation::Reported, "m"), "{id}");
        let role = id.rsplit('/').next().unwrap().split('[').next().unwrap();
        assert_eq!(contract.persona.as_deref(), Some(role), "{id}");
        let rounds = [("execute", 8), ("rescue", 4)].into_iter().find(|(works, _)| *works == role);
        if let Some((_, rounds)) = rounds {
            assert_eq!(contract.max_iterations, Some(rounds), "{id}: who recovers has half");
        }
    }
    assert!(contracts(&world).keys().any(|id| id.contains("/rescue[")), "{:?}", contracts(&world).keys());
}
