//! Coding agents as providers: `acp` and `cli` need a program, others have no use for one.
//!
//! A name may stand for such a provider in the configuration only, and the configuration may name the program, so this
//! is judged when both are known.

use super::Options;
use super::coders;
use super::load::Bundle;
use super::provider::{Providers, configured};
use crate::check::outline::Outline;
use crate::diagnostic::Diagnostic;
use crate::source::settings::Provider;
use crate::source::words::PROGRAMS;
use crate::source::workflow::{AgentStep, Step, Workflow};
use convoke_model::ProviderSettings;

/// Programs that are missing, settings of programs where there is none, and what programs have no use for.
pub(super) fn check(bundle: &Bundle, options: &Options, findings: &mut Vec<Diagnostic>) {
    let all = providers(bundle, options);
    for (workflow, providers) in bundle.workflows.iter().zip(&all) {
        let own = workflow.runtime.provider.as_ref();
        let with_settings = own.map(|provider| (provider, providers.workflow().clone()));
        let named = agents(workflow).filter_map(|(_, agent)| agent.provider.as_ref());
        let of_agents = named.map(|provider| (provider, providers.agent(Some(provider))));
        for (provider, settings) in with_settings.into_iter().chain(of_agents) {
            let written = configured(options, provider);
            // What a flag chose instead is no fault of the file.
            if settings.name == written.name {
                findings.extend(no_program(provider, &settings));
            }
            findings.extend(no_use(provider, &written));
            findings.extend(coders::unknown_places(provider, &written));
        }
    }
    coders::check_tools(bundle, &all, findings);
}

/// The providers of each workflow; one that names none has the root's.
pub(super) fn providers<'a>(bundle: &'a Bundle, options: &'a Options) -> Vec<Providers<'a>> {
    let default = options.default_provider.clone().unwrap_or_default();
    let root = bundle.workflows.first().map(|root| Providers::new(options, root, &default));
    let inherited = root.map_or(default, |root| root.workflow().clone());
    bundle.workflows.iter().map(|one| Providers::new(options, one, &inherited)).collect()
}

/// The models that the steps of a workflow ask.
pub(super) fn agents(workflow: &Workflow) -> impl Iterator<Item = (&Step, &AgentStep)> {
    let inline: Vec<_> = Outline::new(workflow).inline().map(|(_, step)| step).collect();
    workflow.agents.iter().chain(inline).flat_map(|step| step.models().map(move |agent| (step, agent)))
}

fn no_program(provider: &Provider, settings: &ProviderSettings) -> Option<Diagnostic> {
    if !PROGRAMS.contains(&settings.name.as_str()) || settings.program.is_some() {
        return None;
    }
    let name = &provider.name.value;
    let message = format!("provider `{name}` has no `command`");
    let speaks = match settings.name.as_str() {
        "acp" => "a program that speaks the Agent Client Protocol",
        _ => "a program that prints JSON lines",
    };
    let found =
        Diagnostic::error("workflow::missing_key", message, provider.name.span.clone(), "which program?");
    Some(found.help(format!("write `provider: {{name: {name}, command: …, args: […]}}` with {speaks}")))
}

fn no_use(provider: &Provider, settings: &ProviderSettings) -> Option<Diagnostic> {
    let key = provider.program.first.as_ref().filter(|_| !PROGRAMS.contains(&settings.name.as_str()))?;
    let message = format!("`{}` has no effect on provider `{}`", key.value, provider.name.value);
    let found =
        Diagnostic::warning("workflow::no_effect", message, key.span.clone(), "no program is started");
    Some(found.help("`command`, `args`, `env` and `permissions` belong to the providers acp and cli"))
}
