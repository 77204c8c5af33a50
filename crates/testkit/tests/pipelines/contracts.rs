//! What workers may use and how long they may take: the contract of each attempt.

use super::kit::*;
use convoke_model::{Class, Contract, Event, RunStatus};
use convoke_plan::Plan;
use convoke_testkit::{World, plan_of};
use serde_json::json;
use std::sync::Arc;

/// One phase of `lead`, who may hand work to `hand`; both are played by actors of their own.
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
