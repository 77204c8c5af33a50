//! `role: org:FILE#ROLE` in workflows, manifests and persona manifests.

use super::super::workflow::{StepKind, WorkerKind};
use super::super::{Organisation, OrganisationRole, Workflow, read_workflow};
use super::{Memory, assert_one, line, messages};
use crate::diagnostic::{Diagnostic, Severity};
use serde_json::json;

fn world() -> Memory {
    let role = |id: &str| OrganisationRole {
        iri: format!("https://firm.example/#{id}"),
        names: vec![id.to_owned(), format!("https://firm.example/#{id}")],
        tools: vec!["wiki__*".to_owned(), "desk__answer".to_owned()],
        servers: vec![("wiki".to_owned(), json!({"command": "wiki-mcp", "args": []}))],
        ..OrganisationRole::default()
    };
    let lawyer = OrganisationRole {
        label: Some("the lawyer".to_owned()),
        department: Some(("https://firm.example/#law".to_owned(), "Law".to_owned())),
        task: Some("Judge the contract.".to_owned()),
        system_prompt: Some("You know the law.".to_owned()),
        success_criteria: Some("names a law".to_owned()),
        model: Some("openai:gpt-5-mini".to_owned()),
        timeout_seconds: Some(300),
        max_retries: Some(1),
        max_tokens: Some(900),
        budget_usd: Some(0.5),
        ..role("lawyer")
    };
    let firm = Organisation {
        company: Some("https://firm.example/#firm".to_owned()),
        roles: vec![lawyer, role("clerk")],
    };
    Memory::default().organisation(firm).file("firm.ttl", "whatever").file("broken.ttl", "is\nbroken")
}

fn read_in(world: Memory, text: &str) -> (Option<Workflow>, Vec<Diagnostic>) {
    read_workflow("flows/w.yaml", &world.file("flows/w.yaml", text))
}

fn good(text: &str) -> Workflow {
    let (workflow, findings) = read_in(world(), text);
    let errors: Vec<_> = findings.into_iter().filter(|one| one.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{}\n{text}", messages(&errors));
    workflow.expect("it can be read")
}

/// One step beside which nothing is said.
fn of_workflow(step: &str) -> Workflow {
    good(&format!("workflow: {{name: w, entry_point: a}}\nagents:\n  - {{name: a, {step}}}\n"))
}

#[test]
fn a_step_takes_everything_from_its_role() {
    let workflow = of_workflow("role: 'org:../firm.ttl#lawyer'");
    let step = &workflow.agents[0];
    let StepKind::Agent(agent) = &step.kind else { panic!("{step:?}") };
    let text = |text: &Option<super::super::Text>| text.as_ref().map(|text| text.value.clone());
    assert_eq!(text(&agent.prompt).as_deref(), Some("Judge the contract."));
    assert_eq!(text(&agent.system_prompt).as_deref(), Some("You know the law."));
    assert_eq!(text(&agent.model).as_deref(), Some("gpt-5-mini"));
    assert_eq!(agent.provider.as_ref().unwrap().name.value, "openai");
    let tools: Vec<&str> = agent.tools.iter().flatten().map(|tool| tool.value.as_str()).collect();
    assert_eq!(tools, ["wiki__*", "desk__answer"]);
    assert_eq!(agent.success_criteria.as_ref().unwrap().criteria.value, "names a law");
    assert_eq!(agent.max_tokens.as_ref().unwrap().value, 900);
    assert_eq!(step.common.timeout.as_ref().unwrap().value.as_secs(), 300);
    assert_eq!(step.common.retry.as_ref().unwrap().max_attempts, 2);
    assert!(step.common.budget.is_some());
    assert_eq!(workflow.runtime.mcp_servers.keys().collect::<Vec<_>>(), ["wiki"]);
    assert_eq!(workflow.role_servers, ["wiki"]);
    assert_eq!(workflow.metadata["org"]["roles"], json!({"a": "https://firm.example/#lawyer"}));
    assert_eq!(workflow.metadata["org"]["departments"], json!({"a": "https://firm.example/#law"}));
    assert_eq!(workflow.metadata["org"]["company"], "https://firm.example/#firm");
}

#[test]
fn what_the_step_says_itself_wins() {
    let stated = "role: 'org:../firm.ttl#lawyer', prompt: Mine, model: m, tools: [], timeout_seconds: 7, \
                  retry: {max_attempts: 5}, budget: {usd: 9}, description: d";
    let workflow = of_workflow(stated);
    let step = &workflow.agents[0];
    let StepKind::Agent(agent) = &step.kind else { panic!("{step:?}") };
    assert_eq!(agent.prompt.as_ref().unwrap().value, "Mine");
    assert_eq!((agent.model.as_ref().unwrap().value.as_str(), agent.provider.is_none()), ("m", true));
    assert_eq!(agent.tools.as_ref().unwrap().len(), 0);
    assert_eq!(step.common.retry.as_ref().unwrap().max_attempts, 5);
    assert_eq!(step.common.description.as_ref().unwrap().value, "d");
    assert!(workflow.runtime.mcp_servers.is_empty(), "none of its tools is used");
}

#[test]
fn servers_of_the_file_go_before_those_of_roles() {
    let workflow = good(
        "workflow: {name: w, entry_point: a, runtime: {mcp_servers: {wiki: {command: ours}}}, metadata: {x: 1}}\n\
         agents:\n  - {name: a, role: 'org:../firm.ttl#clerk', prompt: p}\n",
    );
    assert_eq!(workflow.runtime.mcp_servers["wiki"].value.command.as_ref().unwrap().value, "ours");
    assert!(workflow.role_servers.is_empty());
    assert_eq!(workflow.metadata["x"], 1);
}

#[test]
fn the_body_of_a_fan_out_and_members_of_teams_have_roles_too() {
    let workflow = good(
        "workflow: {name: w, entry_point: each}\nagents: [{name: z, prompt: p}]\nfor_each:\n  - name: each\n    type: for_each\n    \
         items: [1]\n    as: x\n    agent: {name: a, role: 'org:../firm.ttl#lawyer'}\n",
    );
    assert_eq!(workflow.metadata["org"]["roles"], json!({"a": "https://firm.example/#lawyer"}));
    let team = good(
        "goal: g\nmembers:\n  - {name: a, role: 'org:../firm.ttl#lawyer'}\n  - {name: b, role: critic}\n",
    );
    let StepKind::Agent(agent) = &team.agents[0].kind else { panic!("{:?}", team.agents[0]) };
    assert_eq!(agent.system_prompt.as_ref().unwrap().value, "You know the law.");
    assert_eq!(team.agents[0].common.description.as_ref().unwrap().value, "the lawyer");
    assert_eq!(team.runtime.mcp_servers.len(), 1);
}

#[test]
fn a_persona_takes_its_prompt_model_and_clearance_and_its_phase_the_limits() {
    let workflow = good(
        "schemaVersion: '1'\npersonas:\n  - {id: p, role: 'org:../firm.ttl#lawyer'}\n\
         pipeline: {entryNodeId: n, nodes: [{id: n, actorId: x, personaId: p}]}\nactors: {x: {timeout: 9s}}\n",
    );
    let StepKind::Phase(phase) = &workflow.agents[0].kind else { panic!("{:?}", workflow.agents[0]) };
    let WorkerKind::Agent(agent) = &phase.worker.kind else { panic!("{phase:?}") };
    let prompt = &agent.system_prompt.as_ref().unwrap().value;
    assert_eq!(prompt, "You know the law.\n\nJudge the contract.\n\nWhat your work must meet: names a law");
    assert_eq!(agent.model.as_ref().unwrap().value, "gpt-5-mini");
    let allowed: Vec<&str> = phase.clearance.allow.iter().flatten().map(|tool| tool.value.as_str()).collect();
    assert_eq!(allowed, ["wiki__*", "desk__answer"]);
    assert_eq!(phase.worker.common.timeout.as_ref().unwrap().value.as_secs(), 9, "the actor says it");
    assert_eq!(phase.worker.common.retry.as_ref().unwrap().max_attempts, 2);
    assert_eq!(workflow.metadata["org"]["roles"].as_object().unwrap().len(), 2);
}

#[test]
fn what_leads_nowhere_is_one_finding_at_its_place() {
    let cases = [
        ("org:../firm.ttl#lawyre", "org::unknown_role", "did you mean `lawyer`?"),
        ("org:../firm.ttl", "org::unknown_role", "org:FILE#ROLE"),
        ("org:../gone.ttl#lawyer", "file::missing", "`gone.ttl` does not exist"),
        ("critic", "workflow::unknown_value", "org:FILE#ROLE"),
    ];
    for (role, code, words) in cases {
        let text =
            format!("workflow: {{name: w, entry_point: a}}\nagents:\n  - name: a\n    role: '{role}'\n");
        let (_, findings) = read_in(world(), &text);
        assert_one(&findings, code, &[words], role);
        assert_eq!(line(&findings[0]), 4, "{role}");
    }
    let personas = "schemaVersion: '1'\npersonas:\n  - {id: p, role: 'org:../firm.ttl#lawyre'}\n\
                    pipeline: {entryNodeId: n, nodes: [{id: n, actorId: x, personaId: p}]}\n";
    assert_one(&read_in(world(), personas).1, "org::unknown_role", &["lawyer"], "a persona");
}

#[test]
fn a_broken_organisation_is_refused_with_what_is_wrong_in_it() {
    let text =
        "agents:\n  - {id: a, role: 'org:../broken.ttl#x'}\n  - {id: b, role: 'org:../broken.ttl#x'}\n";
    let (_, findings) = read_in(world(), text);
    let found: Vec<_> =
        findings.iter().map(|one| (one.code, one.labels[0].span.file.path.as_str())).collect();
    assert_eq!(found, [("org::refused", "flows/w.yaml"), ("workflow::wrong_type", "broken.ttl")]);
    assert_eq!(line(&findings[1]), 2);
}

/// A path that leads to a file of another kind must not end up on a terminal.
#[test]
fn a_file_that_is_no_organisation_is_not_quoted() {
    let world = world().file("flows/key", "sk-secret\nbroken");
    let (_, findings) = read_in(world, "agents:\n  - {id: a, role: 'org:key#x'}\n");
    let of_key = findings.iter().find(|one| one.code == "workflow::wrong_type").unwrap();
    assert!(!of_key.labels[0].span.file.text.contains("sk-"), "{of_key:?}");
}

#[test]
fn a_world_without_organisations_says_so() {
    let world = Memory::default().file("firm.ttl", "x");
    let (_, findings) = read_in(world, "agents:\n  - {id: a, role: 'org:../firm.ttl#lawyer'}\n");
    assert_one(&findings, "org::refused", &["knows no organisations"], "no world");
}

#[test]
fn a_role_that_is_only_a_word_stays_one() {
    let workflow = good("agents:\n  - {id: a, role: organiser, task: t}\n");
    assert_eq!(workflow.agents[0].common.description.as_ref().unwrap().value, "organiser");
    assert!(!workflow.metadata.contains_key("org"));
}
