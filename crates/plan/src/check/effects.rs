//! Things that are written and do nothing: empty prompts, keys of other vendors, tools that no server offers.

use super::earlier::steps;
use super::outline::Outline;
use crate::diagnostic::{Diagnostic, Span};
use crate::plan::covers;
use crate::source::settings::{McpServer, McpTransport};
use crate::source::workflow::{AgentStep, Step, StepKind};
use crate::suggest;

/// Agents one by one, then the workflow's own settings.
pub(super) fn check(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let steps = outline.workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
    for step in steps {
        if let StepKind::Agent(agent) = &step.kind {
            prompt(step, agent, findings);
            vendor_keys(step, agent, findings);
            tools(outline, step, agent, findings);
        }
    }
    dependency_outputs(outline, findings);
    runtime(outline, findings);
}

fn prompt(step: &Step, agent: &AgentStep, findings: &mut Vec<Diagnostic>) {
    if agent.prompt.as_ref().is_some_and(|prompt| !prompt.value.trim().is_empty()) {
        return;
    }
    let place = agent.prompt.as_ref().map_or(&step.name.span, |prompt| &prompt.span);
    let message = format!("agent `{}` has an empty prompt", step.name.value);
    let help = match agent.system_prompt {
        Some(_) => "a system prompt alone asks for nothing",
        None => "the model is asked nothing",
    };
    findings
        .push(Diagnostic::warning("workflow::empty_prompt", message, place.clone(), "no prompt").help(help));
}

/// Without needs, there is nothing that could stand behind the prompt. A member has those of its group.
fn dependency_outputs(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    for who in steps(outline) {
        let StepKind::Agent(agent) = &who.step.kind else { continue };
        let Some(stated) = agent.dependency_outputs.as_ref() else { continue };
        if !who.step.common.needs.is_empty() || outline.waits(who.at) {
            continue;
        }
        let message = format!("{}: `dependency_outputs` has no effect without `needs`", who.owner);
        let found =
            Diagnostic::warning("workflow::no_effect", message, stated.span.clone(), "depends on nothing");
        findings.push(found.help("outputs of steps that routes come from are read by templates"));
    }
}

fn vendor_keys(step: &Step, agent: &AgentStep, findings: &mut Vec<Diagnostic>) {
    let keys = [
        ("session_key", agent.session_key.as_ref().map(|key| &key.span)),
        ("context_tier", agent.context_tier.as_ref().map(|tier| &tier.span)),
        ("sandbox", agent.sandbox.as_ref().map(|sandbox| &sandbox.span)),
        ("dialog", agent.dialog.as_ref().map(|dialog| &dialog.span)),
        (
            "plugins",
            agent.plugins.as_ref().and_then(|plugins| plugins.first()).map(|plugin| &plugin.name.span),
        ),
    ];
    for (key, span) in keys {
        findings.extend(span.map(|span| no_effect(&format!("agent `{}`", step.name.value), key, span)));
    }
}

fn runtime(outline: &Outline<'_>, findings: &mut Vec<Diagnostic>) {
    let runtime = &outline.workflow.runtime;
    let keys = [
        ("default_context_tier", runtime.default_context_tier.as_ref().map(|tier| &tier.span)),
        ("plugins", runtime.plugins.iter().flatten().next().map(|plugin| &plugin.name.span)),
        ("plugin_sources", runtime.plugin_sources.first().map(|(_, source)| &source.key.span)),
    ];
    for (key, span) in keys {
        findings.extend(span.map(|span| no_effect("runtime", key, span)));
    }
    findings.extend(runtime.tool_output.spill_dir.as_ref().map(|dir| spill_dir(&dir.span)));
    for (name, server) in &runtime.mcp_servers {
        findings.extend(transport(name, &server.value));
    }
}

fn spill_dir(span: &Span) -> Diagnostic {
    let message = "runtime: `spill_dir` has no effect here";
    Diagnostic::warning("workflow::no_effect", message, span.clone(), "known, and without effect")
        .help("results that are too long for a model are kept in the journal")
}

fn transport(name: &str, server: &McpServer) -> Option<Diagnostic> {
    let sse = (server.transport.value == McpTransport::Sse).then_some(&server.transport.span)?;
    let message = format!("MCP server `{name}`: streamable HTTP is spoken instead of `sse`");
    let found = Diagnostic::warning("workflow::no_effect", message, sse.clone(), "read as `http`");
    Some(found.help("most servers that had `sse` answer at another path now, often `/mcp`"))
}

fn no_effect(owner: &str, key: &str, span: &Span) -> Diagnostic {
    let message = format!("{owner}: `{key}` has no effect here");
    Diagnostic::warning("workflow::no_effect", message, span.clone(), "known, and without effect")
        .help("this key only concerns another vendor's provider")
}

fn tools(outline: &Outline<'_>, step: &Step, agent: &AgentStep, findings: &mut Vec<Diagnostic>) {
    let (Some(offered), Some(used)) = (&outline.workflow.tools, &agent.tools) else { return };
    let offered: Vec<&str> = offered.iter().map(|tool| tool.value.as_str()).collect();
    let is_offered = |name: &str| offered.iter().any(|offer| covers(offer, name));
    for tool in used.iter().filter(|tool| !is_offered(&tool.value)) {
        let message = format!(
            "agent `{}` uses the tool `{}`, which the workflow does not offer",
            step.name.value, tool.value
        );
        let found = Diagnostic::error("workflow::unknown_tool", message, tool.span.clone(), "not in `tools`")
            .help(suggest::instead(&tool.value, &offered));
        findings.push(found);
    }
}
