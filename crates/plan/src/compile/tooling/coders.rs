//! What coding agents are given and have no use for: tools of the workflow, and places in arguments that stand for nothing.

use super::super::load::Bundle;
use super::super::programs::agents;
use super::super::provider::Providers;
use super::super::servers;
use crate::check::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::settings::Provider;
use crate::source::text::Spanned;
use crate::source::words::PROGRAMS;
use crate::source::workflow::{AgentStep, Step, StepKind, Workflow};
use convoke_model::ProviderSettings;
use convoke_model::nearest;

/// What an argument of `cli` may stand for.
const PLACES: [&str; 4] = ["prompt", "system", "model", "schema"];

/// Tools that only coding agents would use, which have their own. The providers are those of the workflows, in order.
pub(in crate::compile) fn check_tools(
    bundle: &Bundle,
    providers: &[Providers<'_>],
    findings: &mut Vec<Diagnostic>,
) {
    for (workflow, providers) in bundle.workflows.iter().zip(providers) {
        findings.extend(agents(workflow).filter_map(|(step, agent)| useless_tools(step, agent, providers)));
    }
    findings.extend(bundle.workflows.iter().filter_map(|owner| useless_servers(bundle, owner, providers)));
}

/// Servers whose only users are coding agents.
fn useless_servers(bundle: &Bundle, owner: &Workflow, providers: &[Providers<'_>]) -> Option<Diagnostic> {
    let (name, server) = owner.runtime.mcp_servers.first()?;
    let users = bundle.workflows.iter().zip(providers);
    let users: Vec<_> =
        users.filter(|(workflow, _)| std::ptr::eq(servers::owner(bundle, workflow), owner)).collect();
    let asked = users
        .iter()
        .flat_map(|(workflow, providers)| agents(workflow).map(|(_, agent)| is_program(agent, providers)));
    let (has_agents, only_programs) = asked.fold((false, true), |(_, all), one| (true, all && one));
    if !has_agents || !only_programs || users.iter().any(|(workflow, _)| calls_tools(workflow)) {
        return None;
    }
    let message = format!("MCP server `{name}` has no effect: all agents here are coding agents");
    let found =
        Diagnostic::warning("workflow::no_effect", message, server.key.span.clone(), "offered to no agent");
    Some(found.help("agents of `acp` and `cli` bring their own tools; their own settings say which"))
}

fn calls_tools(workflow: &Workflow) -> bool {
    let outline = Outline::new(workflow);
    let mut steps = workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
    steps.any(|step| matches!(step.kind, StepKind::Tool(_)))
}

pub(in crate::compile) fn is_program(agent: &AgentStep, providers: &Providers<'_>) -> bool {
    PROGRAMS.contains(&providers.agent(agent.provider.as_ref()).name.as_str())
}

/// A coding agent has tools of its own, and is offered no others. In a pipeline the list is what its permission requests are held to.
fn useless_tools(step: &Step, agent: &AgentStep, providers: &Providers<'_>) -> Option<Diagnostic> {
    let tool = agent.tools.as_ref()?.first()?;
    if !is_program(agent, providers) || matches!(step.kind, StepKind::Phase(_)) {
        return None;
    }
    let message = format!("agent `{}`: `tools` has no effect on a coding agent", step.name.value);
    let found = Diagnostic::warning("workflow::no_effect", message, tool.span.clone(), "not offered to it");
    Some(found.help("agents of `acp` and `cli` bring their own tools; their own settings say which"))
}

/// Places in arguments that stand for nothing; they are passed on as they are.
pub(in crate::compile) fn unknown_places(
    provider: &Provider,
    settings: &ProviderSettings,
) -> Vec<Diagnostic> {
    let args = provider.program.args.iter().flatten().filter(|_| settings.name == "cli");
    let words = args.flat_map(|arg| places(&arg.raw).map(|word| (word, &arg.raw)));
    words.filter(|(word, _)| !PLACES.contains(word)).map(|(word, arg)| unknown_place(word, arg)).collect()
}

fn unknown_place(word: &str, arg: &Spanned<String>) -> Diagnostic {
    let message = format!("`{{{word}}}` in `args` stands for nothing and is passed on as it is");
    let near = nearest(word, PLACES.iter().copied());
    let near = near.map(|near| format!("did you mean `{{{near}}}`? ")).unwrap_or_default();
    Diagnostic::warning("workflow::no_effect", message, arg.span.clone(), "no such place")
        .help(format!("{near}there are {{prompt}}, {{system}}, {{model}} and {{schema}}"))
}

/// The words that stand alone in braces, `${NAME}` aside.
fn places(arg: &Spanned<String>) -> impl Iterator<Item = &str> {
    let text = arg.value.as_str();
    let opened = text.match_indices('{').filter(|(at, _)| !text[..*at].ends_with(['$', '{']));
    let inside = opened.filter_map(|(at, _)| Some(text[at + 1..].split_once('}')?.0));
    let is_word =
        |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    inside.filter(is_word)
}
