//! Entries of tool clearances that stand for no tool, where all tools are known: those of scripts, and of servers whose `tools`
//! are listed.
//!
//! What another server has is known when it runs, and coding agents have tools of their own: there nothing is said. A ban of
//! what is not there does no harm and is often meant so; one that is nearly a tool's name leaves that tool free.

use super::super::Options;
use super::super::coders::is_program;
use super::super::load::Bundle;
use super::super::programs::providers;
use super::super::provider::Providers;
use super::super::servers;
use crate::diagnostic::Diagnostic;
use crate::source::text::Spanned;
use crate::source::workflow::{Clearance, PhaseStep, StepKind, Worker, Workflow};
use crate::suggest;
use convoke_model::clearance::ToolName;
use convoke_model::{OwnEntry, nearest, own_entry};
use std::collections::HashSet;

/// One tool: its server, and its name there.
type Tool<'a> = (&'a str, &'a str);

/// Misspelt entries of the personas of every pipeline.
pub(in crate::compile) fn check(bundle: &Bundle, options: &Options, findings: &mut Vec<Diagnostic>) {
    for (workflow, providers) in bundle.workflows.iter().zip(providers(bundle, options)) {
        let Some(tools) = known_tools(bundle, workflow) else { continue };
        let players = || phases(workflow).flat_map(PhaseStep::players);
        let unlisted = players().filter(|(_, _, worker)| has_own_tools(worker, &providers));
        let unlisted: HashSet<&str> = unlisted.map(|(persona, ..)| persona.value.as_str()).collect();
        for (persona, clearance, _) in players() {
            if !unlisted.contains(persona.value.as_str()) {
                findings.extend(misspelt(&persona.value, clearance, &tools));
            }
        }
    }
}

fn phases(workflow: &Workflow) -> impl Iterator<Item = &PhaseStep> {
    workflow.agents.iter().filter_map(|step| match &step.kind {
        StepKind::Phase(phase) => Some(&**phase),
        _ => None,
    })
}

fn has_own_tools(worker: &Worker, providers: &Providers<'_>) -> bool {
    worker.agent().is_some_and(|agent| is_program(agent, providers))
}

/// Every tool of a workflow's servers; `None` where there is no server, or one whose tools are not known.
fn known_tools<'a>(bundle: &'a Bundle, workflow: &'a Workflow) -> Option<Vec<Tool<'a>>> {
    let declared = &servers::owner(bundle, workflow).runtime.mcp_servers;
    let mut tools = Vec::new();
    for (server, entry) in declared {
        tools.extend(servers::allowed(&entry.value)?.map(|tool| (server.as_str(), tool)));
    }
    (!declared.is_empty()).then_some(tools)
}

fn misspelt(persona: &str, clearance: &Clearance, tools: &[Tool<'_>]) -> Vec<Diagnostic> {
    let nobody_has = |entry: &&Spanned<String>| {
        own_entry(&entry.value) == OwnEntry::None && !tools.iter().any(|tool| stands_for(&entry.value, *tool))
    };
    let allowed = clearance.allow.iter().flatten().filter(nobody_has);
    let allowed = allowed.map(|entry| nothing_allowed(persona, entry, tools));
    let banned = clearance.ban.iter().filter(nobody_has);
    allowed.chain(banned.filter_map(|entry| nearly_banned(persona, entry, tools))).collect()
}

fn stands_for(entry: &str, (server, name): Tool<'_>) -> bool {
    ToolName { server, name, known: &full((server, name)) }.is_in_any_case(entry)
}

fn full((server, name): Tool<'_>) -> String {
    format!("{server}__{name}")
}

fn nothing_allowed(persona: &str, entry: &Spanned<String>, tools: &[Tool<'_>]) -> Diagnostic {
    let message =
        format!("persona `{persona}`: `{}` in `allowlist` stands for no tool of any server", entry.value);
    let names = names_like(&entry.value, tools);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Diagnostic::warning("workflow::no_effect", message, entry.span.clone(), "allows nothing")
        .help(suggest::instead(&entry.value, &names))
}

fn nearly_banned(persona: &str, entry: &Spanned<String>, tools: &[Tool<'_>]) -> Option<Diagnostic> {
    let names = names_like(&entry.value, tools);
    let near = nearest(&entry.value, names.iter().map(String::as_str))?;
    let message =
        format!("persona `{persona}`: `{}` in `banlist` stands for no tool of any server", entry.value);
    let found = Diagnostic::warning("workflow::no_effect", message, entry.span.clone(), "bans nothing");
    Some(found.help(format!("did you mean `{near}`?")))
}

/// The names of the tools, with their servers where the entry names one.
fn names_like(entry: &str, tools: &[Tool<'_>]) -> Vec<String> {
    let with_server = ["__", ".", "/", ":"].iter().any(|joint| entry.contains(joint));
    tools.iter().map(|tool| if with_server { full(*tool) } else { tool.1.to_owned() }).collect()
}
