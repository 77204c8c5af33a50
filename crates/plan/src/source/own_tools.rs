//! Tools of our own in lists of tools: `files`, `shell` and single names become full names (`convoke__read_file`), so that all that
//! compares, narrows and enforces lists afterwards knows names alone.
//!
//! A bare name is our tool's, unless a server of the file states that name in its own `tools` or `scripts`: then it stays what
//! the file says. What a server without such a list may offer under the name of one of ours is not meant.

use super::settings::McpServer;
use super::text::Spanned;
use super::workflow::{
    AgentStep, Clearance, Entry, ForEachBody, Names, Step, StepKind, WorkerKind, Workflow,
};
use convoke_model::{OwnEntry, own_entry, own_tool};
use indexmap::IndexMap;

type Servers = IndexMap<String, Entry<McpServer>>;

/// The list with full names for our tools.
pub(crate) fn expanded(names: Names, servers: &Servers) -> Names {
    let mut full = Names::with_capacity(names.len());
    for name in names {
        match own_entry(&name.value) {
            OwnEntry::Tools { names: tools, bare } if !(bare && is_stated(servers, &name.value)) => {
                let tools = tools.into_iter().map(|tool| Spanned::new(own_tool(tool), name.span.clone()));
                full.extend(tools);
            }
            _ => full.push(name),
        }
    }
    let mut seen = Vec::new();
    full.retain(|name| {
        let is_new = !seen.contains(&name.value);
        seen.push(name.value.clone());
        is_new
    });
    full
}

/// The same for what is banned: a name bans our tool and those of servers alike.
pub(crate) fn banned(names: Names, servers: &Servers) -> Names {
    let full = expanded(names.clone(), servers);
    let more = full.into_iter().filter(|name| !names.iter().any(|known| known.value == name.value));
    let more: Names = more.collect();
    names.into_iter().chain(more).collect()
}

/// Writes full names into every list of a workflow. Lists that have them already stay as they are.
pub(crate) fn settle(workflow: &mut Workflow, servers: &Servers) {
    let full = |list: &mut Option<Names>| *list = list.take().map(|names| expanded(names, servers));
    full(&mut workflow.tools);
    let inline = workflow.for_each.iter_mut().filter_map(|group| match &mut group.body {
        Some(ForEachBody::Inline(step)) => Some(&mut **step),
        _ => None,
    });
    for step in workflow.agents.iter_mut().chain(inline) {
        agents(step).for_each(|agent| full(&mut agent.tools));
        for clearance in clearances(step) {
            full(&mut clearance.allow);
            clearance.ban = banned(std::mem::take(&mut clearance.ban), servers);
        }
    }
}

/// The agents of a step that work with tools.
fn agents(step: &mut Step) -> impl Iterator<Item = &mut AgentStep> {
    let agents: Vec<&mut AgentStep> = match &mut step.kind {
        StepKind::Agent(agent) => vec![agent],
        StepKind::Goal(goal) => goal.roles.values_mut().collect(),
        StepKind::Phase(phase) => {
            let below = phase.roles.iter_mut().filter_map(|role| role.worker.as_mut());
            let workers = std::iter::once(&mut phase.worker).chain(below);
            workers
                .filter_map(|worker| match &mut worker.kind {
                    WorkerKind::Agent(agent) => Some(&mut **agent),
                    WorkerKind::Script(_) => None,
                })
                .collect()
        }
        _ => Vec::new(),
    };
    agents.into_iter()
}

fn clearances(step: &mut Step) -> impl Iterator<Item = &mut Clearance> {
    let clearances: Vec<&mut Clearance> = match &mut step.kind {
        StepKind::Phase(phase) => {
            let below = phase.roles.iter_mut().map(|role| &mut role.clearance);
            std::iter::once(&mut phase.clearance).chain(below).collect()
        }
        _ => Vec::new(),
    };
    clearances.into_iter()
}

/// Whether a server of the file states that it has a tool of this name.
fn is_stated(servers: &Servers, name: &str) -> bool {
    servers.values().any(|entry| {
        let listed = entry.value.tools.iter().map(|tool| tool.value.as_str());
        let mut stated = listed.chain(entry.value.scripts.keys().map(String::as_str));
        stated.any(|stated| stated.eq_ignore_ascii_case(name))
    })
}
