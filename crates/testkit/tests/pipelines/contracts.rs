//! What workers may use and how long they may take: the contract of each attempt.

use super::kit::*;
use convoke_model::{Assignment, Class, Contract, Event, RunStatus};
use convoke_plan::Plan;
use convoke_testkit::{Behaviour, World, plan_of};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// One phase of `lead`, which may hand work to `hand`; both are played by actors of their own.
fn team(lead: &str, actors: &str) -> Arc<Plan> {
    plan_of(
        &format!(
            "schemaVersion: '1'
name: team
personas:
  - {{id: lead, displayName: Lead, systemPromptTemplate: You lead., {lead}}}
  - {{id: hand, displayName: Hand, systemPromptTemplate: You help., actorId: second}}
relationships: [{{parentPersonaId: lead, childPersonaId: hand}}]
pipeline:
  entryNodeId: x
  nodes: [{{id: x, actorId: first, personaId: lead}}]
  edges: []
mcp_servers: {{fs: {{command: fs}}, git: {{command: git}}}}
actors:
{actors}"
        ),
        &[],
    )
}

fn contract(world: &World, worker: &str) -> Contract {
    let found = world.events().find_map(|stamped| match &stamped.event {
        Event::ContractResolved { task, contract, .. } if task.to_string() == worker => {
            Some(contract.clone())
        }
        _ => None,
    });
    found.expect("before its attempt")
}

fn allowed(lead: &str, actors: &str) -> Option<Vec<String>> {
    let (_, world) = run(&team(lead, actors), vec![]);
    contract(&world, "x/try[1]").allowed_tools
}

const PLAIN: &str = "  first: {type: agent}\n  second: {type: agent}\n";

#[test]
fn what_an_actor_has_and_a_persona_may_use_is_put_together_by_meaning() {
    let reads = "  first: {type: agent, tools: [fs__read]}\n";
    let all_files = "  first: {type: agent, tools: ['fs__*']}\n";
    let words = |words: &[&str]| Some(words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
    assert_eq!(allowed("toolClearance: {allowlist: ['fs__*']}", reads), words(&["fs__read"]));
    assert_eq!(allowed("toolClearance: {allowlist: ['FS__*']}", reads), words(&["fs__read"]));
    assert_eq!(allowed("toolClearance: {allowlist: [fs__read]}", all_files), words(&["fs__read"]));
    assert_eq!(allowed("toolClearance: {allowlist: [read]}", all_files), words(&["fs__* & read"]));
    assert_eq!(allowed("toolClearance: {allowlist: [git__log]}", reads), words(&[]));
    assert_eq!(allowed("toolClearance: {banlist: ['FS__re*']}", reads), words(&[]));
    assert_eq!(allowed("toolClearance: {banlist: [fs__read]}", all_files), words(&["fs__*"]));
    assert_eq!(allowed("toolClearance: {allowlist: ['fs__*']}", PLAIN), words(&["fs__*"]));
    assert_eq!(allowed("toolClearance: {banlist: [write]}", PLAIN), None);
}

#[test]
fn a_contract_names_everything_that_an_attempt_may_use() {
    let actors = "  first: {type: agent, models: [one, two, three], working_dir: ./in/here, max_tokens: 900, \
                  max_agent_iterations: 7}\n  second: {type: agent, model: four}\n";
    let hands_out = json!({"status": "success", "children": [{"persona": "hand", "task": "1"}]});
    let (_, world) = run(&team("", actors), vec![("x/try[1]", says(hands_out))]);
    let lead = contract(&world, "x/try[1]");
    assert_eq!((lead.model.as_str(), lead.other_models), ("one", vec!["two".to_owned(), "three".to_owned()]));
    assert_eq!(lead.working_dir.as_deref(), Some("/simulated/in/here"));
    assert_eq!((lead.max_tokens, lead.max_iterations), (Some(900), Some(7)));
    assert_eq!(lead.servers, ["fs", "git"]);
    assert!(lead.provider.is_some_and(|name| !name.is_empty()));
    let hand = contract(&world, "x/child[1.1]");
    assert_eq!((hand.model.as_str(), hand.other_models.len()), ("four", 0));
    assert_eq!(hand.working_dir.as_deref(), Some("/simulated"), "where nothing is stated, where the run is");
    assert_eq!((hand.max_tokens, hand.max_iterations), (Some(4096), Some(50)));
}

#[test]
fn a_child_has_the_bounds_of_its_own_actor() {
    let actors = "  first: {type: agent, timeout: 50s}\n  second: {type: agent, timeout: 20s, max_session_seconds: 5}\n";
    let hands_out = json!({"status": "success", "children": [{"persona": "hand", "task": "1"}]});
    let (_, world) = run(&team("", actors), vec![("x/try[1]", says(hands_out))]);
    let bound = |worker: &str| contract(&world, worker).timeout_ms;
    assert_eq!(bound("x/try[1]"), Some(50_000));
    assert_eq!(bound("x/child[1.1]"), Some(5_000));
    assert_eq!(bound("x/aggregate[1]"), Some(50_000));
}

#[test]
fn what_nothing_offers_is_settled_at_once_and_what_servers_have_is_not() {
    let (_, world) = run(&manifest("x", &["x"], &[]), vec![]);
    let without = contract(&world, "x/try[1]");
    assert_eq!((without.allowed_tools, without.tools_settled), (Some(Vec::new()), true));
    let tools = |lead: &str, actors: &str| {
        let (_, world) = run(&team(lead, actors), vec![]);
        let contract = contract(&world, "x/try[1]");
        (contract.allowed_tools, contract.tools_settled)
    };
    assert_eq!(tools("", PLAIN), (None, false));
    assert_eq!(tools("", "  first: {type: agent, tools: []}\n"), (Some(Vec::new()), true));
    assert_eq!(tools("", "  first: {type: script, command: 'true'}\n"), (Some(Vec::new()), true));
    // A coding agent has tools that the engine cannot list: entries stay entries.
    let own = "  first: {type: agent, tools: [fs__read], provider: {name: acp, command: agent}}\n";
    assert_eq!(tools("", own), (Some(vec!["fs__read".to_owned()]), false));
}

#[test]
fn the_deadline_that_is_enforced_is_the_contracts() {
    let actors = "  first: {type: agent, timeout: 50s}\n";
    let hangs = |_: &Assignment| Behaviour::gives(Duration::from_secs(3600), json!({"status": "success"}));
    let mut world = World::new(team("", actors), json!({}), 4, 1, Box::new(hangs));
    assert_eq!(world.finish().status, RunStatus::Failed);
    let at = |wanted: fn(&Event) -> bool| {
        world.events().find(|stamped| wanted(&stamped.event)).map(|stamped| stamped.at).expect("it happened")
    };
    let begun = at(|event| matches!(event, Event::AttemptStarted { .. }));
    let stopped = at(|event| matches!(event, Event::CancelRequested { .. }));
    let allowed = contract(&world, "x/try[1]").timeout_ms.expect("a bound");
    assert_eq!((stopped.since(begun).as_millis() as u64, allowed), (50_000, 50_000));
}

#[test]
fn a_contract_names_every_budget_that_is_drawn_from_and_no_other() {
    let limits =
        "limits: {budget_tokens: 90000, budget_mode: enforce, when_spent: degrade, degrade_to: small}\n";
    let nodes = ["x personaId: a, budget: {tokens: 5000}", "y personaId: b"];
    let plan = with("x", &nodes, &["x y"], limits);
    let hands_out = json!({"status": "success", "children": [{"persona": "b", "task": "1"}]});
    let (_, world) = run(&plan, vec![("x/try[1]", says(hands_out))]);
    let mut scheduler = convoke_schedule::Scheduler::new(plan);
    let mut looked = 0;
    for stamped in world.events() {
        scheduler.apply(stamped).expect("it happened");
        if let Event::ContractResolved { task, contract, .. } = &stamped.event {
            let (scopes, _) = scheduler.budget_scopes_of(task);
            let drawn: Vec<_> = scopes.into_iter().map(convoke_model::Allowance::from).collect();
            assert_eq!(contract.budgets, drawn, "{task}");
            assert_eq!(contract.cheaper_models, ["small"], "{task}");
            looked += 1;
        }
    }
    assert_eq!(looked, 4);
    let named = |worker: &str| {
        let budgets = contract(&world, worker).budgets;
        budgets.into_iter().map(|allowance| allowance.name).collect::<Vec<_>>()
    };
    assert_eq!(named("x/try[1]"), ["budget of step x", "budget of the run"]);
    assert_eq!(named("y/try[1]"), ["budget of the run"]);
}

#[test]
fn a_violation_is_told_in_the_output_also_where_the_next_try_succeeds() {
    let script = || vec![("x/try[1]", Does::Fails(Class::Security))];
    let told = |plan: &Arc<Plan>| run(plan, script()).0.output.expect("its report")["violations"].clone();
    let first = json!([{
        "phase": "x", "try": 1, "task": "x/try[1]", "persona": "lead", "reason": "simulated security",
    }]);
    assert_eq!(told(&team("", PLAIN)), first);
    let lenient = format!("{PLAIN}violationMode: validation_fail\n");
    assert_eq!(told(&team("", &lenient)), first);
    let (ended, world) = run(&team("", &lenient), script());
    assert_eq!((ended.status, world.launches.len()), (RunStatus::Succeeded, 2));
    let said = says(json!({"status": "failure", "failure_code": "security", "reason": "it left its folder"}));
    let (ended, _) = run(&team("", PLAIN), vec![("x/try[1]", said)]);
    assert_eq!(ended.output.expect("its report")["violations"][0]["reason"], "it left its folder");
    assert_eq!(run(&team("", PLAIN), vec![]).0.output.expect("its report").get("violations"), None);
}
