//! MCP servers: which a workflow has, and whether its steps name them rightly.
//!
//! A sub-workflow that declares none has the root's, as with providers, so this looks at a whole bundle. What a server
//! really offers is known when it runs; here only what the files say about it counts.

use super::super::load::Bundle;
use super::own;
use crate::check::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::plan::covers;
use crate::source::join_beside;
use crate::source::settings::{McpServer, McpTransport, ScriptTool as ScriptSource};
use crate::source::text::Spanned;
use crate::source::workflow::{Entry, References, Step, StepKind, ToolStep, Workflow};
use crate::suggest;
use convoke_model::{JsonText, OWN_GROUPS, Role, ScriptTool, Server, Servers, Transport, nearest, own_tools};
use indexmap::IndexMap;
use serde_json::json;
use std::sync::Arc;

type Declared = IndexMap<String, Entry<McpServer>>;

/// The word for every tool of a server.
const ALL: &str = "*";

/// The workflow whose servers a workflow has.
pub(in crate::compile) fn owner<'a>(bundle: &'a Bundle, workflow: &'a Workflow) -> &'a Workflow {
    if workflow.runtime.mcp_servers.is_empty() { &bundle.workflows[0] } else { workflow }
}

/// The servers of a workflow.
pub(in crate::compile) fn servers(bundle: &Bundle, workflow: &Workflow) -> Servers {
    let owner = owner(bundle, workflow);
    let servers = owner.runtime.mcp_servers.iter();
    servers.map(|(name, entry)| (name.clone(), server(owner, &entry.value))).collect()
}

/// Those of the servers that did not come with roles.
pub(in crate::compile) fn open(bundle: &Bundle, workflow: &Workflow, servers: &Arc<Servers>) -> Arc<Servers> {
    let of_roles = &owner(bundle, workflow).role_servers;
    match of_roles.is_empty() {
        true => servers.clone(),
        false => {
            let open = servers.iter().filter(|(name, _)| !of_roles.contains(name));
            Arc::new(open.map(|(name, server)| (name.clone(), server.clone())).collect())
        }
    }
}

/// The list of tools that holds for agents without one: the workflow's, or the root's where its servers are used.
pub(in crate::compile) fn tools<'a>(
    bundle: &'a Bundle,
    workflow: &'a Workflow,
) -> Option<&'a Vec<Spanned<String>>> {
    workflow.tools.as_ref().or(owner(bundle, workflow).tools.as_ref())
}

/// The server that a step calls: the one it names, or the only one.
pub(in crate::compile) fn called(servers: &Servers, step: &ToolStep) -> String {
    let named = step.server.as_ref().map(|name| name.value.clone());
    named.or_else(|| servers.keys().next().cloned()).unwrap_or_default()
}

fn server(owner: &Workflow, source: &McpServer) -> Server {
    Server {
        transport: match source.transport.value {
            McpTransport::Stdio => stdio(owner, source),
            McpTransport::Http | McpTransport::Sse => {
                let url = source.url.as_ref().map(|url| url.raw.value.clone()).unwrap_or_default();
                Transport::Http { url, headers: references(&source.headers) }
            }
            McpTransport::Scripts => scripts(owner, source),
        },
        timeout: source.timeout.as_ref().map(|timeout| timeout.value),
        tools: allowed(source).map(|names| names.map(str::to_owned).collect()),
    }
}

fn stdio(owner: &Workflow, source: &McpServer) -> Transport {
    let dir = source.working_dir.as_ref().map_or(".", |dir| &dir.value);
    Transport::Stdio {
        command: text(source.command.as_ref()),
        args: source.args.iter().map(|arg| arg.raw.value.clone()).collect(),
        env: given(&source.env, source.secrets.iter()),
        working_dir: Some(folder(join_beside(&owner.path, dir))),
    }
}

fn scripts(owner: &Workflow, source: &McpServer) -> Transport {
    let dir = source.working_dir.as_ref().map_or(".", |dir| &dir.value);
    let tool = |(name, entry): (&String, &Entry<ScriptSource>)| ScriptTool {
        name: name.clone(),
        description: text(entry.value.description.as_ref()),
        command: text(entry.value.command.as_ref()),
        args: entry.value.args.iter().map(|arg| arg.raw.value.clone()).collect(),
        input: JsonText::of(entry.value.input.as_ref().unwrap_or(&json!({ "type": "object" }))),
        output: entry.value.output.as_ref().map(JsonText::of),
        repeatable: entry.value.idempotent,
    };
    Transport::Scripts {
        scripts: source.scripts.iter().map(tool).collect(),
        env: given(&source.env, source.secrets.iter()),
        working_dir: Some(folder(join_beside(&owner.path, dir))),
    }
}

/// The folder that a run is started in has no name of its own.
fn folder(path: String) -> String {
    if path.is_empty() { ".".to_owned() } else { path }
}

fn text(text: Option<&Spanned<String>>) -> String {
    text.map(|text| text.value.clone()).unwrap_or_default()
}

/// Values as written: they are looked up when whatever they are for is started.
pub(in crate::compile) fn references(source: &References) -> Vec<(String, String)> {
    source.iter().map(|(name, entry)| (name.clone(), entry.value.raw.value.clone())).collect()
}

/// The same with secrets that are given under their own names.
pub(in crate::compile) fn given<'s>(
    source: &References,
    secrets: impl Iterator<Item = &'s Spanned<String>>,
) -> Vec<(String, String)> {
    let mut given = references(source);
    for name in secrets.map(|name| &name.value) {
        if !given.iter().any(|(known, _)| known == name) {
            given.push((name.clone(), format!("${{{name}}}")));
        }
    }
    given
}

/// The tools that may be used; `None` means all, whatever they are called.
pub(in crate::compile) fn allowed(server: &McpServer) -> Option<impl Iterator<Item = &str>> {
    let all = server.tools.iter().any(|name| name.value == ALL);
    let stated = server.tools.iter().map(|name| name.value.as_str()).filter(move |_| !all);
    // Scripts stand in the file, so their names are known.
    let scripts = server.scripts.keys().map(String::as_str).filter(move |_| all);
    (!all || !server.scripts.is_empty()).then(|| stated.chain(scripts))
}

/// Servers and tools that steps name and that do not exist.
pub(in crate::compile) fn check(bundle: &Bundle, findings: &mut Vec<Diagnostic>) {
    for workflow in &bundle.workflows {
        let declared = &owner(bundle, workflow).runtime.mcp_servers;
        let outline = Outline::new(workflow);
        let steps = || workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
        for step in steps() {
            if let StepKind::Tool(tool) = &step.kind {
                findings.extend(wrong_call(declared, step, tool));
            }
        }
        let named = || workflow.tools.iter().chain(steps().filter_map(called_by)).flatten();
        let named = || named().filter(|tool| !own::is_own(tool));
        match declared.is_empty() {
            true => findings.extend(named().next().map(|tool| nobody_offers(workflow, tool))),
            false => findings.extend(named().filter_map(|tool| left_out(declared, tool))),
        }
    }
}

/// The list of an agent, or of those that do a goal's tasks.
pub(in crate::compile) fn called_by(step: &Step) -> Option<&Vec<Spanned<String>>> {
    match &step.kind {
        StepKind::Agent(agent) => agent.tools.as_ref(),
        StepKind::Goal(goal) => goal.roles.get(&Role::Execute)?.tools.as_ref(),
        _ => None,
    }
}

fn nobody_offers(workflow: &Workflow, tool: &Spanned<String>) -> Diagnostic {
    let (what, key) = match workflow.is_manifest() {
        true => ("manifest", "mcp_servers"),
        false => ("workflow", "runtime.mcp_servers"),
    };
    let message = format!("the tool `{}` has no effect: the {what} declares no MCP server", tool.value);
    let own: Vec<&str> = own_tools().chain(OWN_GROUPS).collect();
    let near = nearest(&tool.value, own).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Diagnostic::warning("workflow::no_effect", message, tool.span.clone(), "no server offers it")
        .help(format!("{near}servers stand in `{key}`; models answer without tools here"))
}

/// A name that no server can have a tool for, because the lists of the servers leave it out.
fn left_out(declared: &Declared, name: &Spanned<String>) -> Option<Diagnostic> {
    if declared.iter().any(|server| may_offer(declared, server, &name.value)) {
        return None;
    }
    let allowed = declared.values().filter_map(|entry| allowed(&entry.value)).flatten();
    let allowed: Vec<&str> = allowed.collect();
    let message = format!("the tool `{}` has no effect: `tools` of its server leaves it out", name.value);
    let found = Diagnostic::warning("workflow::no_effect", message, name.span.clone(), "may not be used");
    Some(found.help(suggest::instead(&name.value, &allowed)))
}

/// Whether a server may have a tool that a name stands for: `tool`, `server__tool` or `server.tool`, or with a `*`, in any case.
fn may_offer(declared: &Declared, (server, entry): (&String, &Entry<McpServer>), name: &str) -> bool {
    let name = name.to_lowercase();
    let is_of = |server: &str| {
        let rest = name.strip_prefix(&server.to_lowercase());
        rest.is_some_and(|rest| rest.starts_with("__") || rest.starts_with('.'))
    };
    match allowed(&entry.value) {
        // What a server without a list has is known when it runs; a name that begins with another's is not meant.
        None => is_of(server) || !declared.keys().any(|other| is_of(other)),
        Some(mut allowed) => allowed.any(|tool| {
            [tool.to_owned(), format!("{server}__{tool}"), format!("{server}.{tool}")]
                .iter()
                .any(|full| covers(&name, &full.to_lowercase()))
        }),
    }
}

fn wrong_call(declared: &Declared, step: &Step, tool: &ToolStep) -> Option<Diagnostic> {
    if own::is_called(tool) {
        return own::wrong_call(step, tool);
    }
    match (&tool.server, declared.len()) {
        (_, 0) => Some(no_server(step, tool)),
        (None, 1) => wrong_tool(declared.first()?, step, tool),
        (None, _) => Some(which_server(declared, step)),
        (Some(name), _) => match declared.get_key_value(&name.value) {
            Some(server) => wrong_tool(server, step, tool),
            None => Some(unknown_server(declared, step, name)),
        },
    }
}

/// A warning: a file without servers may be there to be run by one that has them. Alone it cannot start.
fn no_server(step: &Step, tool: &ToolStep) -> Diagnostic {
    let message = format!("step `{}` calls a tool, and the workflow declares no MCP server", step.name.value);
    let place = tool.server.as_ref().or(tool.tool.as_ref()).unwrap_or(&step.name).span.clone();
    Diagnostic::warning("workflow::unknown_server", message, place, "no server has this name here")
        .help("declare the server in `runtime.mcp_servers`, or run this file from a workflow that does")
}

fn which_server(declared: &Declared, step: &Step) -> Diagnostic {
    let message = format!("step `{}` has no `server`, and there are several", step.name.value);
    let names: Vec<&str> = declared.keys().map(String::as_str).collect();
    Diagnostic::error("workflow::missing_key", message, step.name.span.clone(), "`server` is required here")
        .help(format!("available: {}", names.join(", ")))
}

fn unknown_server(declared: &Declared, step: &Step, name: &Spanned<String>) -> Diagnostic {
    let message =
        format!("step `{}` calls the server `{}`, which is not declared", step.name.value, name.value);
    let names: Vec<&str> = declared.keys().map(String::as_str).collect();
    Diagnostic::error("workflow::unknown_server", message, name.span.clone(), "no such MCP server")
        .help(suggest::instead(&name.value, &names))
}

/// A tool that the list of its server leaves out.
fn wrong_tool(
    (name, entry): (&String, &Entry<McpServer>),
    step: &Step,
    tool: &ToolStep,
) -> Option<Diagnostic> {
    let wanted = tool.tool.as_ref()?;
    let allowed: Vec<&str> = allowed(&entry.value)?.collect();
    if allowed.contains(&wanted.value.as_str()) {
        return None;
    }
    let message = format!(
        "step `{}` calls the tool `{}`, which `tools` of the server `{name}` leaves out",
        step.name.value, wanted.value
    );
    let found = Diagnostic::error("workflow::unknown_tool", message, wanted.span.clone(), "may not be used");
    Some(found.help(suggest::instead(&wanted.value, &allowed)))
}
