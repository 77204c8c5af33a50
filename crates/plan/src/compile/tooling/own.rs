//! Tools of our own: which agents have them, and lists that name them wrongly.
//!
//! They stand behind one server that no file declares. An agent has those of them that its list names and no others, so `*` is never
//! one of them; an agent that has nothing else needs no other server.

use super::super::load::Bundle;
use super::servers::{called_by, owner};
use crate::check::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::own_tools;
use crate::source::settings::McpServer;
use crate::source::text::Spanned;
use crate::source::workflow::{Clearance, Entry, Step, ToolStep};
use crate::suggest;
use convoke_model::{
    OWN_GROUPS, OWN_SERVER, OwnEntry, PolicySource, SHELL_TOOL, Server, Servers, Transport, named_in_full,
    own_entry, own_tool, own_tools as all,
};
use indexmap::IndexMap;
use std::sync::Arc;

type Declared = IndexMap<String, Entry<McpServer>>;

/// Writes full names for our tools into every list, and says which entries mean something else than they seem to.
pub(in crate::compile) fn settle(bundle: &mut Bundle, findings: &mut Vec<Diagnostic>) {
    for ix in 0..bundle.workflows.len() {
        let declared = owner(bundle, &bundle.workflows[ix]).runtime.mcp_servers.clone();
        let workflow = &bundle.workflows[ix];
        findings.extend(workflow.runtime.mcp_servers.get(OWN_SERVER).map(reserved));
        let outline = Outline::new(workflow);
        let steps = workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
        let lists = workflow.tools.iter().chain(steps.filter_map(called_by));
        findings.extend(lists.flatten().filter_map(|name| judged(name, &declared)));
        own_tools::settle(&mut bundle.workflows[ix], &declared);
    }
}

/// The servers of an agent with this list: ours too where it names tools of ours, and only ours where it names nothing else.
pub(in crate::compile) fn with_own(
    servers: &Arc<Servers>,
    tools: Option<&[String]>,
    policies: Vec<PolicySource>,
) -> Arc<Servers> {
    let Some(entries) = tools else { return servers.clone() };
    let named = named_in_full(entries);
    if named.is_empty() {
        return servers.clone();
    }
    let is_ours = |entry: &String| matches!(own_entry(entry), OwnEntry::Tools { bare: false, .. });
    let others = match entries.iter().all(is_ours) {
        true => Servers::default(),
        false => (**servers).clone(),
    };
    let own = (OWN_SERVER.to_owned(), own_server(named, policies));
    Arc::new(std::iter::once(own).chain(others).collect())
}

/// The servers of a persona's worker. Where lists of it name tools of ours, all of ours stand behind its contract: a call of one that
/// it does not admit is a violation and no mistake.
pub(in crate::compile) fn with_own_of_persona(
    servers: &Arc<Servers>,
    tools: Option<&[String]>,
    clearance: &Clearance,
    policies: Vec<PolicySource>,
) -> Arc<Servers> {
    let Some(entries) = tools else { return servers.clone() };
    let stated = clearance.allow.iter().flatten().chain(&clearance.ban).map(|name| &name.value);
    let is_ours = |entry: &String| matches!(own_entry(entry), OwnEntry::Tools { bare: false, .. });
    if !entries.iter().chain(stated).any(is_ours) {
        return servers.clone();
    }
    let own = (OWN_SERVER.to_owned(), own_server(all().map(str::to_owned).collect(), policies));
    Arc::new(std::iter::once(own).chain((**servers).clone()).collect())
}

/// Our server, with these tools under these policies.
pub(in crate::compile) fn own_server(tools: Vec<String>, policies: Vec<PolicySource>) -> Server {
    Server { transport: Transport::Own { policies, protect: Vec::new() }, timeout: None, tools: Some(tools) }
}

/// Whether an entry is about tools of ours, which need no server.
pub(in crate::compile) fn is_own(name: &Spanned<String>) -> bool {
    matches!(own_entry(&name.value), OwnEntry::Tools { bare: false, .. } | OwnEntry::Unknown)
}

/// Whether a step calls a tool of ours.
pub(in crate::compile) fn is_called(tool: &ToolStep) -> bool {
    tool.server.as_ref().is_some_and(|server| server.value == OWN_SERVER)
}

/// A step that calls a tool of ours that there is not.
pub(in crate::compile) fn wrong_call(step: &Step, tool: &ToolStep) -> Option<Diagnostic> {
    let wanted = tool.tool.as_ref()?;
    // Which commands run is written down as scripts; the shell is for those that agents choose.
    let names: Vec<&str> = all().filter(|name| *name != SHELL_TOOL).collect();
    if names.contains(&wanted.value.as_str()) {
        return None;
    }
    let message = format!(
        "step `{}` calls the tool `{}`, which is none of Convoke's own",
        step.name.value, wanted.value
    );
    let found = Diagnostic::error("workflow::unknown_tool", message, wanted.span.clone(), "no such tool");
    Some(found.help(suggest::instead(&wanted.value, &names)))
}

fn reserved(server: &Entry<McpServer>) -> Diagnostic {
    let message = format!("MCP server `{OWN_SERVER}` has a reserved name");
    Diagnostic::error("workflow::reserved_name", message, server.key.span.clone(), "reserved")
        .help("Convoke's own tools stand under this name (`convoke__read_file`); choose another")
}

fn judged(name: &Spanned<String>, declared: &Declared) -> Option<Diagnostic> {
    match own_entry(&name.value) {
        OwnEntry::Unknown => Some(unknown(name)),
        OwnEntry::Tools { bare: true, .. } => shadowed(name, declared),
        _ => None,
    }
}

fn unknown(name: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is none of Convoke's own tools", name.value);
    let known: Vec<String> = all().chain(OWN_GROUPS).map(own_tool).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Diagnostic::error("workflow::unknown_tool", message, name.span.clone(), "no such tool")
        .help(suggest::instead(&name.value, &known))
}

/// A name of ours that a server may offer too, without a list that says so.
fn shadowed(name: &Spanned<String>, declared: &Declared) -> Option<Diagnostic> {
    let is_stated = |entry: &Entry<McpServer>| {
        let tools = entry.value.tools.iter().map(|tool| tool.value.as_str());
        tools.chain(entry.value.scripts.keys().map(String::as_str)).any(|tool| tool == name.value)
    };
    if declared.values().any(is_stated) {
        return None;
    }
    let of_server = |server: &String| match *server == name.value {
        true => format!("{server}__*"),
        false => format!("{server}__{}", name.value),
    };
    let is_group = OWN_GROUPS.contains(&name.value.as_str());
    let is_open = |entry: &Entry<McpServer>| entry.value.tools.iter().any(|tool| tool.value == "*");
    let others = declared.iter().filter(|(server, _)| *server != OWN_SERVER);
    let mut may_be_meant = others.filter(|(server, entry)| match is_group {
        true => **server == name.value,
        false => is_open(entry),
    });
    let (server, _) = may_be_meant.next()?;
    let message =
        format!("`{}` stands for Convoke's own, not for what the server `{server}` offers", name.value);
    let found = Diagnostic::warning("workflow::own_tool", message, name.span.clone(), "Convoke's own");
    Some(found.help(format!(
        "write `{}` for the server's, `{}` for ours",
        of_server(server),
        own_tool(&name.value)
    )))
}
